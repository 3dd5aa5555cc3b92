// See inspect.hpp.
#include "troupe/backends/local/inspect.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "troupe/backends/local/spawn.hpp"

namespace troupe::backends::local {

namespace {

std::string read_text(const std::string& path, std::size_t limit) {
  std::string out(limit, '\0');
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto n = file ? ::read(file.get(), out.data(), out.size()) : 0;
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

// One process (or thread) that may be reading the terminal.
class reader {
 public:
  reader(int pid, const std::string& terminal) : pid_(pid), terminal_(terminal) {}

  bool is_terminal(long fd) const {
    char path[64];
    char target[128];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%ld", pid_, fd);
    const auto n = ::readlink(path, target, sizeof target);
    if (n <= 0) {
      return false;
    }
    const std::string_view name(target, static_cast<std::size_t>(n));
    // Of a member of the terminal's foreground group, /dev/tty is that terminal.
    return name == terminal_ || name == "/dev/tty";
  }

  bool in_poll(unsigned long at, unsigned long count) const {
    std::array<pollfd, 256> set{};
    count = std::min<unsigned long>(count, set.size());
    if (!fetch(at, set.data(), count * sizeof(pollfd))) {
      return false;
    }
    return std::any_of(set.begin(), set.begin() + static_cast<long>(count), [this](const auto& p) {
      return (p.events & POLLIN) != 0 && is_terminal(p.fd);
    });
  }

  bool in_select(unsigned long count, unsigned long at) const {
    std::array<unsigned char, 128> bits{};
    count = std::min<unsigned long>(count, bits.size() * 8);
    if (at == 0 || !fetch(at, bits.data(), (count + 7) / 8)) {
      return false;
    }
    for (unsigned long fd = 0; fd < count; ++fd) {
      if ((bits[fd / 8] >> (fd % 8) & 1) != 0 && is_terminal(static_cast<long>(fd))) {
        return true;
      }
    }
    return false;
  }

  bool in_epoll(unsigned long epoll) const {
    const auto text =
        read_text("/proc/" + std::to_string(pid_) + "/fdinfo/" + std::to_string(epoll), 64 * 1024);
    for (auto at = text.find("tfd:"); at != std::string::npos; at = text.find("tfd:", at + 1)) {
      long fd = -1;
      unsigned long events = 0;
      if (std::sscanf(text.c_str() + at, "tfd: %ld events: %lx", &fd, &events) == 2 &&
          (events & EPOLLIN) != 0 && is_terminal(fd)) {
        return true;
      }
    }
    return false;
  }

 private:
  bool fetch(unsigned long at, void* to, std::size_t bytes) const {
    iovec local{to, bytes};
    iovec remote{reinterpret_cast<void*>(at), bytes};
    return ::process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
  }

  int pid_;
  const std::string& terminal_;
};

// The kernel's line about the system call a thread is blocked in; nothing if it will not say.
std::optional<bool> blocked_in_read(const reader& r, const std::string& line) {
  long number = -1;
  std::array<unsigned long, 6> arg{};
  if (line.empty()) {
    return std::nullopt;
  }
  if (std::sscanf(line.c_str(), "%ld %lx %lx %lx %lx %lx %lx", &number, &arg[0], &arg[1], &arg[2],
                  &arg[3], &arg[4], &arg[5]) != 7) {
    return false;  // "running"
  }
  switch (number) {
    case SYS_read:
    case SYS_readv:
      return r.is_terminal(static_cast<long>(arg[0]));
#ifdef SYS_poll
    case SYS_poll:
      return r.in_poll(arg[0], arg[1]);
#endif
    case SYS_ppoll:
      return r.in_poll(arg[0], arg[1]);
#ifdef SYS_select
    case SYS_select:
      return r.in_select(arg[0], arg[1]);
#endif
    case SYS_pselect6:
      return r.in_select(arg[0], arg[1]);
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
      return r.in_epoll(arg[0]);
#endif
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
      return r.in_epoll(arg[0]);
    default:
      return false;
  }
}

}  // namespace

terminal_state terminal_state_of(int master) {
  terminal_state out;
  unsigned number = 0;
  if (master >= 0 && ::ioctl(master, TIOCGPTN, &number) == 0) {
    out.path = "/dev/pts/" + std::to_string(number);
    pid_t group = 0;
    if (::ioctl(master, TIOCGPGRP, &group) == 0) {
      out.foreground_group = group;
    }
  }
  return out;
}

bool waits_for_terminal(int pid, const std::string& terminal_path) {
  const reader r(pid, terminal_path);
  const auto tasks = "/proc/" + std::to_string(pid) + "/task";
  DIR* directory = ::opendir(tasks.c_str());
  if (directory == nullptr) {
    return false;
  }
  bool found = false;
  while (const auto* entry = found ? nullptr : ::readdir(directory)) {
    if (entry->d_name[0] == '.') {
      continue;
    }
    const auto task = tasks + '/' + entry->d_name;
    const auto verdict = blocked_in_read(r, read_text(task + "/syscall", 256));
    if (verdict) {
      found = *verdict;
    } else {
      const auto channel = read_text(task + "/wchan", 64);
      found = channel == "n_tty_read" || (channel == "wait_woken" && r.is_terminal(0));
    }
  }
  ::closedir(directory);
  return found;
}

std::string command_line(const process_row& row) {
  const auto path = "/proc/" + std::to_string(row.pid) + "/cmdline";
  auto text = read_text(path, 16 * 1024);
  if (process_row now; text.empty() && stat_after_exec(row.pid, now)) {
    text = read_text(path, 16 * 1024);
  }
  while (!text.empty() && text.back() == '\0') {
    text.pop_back();
  }
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text.empty() ? '[' + row.comm + ']' : text;
}

description inspect_tree(const snapshot& all, const tree_identity& identity,
                         const terminal_state& terminal) {
  description out;
  for (const auto& entry : tree_of(all, identity)) {
    const auto& row = *entry.row;
    out.tree.push_back({row.pid, row.ppid, row.state, command_line(row)});
  }
  if (terminal.foreground_group > 0) {
    out.awaiting_input = std::any_of(all.begin(), all.end(), [&](const process_row& row) {
      return row.pgid == terminal.foreground_group && row.state == 'S' &&
             waits_for_terminal(row.pid, terminal.path);
    });
  }
  return out;
}

}  // namespace troupe::backends::local

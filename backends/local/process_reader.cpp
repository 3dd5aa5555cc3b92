// Reading an environment costs more than reading a stat line, so markers are remembered per process;
// "has none" is believed only of a process that is old enough to have called exec, and not in exec.
#include "troupe/backends/local/process_reader.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace troupe::backends::local {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::string_view marker_variable = "TROUPE_PROCESS";
constexpr std::size_t one_read = 1;  // gives a stat line whole
constexpr std::size_t environ_limit = 4 << 20;
constexpr std::size_t children_limit = 64 << 20;
// How many passes a marker is remembered that nobody asks for.
constexpr std::uint64_t passes_remembered = 64;
// Of the flags in a stat line: PF_EXITING and PF_KTHREAD.
constexpr std::uint64_t without_image = 0x4 | 0x200000;

std::uint64_t ticks_per_second() {
  static const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return ticks;
}

std::uint64_t ticks_since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * ticks_per_second();
}

// Calls `with` for the entries of an open directory that are numbers.
template <class With>
void for_each_number(unique_fd fd, With with) {
  DIR* directory = fd ? ::fdopendir(fd.get()) : nullptr;
  if (directory == nullptr) {
    return;
  }
  fd.release();
  while (const auto* entry = ::readdir(directory)) {
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
      with(std::atoi(entry->d_name));
    }
  }
  ::closedir(directory);
}

}  // namespace

bool parse_stat(std::string_view text, process_row& row) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');  // the name may contain anything
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return false;
  }
  if (std::from_chars(text.data(), text.data() + open, row.pid).ec != std::errc{}) {
    return false;
  }
  row.comm = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  std::uint64_t flags = 0;
  std::uint64_t code_begin = 0;  // comes last in exec
  std::uint64_t environment_begin = 0;
  std::uint64_t environment_end = 0;
  int field = 3;
  while (!text.empty() && field <= 51) {
    text.remove_prefix(1);  // the space
    const auto end = std::min(text.find_first_of(" \n"), text.size());
    const auto word = text.substr(0, end);
    const auto read = [&](auto& value) {
      std::from_chars(word.data(), word.data() + word.size(), value);
    };
    switch (field) {
      case 3:
        row.state = word.empty() ? '?' : word[0];
        break;
      case 4:
        read(row.ppid);
        break;
      case 5:
        read(row.pgid);
        break;
      case 6:
        read(row.sid);
        break;
      case 9:
        read(flags);
        break;
      case 20:
        read(row.threads);
        break;
      case 22:
        read(row.start_ticks);
        break;
      case 26:
        read(code_begin);
        break;
      case 50:
        read(environment_begin);
        break;
      case 51:
        read(environment_end);
        break;
      default:
        break;
    }
    text.remove_prefix(end);
    ++field;
  }
  // A main thread may end before the others: the process lives on.
  row.zombie = row.state == 'X' || (row.state == 'Z' && row.threads <= 1);
  row.in_exec = field > 26 && code_begin == 0 && (flags & without_image) == 0;
  row.environment_bytes = environment_end - std::min(environment_begin, environment_end);
  return field > 22;
}

std::string_view find_in_environ(std::string_view block, std::string_view name) {
  while (!block.empty()) {
    const auto end = std::min(block.find('\0'), block.size());
    const auto entry = block.substr(0, end);
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
    block.remove_prefix(std::min(end + 1, block.size()));
  }
  return {};
}

// No event tells of the end of an exec, which takes microseconds once it has a processor.
bool stat_after_exec(int pid, process_row& row, std::chrono::nanoseconds limit) {
  const auto end = clock::now() + limit;
  for (;;) {
    char path[32];
    char text[1024];
    std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const unique_fd file(::open(path, O_RDONLY | O_CLOEXEC));
    const auto n = file ? ::read(file.get(), text, sizeof text) : -1;
    if (n <= 0 || !parse_stat({text, static_cast<std::size_t>(n)}, row)) {
      return false;
    }
    if (!row.in_exec || clock::now() >= end) {
      return true;
    }
    ::sched_yield();
  }
}

bool process_reader::begin() {
  proc_.reset(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  patience_ = exec_limit;
  now_ticks_ = ticks_since_boot();
  ++pass_;
  return static_cast<bool>(proc_);
}

void process_reader::end(bool forget_others) {
  proc_.reset();
  const auto oldest = forget_others ? pass_ : pass_ - std::min(pass_, passes_remembered);
  std::erase_if(markers_, [oldest](const auto& m) { return m.second.pass < oldest; });
}

bool process_reader::look_at(int pid, process_row& row) {
  char path[32];
  std::snprintf(path, sizeof path, "%d/stat", pid);
  if (!read_file(path, one_read) || !parse_stat(buffer_, row)) {
    return false;
  }
  row.marker = marker_of(row);
  return true;
}

bool process_reader::children_of(int pid, std::uint64_t threads, std::vector<int>& out) {
  char path[64];
  if (threads <= 1) {
    std::snprintf(path, sizeof path, "%d/task/%d/children", pid, pid);
    return read_children(path, out);
  }
  bool known = false;
  std::snprintf(path, sizeof path, "%d/task", pid);
  for_each_number(unique_fd(::openat(proc_.get(), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                  [&](int task) {
                    std::snprintf(path, sizeof path, "%d/task/%d/children", pid, task);
                    known = read_children(path, out) || known;
                  });
  return known;
}

void process_reader::list(const std::function<void(int pid)>& with) {
  for_each_number(unique_fd(::openat(proc_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), with);
}

// Reads a file below /proc into the buffer until `limit` is reached.
bool process_reader::read_file(const char* path, std::size_t limit) {
  const unique_fd file(::openat(proc_.get(), path, O_RDONLY | O_CLOEXEC));
  if (!file) {
    return false;
  }
  std::size_t used = 0;
  for (;;) {
    if (buffer_.size() < used + 4096) {
      buffer_.resize(std::max<std::size_t>(buffer_.size() * 2, 8192));
    }
    const auto n = ::read(file.get(), buffer_.data() + used, buffer_.size() - used);
    if (n < 0) {
      return false;
    }
    if (n == 0 || (used += static_cast<std::size_t>(n)) >= limit) {
      break;
    }
  }
  buffer_.resize(used);
  return true;
}

bool process_reader::read_children(const char* path, std::vector<int>& out) {
  if (!read_file(path, children_limit)) {
    return false;
  }
  const char* at = buffer_.data();
  const char* const end = at + buffer_.size();
  while (at != end) {
    int pid = 0;
    at = std::from_chars(at, end, pid).ptr;
    if (pid == 0) {
      break;
    }
    out.push_back(pid);
    at = std::find_if(at, end, [](char c) { return c != ' '; });
  }
  return true;
}

// Into the buffer. False if it was not seen because the process is in exec.
bool process_reader::read_environment(const process_row& row) {
  int task = row.pid;
  char path[64];
  if (row.state == 'Z') {  // of a main thread that has ended nothing is shown
    std::snprintf(path, sizeof path, "%d/task", row.pid);
    for_each_number(unique_fd(::openat(proc_.get(), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                    [&](int one) { task = one; });
  }
  std::snprintf(path, sizeof path, "%d/environ", task);
  const auto read = [&] {
    if (!read_file(path, environ_limit)) {
      buffer_.clear();
    }
    return !buffer_.empty();
  };
  const auto has_some = [](const process_row& one) {
    return one.in_exec || one.environment_bytes > 0;
  };
  if (read() || !has_some(row)) {
    return true;
  }
  const auto parent = markers_.find(row.ppid);
  if (parent != markers_.end() && parent->second.pass == pass_ && !parent->second.marker.empty()) {
    return false;  // its parent tells where it belongs
  }
  const auto end = clock::now() + patience_;
  process_row now;
  bool found = false;
  do {
    if (!stat_after_exec(row.pid, now, end - clock::now()) || now.start_ticks != row.start_ticks ||
        !has_some(now)) {
      return true;
    }
    found = read();
  } while (!found && clock::now() < end);
  patience_ = std::max(end - clock::now(), clock::duration::zero());
  return found;
}

const std::string& process_reader::marker_of(const process_row& row) {
  auto& cached = markers_[row.pid];
  if (cached.start_ticks != row.start_ticks) {
    cached = {};
    cached.start_ticks = row.start_ticks;
  }
  cached.pass = pass_;
  if (cached.final || row.zombie) {
    return cached.marker;  // a zombie has no environment any more
  }
  const bool known = read_environment(row);
  cached.marker = find_in_environ(buffer_, marker_variable);
  cached.final =
      !cached.marker.empty() || (known && row.start_ticks + 2 * ticks_per_second() < now_ticks_);
  return cached.marker;
}

}  // namespace troupe::backends::local

// The parent's side of a start: descriptors, the clone, and what an error means.
#include "troupe/backends/local/spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include "troupe/backends/local/spawn_child.hpp"

// Sanitizers intercept `clone` and would do their bookkeeping in the child; this name they leave.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);  // NOLINT

namespace troupe::backends::local {

namespace {

constexpr std::size_t stack_bytes = 64 * 1024;
constexpr std::size_t guard_bytes = 64 * 1024;  // a multiple of every page size
constexpr std::string_view marker_name = "TROUPE_PROCESS=";

start_error error_at(stage where, int error, const std::string& what) {
  return {where, error, errno_name(error) + ": " + what};
}

start_error limit_error(int error, const char* doing) {
  const char* what = error == EMFILE   ? "too many open files"
                     : error == ENFILE ? "too many open files in the system"
                     : error == ENOMEM ? "out of memory"
                     : error == ENOSPC ? "no terminal left"
                                       : ::strerrordesc_np(error);
  return error_at(stage::limits, error,
                  std::string(what != nullptr ? what : "unknown error") + " while " + doing);
}

std::string_view value_of(const std::vector<std::string>& env, std::string_view name) {
  for (const auto& entry : env) {
    if (entry.size() > name.size() && entry[name.size()] == '=' &&
        std::string_view(entry).substr(0, name.size()) == name) {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return {};
}

// The program's path, or why there is none. A name without '/' is looked up as execvp does, but in
// the PATH of the child and relative to its directory.
std::variant<std::string, start_error> resolve(const spawn_spec& spec) {
  if (spec.argv.empty() || spec.argv[0].empty()) {
    return error_at(stage::resolve, ENOENT, "no program given");
  }
  const auto& name = spec.argv[0];
  if (name.find('/') != std::string::npos) {
    return name;
  }
  auto path = value_of(spec.env, "PATH");
  if (path.empty()) {
    path = "/usr/local/bin:/usr/bin:/bin";
  }
  std::optional<std::string> not_executable;
  for (;;) {
    const auto colon = path.find(':');
    std::string candidate(path.substr(0, colon));
    if (candidate.empty() || candidate[0] != '/') {
      candidate = candidate.empty() ? spec.cwd : spec.cwd + '/' + candidate;
    }
    candidate += '/';
    candidate += name;
    struct stat info {};
    if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      if (::faccessat(AT_FDCWD, candidate.c_str(), X_OK, AT_EACCESS) == 0) {
        return candidate;
      }
      if (!not_executable) {
        not_executable = candidate;
      }
    }
    if (colon == std::string_view::npos) {
      break;
    }
    path.remove_prefix(colon + 1);
  }
  if (not_executable) {
    return error_at(stage::resolve, EACCES, "not executable: " + *not_executable);
  }
  return error_at(stage::resolve, ENOENT, "no such program: " + name);
}

// What the clone or the child reported, in words.
start_error explain(const child_plan& plan, const spawn_spec& spec) {
  const auto error = plan.failed_errno;
  if (plan.failed_stage == stage::limits) {
    return limit_error(error, "connecting the child");
  }
  if (plan.failed_stage == stage::chdir) {
    const char* what = error == ENOENT    ? "no such directory"
                       : error == ENOTDIR ? "not a directory"
                       : error == EACCES  ? "permission denied"
                                          : ::strerrordesc_np(error);
    return error_at(stage::chdir, error, std::string(what) + ": " + spec.cwd);
  }
  const std::string path = plan.path;
  switch (error) {
    case E2BIG: {
      std::size_t bytes = 0;
      for (const auto* list : {&spec.argv, &spec.env}) {
        for (const auto& text : *list) {
          bytes += text.size() + 1;
        }
      }
      return error_at(
          stage::exec, error,
          "argument list or environment too long (" + std::to_string(bytes) + " bytes): " + path);
    }
    case ENOENT:
      // The kernel says the same for a missing program and for a missing interpreter.
      if (path[0] == '/' && ::access(path.c_str(), F_OK) == 0) {
        return error_at(stage::exec, error, "the interpreter is missing: " + path);
      }
      return error_at(stage::exec, error, "no such program: " + path);
    case EACCES:
      return error_at(stage::exec, error, "permission denied: " + path);
    case ENOEXEC:
      return error_at(stage::exec, error, "not a program for this machine: " + path);
    default: {
      const char* what = ::strerrordesc_np(error);
      return error_at(stage::exec, error,
                      std::string(what != nullptr ? what : "unknown error") + ": " + path);
    }
  }
}

struct ends {
  unique_fd child_in;  // none: /dev/null
  unique_fd child_out;
  unique_fd state;
  unique_fd child_command;
  unique_fd command;
  unique_fd output;
  unique_fd input;
};

bool set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

std::optional<start_error> open_terminal(const spawn_spec& spec, ends& e) {
  e.output.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!e.output) {
    return limit_error(errno, "opening a terminal");
  }
  int locked = 0;
  if (::ioctl(e.output.get(), TIOCSPTLCK, &locked) != 0) {
    return limit_error(errno, "unlocking a terminal");
  }
  e.child_out.reset(::ioctl(e.output.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!e.child_out) {
    return limit_error(errno, "opening a terminal");
  }
  winsize size{};
  size.ws_row = spec.rows;
  size.ws_col = spec.cols;
  ::ioctl(e.output.get(), TIOCSWINSZ, &size);
  return std::nullopt;
}

std::optional<start_error> open_pipes(const spawn_spec& spec, ends& e) {
  int out[2];
  if (::pipe2(out, O_CLOEXEC) != 0) {
    return limit_error(errno, "creating a pipe");
  }
  e.output.reset(out[0]);
  e.child_out.reset(out[1]);
  set_nonblocking(e.output.get());
  if (spec.stdin_pipe) {
    int in[2];
    if (::pipe2(in, O_CLOEXEC) != 0) {
      return limit_error(errno, "creating a pipe");
    }
    e.child_in.reset(in[0]);
    e.input.reset(in[1]);
    set_nonblocking(e.input.get());
  }
  return std::nullopt;
}

// A file in memory that holds `text`.
unique_fd memory_file(const std::string& text) {
  unique_fd file(::memfd_create("troupe-script", MFD_CLOEXEC));
  for (std::size_t done = 0; file && done < text.size();) {
    const auto n = ::write(file.get(), text.data() + done, text.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      file.reset();
    }
  }
  return file;
}

std::optional<start_error> open_scripts(const spawn_spec& spec, bool command_later, ends& e) {
  if (!spec.state_script.empty()) {
    e.state = memory_file(spec.state_script);
    if (!e.state) {
      return limit_error(errno, "creating a memory file");
    }
  }
  if (command_later) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) {
      return limit_error(errno, "creating a pipe");
    }
    e.child_command.reset(pipe[0]);
    e.command.reset(pipe[1]);
    set_nonblocking(e.command.get());
  } else if (!spec.command_script.empty()) {
    e.child_command = memory_file(spec.command_script);
    if (!e.child_command) {
      return limit_error(errno, "creating a memory file");
    }
  }
  return std::nullopt;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 2);
  for (const auto& text : texts) {
    out.push_back(const_cast<char*>(text.c_str()));
  }
  return out;
}

// All signals off in this thread, including those that libc keeps for itself: a handler that ran in
// the child would run in our memory.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    const unsigned long all = ~0UL;
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old_, sizeof old_);
  }
  ~signals_blocked() { ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old_, nullptr, sizeof old_); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  unsigned long old_ = 0;
};

void reap_failed(int pidfd) noexcept {
  siginfo_t info{};
  while (::syscall(SYS_waitid, 3 /* P_PIDFD */, pidfd, &info, WEXITED, nullptr) != 0 &&
         errno == EINTR) {
  }
}

}  // namespace

std::string errno_name(int error) {
  const char* name = ::strerrorname_np(error);
  return name != nullptr ? name : "errno " + std::to_string(error);
}

std::uint64_t read_start_ticks(int pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const unique_fd file(::open(path, O_RDONLY | O_CLOEXEC));
  char text[512];
  const auto n = file ? ::read(file.get(), text, sizeof text - 1) : -1;
  if (n <= 0) {
    return 0;
  }
  text[n] = 0;
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) {
    at = std::strchr(at + 1, ' ');
  }
  return at != nullptr ? std::strtoull(at + 1, nullptr, 10) : 0;
}

spawner::spawner(spawn_options options) : options_(options) {
  void* memory = ::mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "map a stack for children");
  }
  ::mprotect(memory, guard_bytes, PROT_NONE);
  stack_ = memory;
  reserve_slots();
}

spawner::~spawner() {
  ::munmap(stack_, guard_bytes + stack_bytes);
}

// The slots are taken early, when low numbers are free; later starts only replace what they hold.
bool spawner::reserve_slots() {
  constexpr int lowest = static_cast<int>(state_descriptor) + 1;
  if (!null_) {
    null_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (null_ && null_.get() < lowest) {
      null_.reset(::fcntl(null_.get(), F_DUPFD_CLOEXEC, lowest));
    }
  }
  for (auto* slot : {&in_slot_, &out_slot_, &state_slot_, &command_slot_}) {
    if (null_ && !*slot) {
      slot->reset(::fcntl(null_.get(), F_DUPFD_CLOEXEC, lowest));
    }
  }
  return null_ && in_slot_ && out_slot_ && state_slot_ && command_slot_;
}

void spawner::clear_slots() noexcept {
  for (const auto* slot : {&in_slot_, &out_slot_, &state_slot_, &command_slot_}) {
    ::dup3(null_.get(), slot->get(), O_CLOEXEC);
  }
}

spawn_result spawner::spawn(const spawn_spec& spec, bool command_later) {
  auto program = resolve(spec);
  if (auto* error = std::get_if<start_error>(&program)) {
    return std::move(*error);
  }
  if (!reserve_slots()) {
    return limit_error(errno, "preparing a start");
  }
  ends e;
  if (auto error = spec.pty ? open_terminal(spec, e) : open_pipes(spec, e)) {
    return std::move(*error);
  }
  if (auto error = open_scripts(spec, command_later, e)) {
    return std::move(*error);
  }
  const int in = spec.pty ? e.child_out.get() : e.child_in ? e.child_in.get() : null_.get();
  ::dup3(in, in_slot_.get(), O_CLOEXEC);
  ::dup3(e.child_out.get(), out_slot_.get(), O_CLOEXEC);
  const bool has_state = static_cast<bool>(e.state);
  const bool has_command = static_cast<bool>(e.child_command);
  if (has_state) {
    ::dup3(e.state.get(), state_slot_.get(), O_CLOEXEC);
  }
  if (has_command) {
    ::dup3(e.child_command.get(), command_slot_.get(), O_CLOEXEC);
  }
  e.child_in.reset();
  e.child_out.reset();
  e.state.reset();
  e.child_command.reset();

  auto argv = pointers(spec.argv);
  argv.push_back(nullptr);
  std::vector<char*> envp;
  std::string marker;
  envp.reserve(spec.env.size() + 2);
  if (!spec.marker.empty()) {
    marker = std::string(marker_name) + spec.marker;
    envp.push_back(marker.data());
  }
  for (const auto& entry : spec.env) {
    if (spec.marker.empty() || !entry.starts_with(marker_name)) {
      envp.push_back(const_cast<char*>(entry.c_str()));
    }
  }
  envp.push_back(nullptr);

  child_plan plan;
  plan.path = std::get<std::string>(program).c_str();
  plan.argv = argv.data();
  plan.envp = envp.data();
  plan.cwd = spec.cwd.c_str();
  plan.in = in_slot_.get();
  plan.out = out_slot_.get();
  plan.state = has_state ? state_slot_.get() : -1;
  plan.command = has_command ? command_slot_.get() : -1;
  plan.pty = spec.pty;
  plan.first_free =
      static_cast<unsigned>(std::max({plan.in, plan.out, plan.state, plan.command})) + 1;
  if (::getrlimit(RLIMIT_NOFILE, &plan.nofile) == 0) {
    plan.close_limit = static_cast<unsigned>(std::min<rlim_t>(plan.nofile.rlim_cur, 1U << 20));
    if (options_.nofile_soft) {
      plan.set_nofile = true;
      plan.nofile.rlim_cur = std::min(*options_.nofile_soft, plan.nofile.rlim_max);
    }
  }

  int pid = -1;
  int pidfd = -1;
  int clone_error = 0;
  for (bool again = true; again;) {
    again = false;
    plan.shared = options_.share_descriptors;
    plan.failed_stage = stage::none;
    plan.failed_errno = 0;
    pidfd = -1;
    {
      const signals_blocked blocked;
      const int flags =
          CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD | (plan.shared ? CLONE_FILES : 0);
      pid = ::__clone(run_child, static_cast<char*>(stack_) + guard_bytes + stack_bytes, flags,
                      &plan, &pidfd);
      clone_error = errno;
    }
    if (pid > 0 && plan.failed_errno != 0) {
      reap_failed(pidfd);
      ::close(pidfd);
      if (plan.failed_stage == stage::none) {
        options_.share_descriptors = false;  // a kernel before 5.9
        again = true;
      }
    }
  }
  clear_slots();
  if (pid < 0) {
    if (clone_error == EMFILE || clone_error == ENFILE) {
      return limit_error(clone_error, "creating a pidfd");
    }
    return error_at(stage::fork, clone_error,
                    clone_error == EAGAIN ? "too many processes: the system refuses another one"
                                          : ::strerrordesc_np(clone_error));
  }
  if (plan.failed_errno != 0) {
    return explain(plan, spec);
  }
  spawned child;
  child.pid = pid;
  child.start_ticks = read_start_ticks(pid);
  child.pidfd.reset(pidfd);
  child.output = std::move(e.output);
  child.input = std::move(e.input);
  child.command = std::move(e.command);
  return child;
}

unique_fd open_process(int pid, std::uint64_t start_ticks) {
  unique_fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (fd && read_start_ticks(pid) != start_ticks) {
    fd.reset();
  }
  return fd;
}

}  // namespace troupe::backends::local

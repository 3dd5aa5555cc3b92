#include "troupe/bench/raw_child.hpp"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "troupe/backends/child_environment.hpp"

namespace troupe::bench {

namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error{error, std::generic_category(), what};
}

/// The environment of the core's children, made once.
std::vector<char*>& environment() {
  static auto entries =
      backends::child_environment{backends::own_environment()}.make({}, "proc_000000000000");
  static auto pointers = [] {
    std::vector<char*> result;
    result.reserve(entries.size() + 1);
    for (auto& entry : entries) result.push_back(entry.data());
    result.push_back(nullptr);
    return result;
  }();
  return pointers;
}

struct argv_of {
  explicit argv_of(const std::string& command) : text(command) {}
  std::string shell = "bash";
  std::string flag = "-c";
  std::string text;
  char* list[4] = {shell.data(), flag.data(), text.data(), nullptr};
};

void make_pipe(int (&ends)[2]) {
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(errno, "pipe2");
}

}  // namespace

raw_child raw_spawn(const std::string& command, raw_options options) {
  int output[2] = {-1, -1};
  int input[2] = {-1, -1};
  if (options.pipe_output) make_pipe(output);
  if (options.pipe_input) make_pipe(input);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  if (options.pipe_input) {
    ::posix_spawn_file_actions_adddup2(&actions, input[0], 0);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  }
  if (options.pipe_output) {
    ::posix_spawn_file_actions_adddup2(&actions, output[1], 1);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  }
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  sigset_t none;
  sigset_t defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (options.own_group) flags |= POSIX_SPAWN_SETPGROUP;
  ::posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
  argv_of argv{command};
  raw_child child;
  const int error =
      ::posix_spawnp(&child.pid, "bash", &actions, &attributes, argv.list, environment().data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (options.pipe_output) ::close(output[1]);
  if (options.pipe_input) ::close(input[0]);
  child.output = output[0];
  child.input = input[1];
  if (error != 0) {
    if (child.output >= 0) ::close(child.output);
    if (child.input >= 0) ::close(child.input);
    fail(error, "posix_spawn of bash -c " + command);
  }
  return child;
}

raw_child raw_spawn_pty(const std::string& command) {
  argv_of argv{command};
  auto** env = environment().data();
  raw_child child;
  child.pid = ::forkpty(&child.output, nullptr, nullptr, nullptr);
  if (child.pid < 0) fail(errno, "forkpty");
  if (child.pid == 0) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvpe("bash", argv.list, env);
    ::_exit(127);
  }
  ::fcntl(child.output, F_SETFD, FD_CLOEXEC);
  return child;
}

void raw_wait(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0) {
    if (errno != EINTR) fail(errno, "waitid");
  }
}

pid_t raw_wait_any() {
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED) != 0) {
    if (errno != EINTR) fail(errno, "waitid");
  }
  return info.si_pid;
}

std::string raw_read(int file, bool line) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const auto n = ::read(file, buffer, line ? 1 : sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    if (line && buffer[0] == '\n') return text;
  }
}

}  // namespace troupe::bench

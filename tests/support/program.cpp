#include "troupe/tests/support/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

extern char** environ;

namespace troupe::testing {

namespace {

constexpr int limit_ms = 60'000;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error{error, std::generic_category(), what};
}

}  // namespace

program::program(const std::vector<std::string>& argv) {
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0) fail(errno, "pipe");
  if (::pipe2(out, O_CLOEXEC) != 0) fail(errno, "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, out[1], 2);
  std::vector<char*> pointers;
  for (const auto& each : argv) pointers.push_back(const_cast<char*>(each.c_str()));
  pointers.push_back(nullptr);
  const int error = ::posix_spawnp(&pid_, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  in_ = in[1];
  out_ = out[0];
  if (error != 0) fail(error, argv.at(0));
}

program::~program() {
  if (!ended_ && pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  close_stdin();
  ::close(out_);
}

void program::signal(int number) {
  if (::kill(pid_, number) != 0) fail(errno, "kill");
}

void program::write(const std::string& text) {
  if (::write(in_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    fail(errno, "write to the program");
  }
}

void program::close_stdin() {
  if (in_ >= 0) ::close(in_);
  in_ = -1;
}

bool program::fill() {
  pollfd wait{out_, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&wait, 1, limit_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) throw std::runtime_error{"the program says nothing; so far: " + buffer_};
  char chunk[4096];
  const auto got = ::read(out_, chunk, sizeof chunk);
  if (got <= 0) return false;
  buffer_.append(chunk, static_cast<std::size_t>(got));
  return true;
}

std::string program::line() {
  while (true) {
    if (const auto end = buffer_.find('\n'); end != std::string::npos) {
      auto result = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return result;
    }
    if (!fill()) throw std::runtime_error{"the output ended with: " + buffer_};
  }
}

std::string program::line_with(const std::string& prefix) {
  std::string seen;
  while (true) {
    std::string next;
    try {
      next = line();
    } catch (const std::exception& error) {
      throw std::runtime_error{"no line '" + prefix + "…': " + seen + error.what()};
    }
    if (next.starts_with(prefix)) return next;
    seen += next + '\n';
  }
}

std::string program::rest() {
  while (fill()) continue;
  return std::exchange(buffer_, {});
}

int program::wait() {
  if (ended_) return code_;
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (fd < 0) fail(errno, "pidfd_open");
  pollfd wait{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&wait, 1, limit_ms);
  } while (ready < 0 && errno == EINTR);
  ::close(fd);
  if (ready == 0) throw std::runtime_error{"the program does not end; so far: " + buffer_};
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) fail(errno, "waitpid");
  ended_ = true;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

std::string output_of(const std::vector<std::string>& argv) {
  program running{argv};
  running.close_stdin();
  auto output = running.rest();
  const int code = running.wait();
  if (code != 0) {
    throw std::runtime_error{argv.at(0) + " ended with " + std::to_string(code) + ": " + output};
  }
  return output;
}

}  // namespace troupe::testing

#include "troupe/bench/raw_server.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>

namespace troupe::bench {

namespace {

struct order {
  raw_function function = nullptr;
  raw_args args;
};

bool read_all(int file, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const auto n = ::read(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool write_all(int file, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const auto n = ::write(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

constexpr std::uint64_t failed = ~std::uint64_t{0};

/// The function pointers of the parent are valid here: the program is the same image.
[[noreturn]] void serve(int socket) {
  order next;
  while (read_all(socket, &next, sizeof next)) {
    std::uint64_t count = failed;
    std::vector<double> values;
    try {
      values = next.function(next.args);
      count = values.size();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "troupe-bench: raw: %s\n", error.what());
    }
    if (!write_all(socket, &count, sizeof count)) break;
    if (count != failed && !write_all(socket, values.data(), count * sizeof(double))) break;
  }
  ::_exit(0);
}

}  // namespace

raw_args raw_args::make(double a, double b, std::string_view text) {
  raw_args result;
  result.a = a;
  result.b = b;
  if (text.size() >= sizeof result.text) throw std::length_error{"raw command is too long"};
  std::copy(text.begin(), text.end(), result.text);
  return result;
}

raw_server::raw_server() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    throw std::system_error{errno, std::generic_category(), "socketpair for the raw process"};
  }
  const auto parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) {
    throw std::system_error{errno, std::generic_category(), "fork of the raw process"};
  }
  if (pid_ == 0) {
    ::close(pair[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    serve(pair[1]);
  }
  ::close(pair[1]);
  socket_ = pair[0];
}

raw_server::~raw_server() {
  ::close(socket_);
  ::waitpid(pid_, nullptr, 0);
}

std::vector<double> raw_server::call(raw_function function, const raw_args& args) {
  order next;
  next.function = function;
  next.args = args;
  std::uint64_t count = failed;
  if (!write_all(socket_, &next, sizeof next) || !read_all(socket_, &count, sizeof count)) {
    throw std::runtime_error{"the raw process is gone"};
  }
  if (count == failed) throw std::runtime_error{"the raw counterpart failed"};
  std::vector<double> values(count);
  if (!read_all(socket_, values.data(), count * sizeof(double))) {
    throw std::runtime_error{"the raw process is gone"};
  }
  return values;
}

}  // namespace troupe::bench

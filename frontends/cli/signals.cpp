#include "troupe/frontends/cli/signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

namespace troupe::cli {

namespace {

std::atomic<int> write_end{-1};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void on_any_signal(int number) {
  auto saved = errno;
  auto byte = static_cast<char>(number);
  // A full pipe holds enough signals already.
  [[maybe_unused]] auto written = ::write(write_end.load(), &byte, 1);
  errno = saved;
}

void set_handler(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

bool is_ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

signal_pipe::signal_pipe(std::initializer_list<int> signals) : signals_{signals} {
  if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe for signals");
  }
  write_end.store(ends_[1]);
  set_handler(SIGPIPE, SIG_IGN);
  // Under nohup a hang-up stays ignored.
  if (is_ignored(SIGHUP)) std::erase(signals_, SIGHUP);
  for (int number : signals_) set_handler(number, on_any_signal);
}

signal_pipe::~signal_pipe() {
  for (int number : signals_) set_handler(number, SIG_DFL);
  write_end.store(-1);
  ::close(ends_[0]);
  ::close(ends_[1]);
}

signal_thread::signal_thread(const signal_pipe& pipe, std::function<void(int)> on_signal)
    : stop_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (stop_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  thread_ = std::thread{[in = pipe.descriptor(), stop = stop_, on_signal = std::move(on_signal)] {
    while (true) {
      pollfd waits[2] = {{in, POLLIN, 0}, {stop, POLLIN, 0}};
      if (poll(waits, 2, -1) < 0 && errno != EINTR) return;
      if ((waits[1].revents & POLLIN) != 0) return;
      char number = 0;
      if (::read(in, &number, 1) == 1) on_signal(number);
    }
  }};
}

signal_thread::~signal_thread() {
  std::uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(stop_, &one, sizeof one);
  thread_.join();
  ::close(stop_);
}

}  // namespace troupe::cli

// Signals of the user as something that can be polled. One per program, made before other threads
// are. Children are not affected: handlers are reset by an exec, and no mask is changed.
#pragma once

#include <functional>
#include <initializer_list>
#include <thread>
#include <vector>

namespace troupe::cli {

/// Catches signals for as long as it lives; `descriptor` becomes readable (one byte per signal, its
/// number). Ignores SIGPIPE for good. At most one object at a time.
class signal_pipe {
 public:
  /// Throws std::system_error if there are no descriptors left.
  explicit signal_pipe(std::initializer_list<int> signals);
  ~signal_pipe();
  signal_pipe(const signal_pipe&) = delete;
  signal_pipe& operator=(const signal_pipe&) = delete;

  int descriptor() const noexcept { return ends_[0]; }

 private:
  int ends_[2] = {-1, -1};
  std::vector<int> signals_;
};

/// A thread that calls `on_signal` for every signal of the pipe, until it is destroyed.
class signal_thread {
 public:
  signal_thread(const signal_pipe& pipe, std::function<void(int)> on_signal);
  ~signal_thread();
  signal_thread(const signal_thread&) = delete;
  signal_thread& operator=(const signal_thread&) = delete;

 private:
  int stop_ = -1;
  std::thread thread_;
};

}  // namespace troupe::cli

// The io loop: one thread, one Asio context, every descriptor and every timer of the node. Used by
// the backends (descriptors) and by actors through `timers` and `port_probe`. Nothing that runs on
// it may block.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace troupe::backends {

class io_loop {
 public:
  using timer_id = std::uint64_t;
  using clock = std::chrono::steady_clock;

  /// Starts the thread.
  io_loop();
  /// Stops and joins it. Must not be called on the loop's own thread.
  ~io_loop();
  io_loop(const io_loop&) = delete;
  io_loop& operator=(const io_loop&) = delete;

  boost::asio::io_context& context() noexcept;

  /// Runs `task` on the loop's thread, soon. Thread-safe; tasks of one thread keep their order.
  void post(std::function<void()> task);

  /// Calls `fire` on the loop's thread after `delay`. `fire` must not block (post a message).
  /// Thread-safe. Cheap with tens of thousands pending.
  timer_id after(clock::duration delay, std::function<void()> fire);
  /// No call of `fire` begins after this returned true on the loop's thread; from other threads a
  /// call may be under way, so receivers ignore timers they no longer know.
  void cancel(timer_id id);

  /// Tries to connect to a TCP port of the loopback interface until it accepts, or until
  /// `deadline` passes; then calls `done(accepted)` on the loop's thread. Linux has no event for
  /// "somebody listens now", so this retries with a growing pause (5 to 100 ms). Cancel with
  /// `cancel`. Thread-safe.
  timer_id probe_port(std::uint16_t port, clock::time_point deadline,
                      std::function<void(bool)> done);

  /// True on the loop's own thread.
  bool on_loop() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace troupe::backends

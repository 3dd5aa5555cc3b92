// Who makes children for the local backend. A start
// stops the thread that does it until the exec, so it never happens on the io loop.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "troupe/backends/io_loop.hpp"
#include "troupe/backends/local/spawn.hpp"
#include "troupe/backends/local/worker.hpp"

namespace troupe::backends::local {

class launcher {
 public:
  using callback = std::function<void(spawn_result)>;

  virtual ~launcher() = default;
  /// Starts `spec` soon; `done` is called on the loop's thread, exactly once unless the launcher is
  /// destroyed before. Thread-safe.
  /// `command_later`: see `spawner::spawn`.
  virtual void launch(spawn_spec spec, callback done, bool command_later = false) = 0;
};

/// Starts children from threads of this process: its own, or that of a worker.
class direct_launcher : public launcher {
 public:
  explicit direct_launcher(io_loop& loop, std::size_t threads = 2, spawn_options options = {});
  /// `on` must have stopped before this is destroyed.
  direct_launcher(io_loop& loop, worker& on, spawn_options options = {});
  /// Finishes the start under way, drops the others, joins.
  ~direct_launcher() override;
  void launch(spawn_spec spec, callback done, bool command_later = false) override;

 private:
  struct job {
    spawn_spec spec;
    callback done;
    bool command_later = false;
  };
  void run(spawner& maker);
  void carry_out(spawner& maker, job&& next);

  io_loop& loop_;
  worker* worker_ = nullptr;
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<job> jobs_;
  bool stop_ = false;
  std::vector<std::unique_ptr<spawner>> makers_;
  std::vector<std::thread> threads_;
};

}  // namespace troupe::backends::local

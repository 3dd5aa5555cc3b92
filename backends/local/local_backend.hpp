// The local backend: children of this machine, on pipes or a PTY.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "troupe/backends/backend.hpp"
#include "troupe/backends/io_loop.hpp"
#include "troupe/backends/local/launcher.hpp"
#include "troupe/backends/local/worker.hpp"

namespace troupe::backends::local {

struct adopted;

struct local_options {
  /// After the exit of a leader, how long its output is read if it does not end by itself.
  std::chrono::milliseconds drain_limit{50};
  /// What a `write` may queue; past it `would_block`. A single larger write is always refused.
  std::size_t stdin_queue_bytes = 8 << 20;
  /// Threads that start children. A start occupies its thread until the exec.
  std::size_t launcher_threads = 2;
  /// Makes this process a child subreaper: orphaned descendants become its children and are reaped.
  /// Then *every* child of this process is waited for by the loop, so only for programs that have no
  /// children of their own.
  bool adopt_orphans = false;
  /// With `adopt_orphans`: children have no pidfd here, SIGCHLD tells of their end. The program must have
  /// blocked SIGCHLD in all threads before it made the loop.
  bool leaders_by_signal = false;
  /// Starts children and reads the process table, instead of threads of the backend's own. The program
  /// runs it, and stops it before the backend goes.
  worker* on_worker = nullptr;
  /// Called on the loop's thread when the backend may have become `idle`.
  std::function<void()> on_idle = {};
  spawn_options spawn;
};

/// Threads: the io loop's (all descriptors, all sink calls), `launcher_threads`, and one that reads
/// the process table when asked. The loop must outlive the backend. Destroying it leaves running
/// children alone, closes their descriptors, and makes no sink call any more; not on the loop's
/// thread.
class local_backend : public backend {
 public:
  local_backend(io_loop& loop, std::shared_ptr<arena> rings, local_options options = {});
  ~local_backend() override;

  void prepare(child_id id, spawn_spec spec) override;
  void discard(child_id id) override;
  void start(child_id id, spawn_spec spec, std::shared_ptr<sink> out) override;
  void write(child_id id, std::uint64_t token, std::string data, bool eof) override;
  void signal(child_id id, std::uint64_t token, int signal_number) override;
  void kill(child_id id, kill_plan plan) override;
  void resize(child_id id, std::uint16_t rows, std::uint16_t cols) override;
  void resume(child_id id) override;
  void describe(child_id id, std::uint64_t token) override;
  /// Nothing of an earlier owner is known here.
  void recover(std::function<void(recovery)> done) override;
  void adopt(child_id, std::shared_ptr<sink>) override {}
  void adopt_running(child_id id, int pid, std::uint64_t start_ticks, std::string marker,
                     std::shared_ptr<sink> out) override;
  void set_owner_death(child_id, owner_death) override {}
  void release(child_id id) override;

  /// Takes over a process that this backend has not started. `like` says what is known of it: `marker`
  /// and `pty`.
  void take(child_id id, adopted one, const spawn_spec& like, std::shared_ptr<sink> out);

  /// Descriptors of a child, for handing them on at once; -1: none. On the loop's thread only.
  struct handles {
    int output = -1;
    int input = -1;
  };
  handles handles_of(child_id id);
  /// The consumer of a drained child is done with its ring. On the loop's thread only.
  void drop_output(child_id id);
  /// Nothing runs, nothing is being started, and nobody holds an output. On the loop's thread only.
  bool idle();

 private:
  class core;
  std::shared_ptr<core> core_;
  io_loop& loop_;
};

}  // namespace troupe::backends::local

namespace troupe::backends {
using local::local_backend;
using local::local_options;
}  // namespace troupe::backends

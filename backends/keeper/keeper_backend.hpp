// The local backend behind a keeper: children of this machine that outlive the node. Everything is
// forwarded to `troupe-keeper` (docs/keeper.md), which is started when first needed; output comes
// through shared memory. What the keeper cannot do any more (it was killed, it cannot be started) is
// done here by a `local_backend`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "troupe/backends/backend.hpp"
#include "troupe/backends/io_loop.hpp"
#include "troupe/backends/local/local_backend.hpp"

namespace troupe::backends {

struct keeper_options {
  /// The keeper's directory: its socket, its lock, `spool/` and `left/`. Created (0700) if missing. The
  /// caller makes sure that only one node uses it.
  std::string dir;
  /// Path of `troupe-keeper`. Empty: looked for beside this program, then in ../libexec/troupe and
  /// ../bin.
  std::string program;
  /// For the children of the keeper (drain limit, stdin queue, limit of descriptors), and for the
  /// backend that stands in where there is no keeper.
  local::local_options local;
  /// Rings of a keeper that is started; one that is already there has its own.
  std::size_t slots = 8'192;
  std::size_t ring_bytes = 512 * 1024;
  /// What is kept of the output of one process, and of all, while no node is attached.
  std::uint64_t spool_bytes = 64ULL << 20;
  std::uint64_t spool_total_bytes = 1ULL << 30;
  /// How long a new node may take to come before the old one counts as dead for good.
  std::chrono::milliseconds owner_grace{1000};
  /// How children end whose owner has died for good (`owner_death::end`).
  kill_plan owner_plan;
  /// How long the keeper may take to answer at the beginning.
  std::chrono::milliseconds connect_limit{5000};
  /// If another node is attached: make it let go. Otherwise it is an error.
  bool take_over = false;
  /// Something that the operator should know, in words: no keeper can be started, the keeper has died,
  /// another node has taken over. Called on the loop's thread.
  std::function<void(const std::string&)> problem = {};
};

/// Threads: the io loop's, and those of the stand-in once it is needed. The loop must outlive the
/// backend. Destroying it is what the death of the node is for the keeper: children are kept, and
/// ended by their `owner_death` after the grace. Not on the loop's thread.
///
/// Differences from `local_backend`: `start_info::output` is a ring in shared memory; a child whose
/// keeper was killed goes on, and its exit is reported with `exit_status::known == false`.
class keeper_backend : public backend {
 public:
  keeper_backend(io_loop& loop, keeper_options options);
  ~keeper_backend() override;

  void prepare(child_id id, spawn_spec spec) override;
  void discard(child_id id) override;
  void start(child_id id, spawn_spec spec, std::shared_ptr<sink> out) override;
  void write(child_id id, std::uint64_t token, std::string data, bool eof) override;
  void signal(child_id id, std::uint64_t token, int signal_number) override;
  void kill(child_id id, kill_plan plan) override;
  void resize(child_id id, std::uint16_t rows, std::uint16_t cols) override;
  void resume(child_id id) override;
  void describe(child_id id, std::uint64_t token) override;
  /// Connects to the keeper of `dir` if there is one, and reads what is left in files. To be called
  /// before the first `start`, once.
  void recover(std::function<void(recovery)> done) override;
  void adopt(child_id id, std::shared_ptr<sink> out) override;
  void adopt_running(child_id id, int pid, std::uint64_t start_ticks, std::string marker,
                     std::shared_ptr<sink> out) override;
  void set_owner_death(child_id id, owner_death what) override;
  /// Also forgets a child that is known from files only (`found_child::left`): its record is removed;
  /// its spool file belongs to the caller.
  void release(child_id id) override;

 private:
  class core;
  std::shared_ptr<core> core_;
  io_loop& loop_;
};

}  // namespace troupe::backends

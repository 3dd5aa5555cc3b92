// Takes the status of the children that have ended. Belongs to the loop's thread.
//
// A leader with a pidfd is waited for by its `child`. The others (leaders without one, and orphans that
// have become ours) are told by SIGCHLD, for which all children of this process are looked at.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "troupe/backends/backend.hpp"
#include "troupe/backends/io_loop.hpp"
#include "troupe/backends/local/own_children.hpp"
#include "troupe/backends/local/spawn.hpp"

namespace troupe::backends::local {

class child;

/// waitid(P_PIDFD or P_PID) without blocking: the status if the process has ended; reaps it.
/// `ended` is false while it runs. ECHILD (somebody else reaped it) gives an unknown status.
struct wait_outcome {
  bool ended = false;
  exit_status status;
};
wait_outcome reap(int id_type, int id);

class reaper : public std::enable_shared_from_this<reaper> {
 public:
  enum class mode { pidfds_only, orphans, leaders_by_signal };

  /// `own` is told of leaders, and must live until `close`.
  reaper(io_loop& loop, own_children& own, mode how);

  void begin();
  void close();

  /// A leader, and its status if it has ended (and been reaped) before this was known. Then a start time
  /// that could not be read is filled in.
  std::optional<exit_status> began(spawned& process, std::shared_ptr<child> leader);
  /// A child that may become a leader, and has nothing to do with others until then.
  void prepared(int pid) { own_.leader_began(pid); }
  /// A leader has been reaped, whoever did it.
  void gone(int pid);

  /// What ends between these two and is no leader yet may become one.
  std::uint64_t launch_begins();
  void launch_ends(std::uint64_t number);
  bool launching() const noexcept { return !launching_.empty(); }

  /// A leader may be about to end.
  void look_at_later(int pid);
  /// Waits for a prepared child that is to end.
  void reap_prepared(int pid, int pidfd);

 private:
  struct early_exit {
    exit_status status;
    std::uint64_t start_ticks = 0;
    std::uint64_t launches = 0;  ///< the last launch that had begun
  };

  void await_child_signal();
  void await_signals();
  void take_signals();
  bool look_and_see(int pid);
  void reap_all();
  void child_ended(int pid);
  wait_outcome reap_pid(int pid);

  io_loop& loop_;
  own_children& own_;
  const mode how_;
  std::unordered_map<int, std::shared_ptr<child>> leaders_;
  std::set<std::uint64_t> launching_;
  std::uint64_t last_launch_ = 0;
  std::unordered_map<int, early_exit> early_exits_;
  boost::asio::signal_set child_signals_;
  std::optional<boost::asio::posix::stream_descriptor> signals_;
  bool look_planned_ = false;
  std::map<int, io_loop::clock::time_point> suspects_;  ///< leaders without output
  bool closed_ = false;
};

}  // namespace troupe::backends::local

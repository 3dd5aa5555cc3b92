// One kill under way: carries out the decisions of `kill_ladder`. Its timers and watches live on
// the loop; the scans and the signals to descendants happen on the table's thread, so that a tree of
// thousands does not hold up the loop. Nothing here polls: it looks again when those it watches
// have ended, or when a deadline is reached.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/backends/io_loop.hpp"
#include "troupe/backends/local/kill_ladder.hpp"
#include "troupe/backends/local/process_table.hpp"
#include "troupe/backends/local/spawn.hpp"

namespace troupe::backends::local {

class kill_run : public std::enable_shared_from_this<kill_run> {
 public:
  /// What a run needs of its child. Called on the loop's thread only.
  struct hooks {
    /// Signals the leader and its group; false if the leader has been reaped.
    std::function<bool(int)> signal_leader;
    std::function<tree_identity()> identity;
    /// Members of the tree that a scan proved.
    std::function<void(const std::vector<process_key>&)> learned;
    /// The end, with the survivors. Not called after `cancel`.
    std::function<void(std::vector<int>)> done;
  };

  kill_run(io_loop& loop, process_table& table, kill_plan plan, hooks h);

  void begin();
  /// The leader has been reaped.
  void leader_gone();
  /// Another kill asked for SIGKILL at once.
  void hurry();
  void cancel();

 private:
  struct found {
    kill_ladder::decision what;
    std::vector<process_key> members;
    std::vector<unique_fd> watches;
    bool all_watched = true;
    bool ended = false;
  };
  using time_point = kill_ladder::time_point;

  void look();
  found decide(const snapshot& all, const tree_identity& identity, bool leader_up, bool hurry);
  void looked(found f);
  void arm(time_point when);
  void watch(std::vector<unique_fd> pidfds);

  io_loop& loop_;
  process_table& table_;
  kill_plan plan_;
  hooks hooks_;
  bool leader_up_ = true;
  bool looking_ = false;
  bool again_ = false;
  bool hurry_ = false;
  bool over_ = false;
  process_table::extent extent_ = process_table::extent::descendants;
  io_loop::timer_id timer_ = 0;
  std::uint64_t watch_round_ = 0;
  std::size_t watched_ = 0;
  std::vector<boost::asio::posix::stream_descriptor> watches_;
  /// Touched by the loop before the first look, and by the table's thread afterwards.
  std::unique_ptr<kill_ladder> ladder_;
};

/// Signals a process only if it still is the one that started then. Returns 0 or an errno.
int signal_process(const process_key& whom, int signal_number);

}  // namespace troupe::backends::local

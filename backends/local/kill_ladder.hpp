// The kill ladder's decisions, without system calls: given who is still alive and what time it is,
// whom to signal, and when to look again (design 5).
//
//   begin      the caller sends the first signal to the leader and its group
//   leader gone, or grace over: first `step`
//     group members   had the signal at the beginning: SIGKILL when the grace is over
//     escapees        (own session or group) SIGTERM now, SIGKILL a grace later
//   SIGKILL is repeated for whatever appears afterwards, until nothing is left or `settle` is over.
//
// So an obedient leader with a stubborn escapee takes about one grace, and so does a stubborn leader.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "troupe/backends/backend.hpp"

namespace troupe::backends::local {

class kill_ladder {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  struct member {
    int pid = 0;
    std::uint64_t start_ticks = 0;
    bool group = false;
  };
  struct order {
    member whom;
    int signal_number = 0;
  };
  struct decision {
    std::vector<order> signals;
    /// When to look again if nothing has happened by then. Without it the ladder has ended.
    std::optional<time_point> next;
    /// Who is left, when it has ended.
    std::vector<int> survivors;
  };

  /// `group_signalled`: the leader's group got the first signal at `begin`.
  kill_ladder(kill_plan plan, time_point begin, bool group_signalled) noexcept;

  /// When group members have had their grace.
  time_point group_deadline() const noexcept { return begin_ + grace_; }
  /// No more grace for anybody.
  void hurry(time_point now) noexcept;
  /// `leader_up`: the leader has not ended (then only its group's deadline counts).
  decision step(time_point now, const std::vector<member>& alive, bool leader_up);

 private:
  std::chrono::milliseconds grace_;
  std::chrono::milliseconds settle_;
  time_point begin_;
  int escapee_signal_;
  bool group_signalled_;
  std::optional<time_point> escapees_begin_;
  std::vector<member> signalled_;
};

}  // namespace troupe::backends::local

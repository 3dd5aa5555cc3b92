// Pure logic; see kill_ladder.hpp.
#include "troupe/backends/local/kill_ladder.hpp"

#include <signal.h>

#include <algorithm>

namespace troupe::backends::local {

kill_ladder::kill_ladder(kill_plan plan, time_point begin, bool group_signalled) noexcept
    : grace_(plan.first_signal == SIGKILL ? std::chrono::milliseconds{0} : plan.grace),
      settle_(plan.settle),
      begin_(begin),
      escapee_signal_(plan.first_signal == SIGKILL ? SIGKILL : SIGTERM),
      group_signalled_(group_signalled) {}

void kill_ladder::hurry(time_point now) noexcept {
  grace_ = std::chrono::milliseconds{0};
  escapee_signal_ = SIGKILL;
  begin_ = now;  // `settle` counts from here
  if (escapees_begin_) {
    escapees_begin_ = now;
  }
}

kill_ladder::decision kill_ladder::step(time_point now, const std::vector<member>& alive,
                                        bool leader_up) {
  decision out;
  if (alive.empty()) {
    return out;
  }
  const auto group_deadline = begin_ + grace_;
  if (leader_up && now < group_deadline) {
    out.next = group_deadline;
    return out;
  }
  const auto look_again = [&](time_point when) {
    out.next = out.next ? std::min(*out.next, when) : when;
  };
  auto give_up = group_deadline;
  for (const auto& m : alive) {
    const bool had_signal = m.group && group_signalled_;
    if (!had_signal && !escapees_begin_) {
      escapees_begin_ = now;
    }
    const auto deadline = had_signal ? group_deadline : *escapees_begin_ + grace_;
    give_up = std::max(give_up, deadline);
    if (now >= deadline) {
      out.signals.push_back({m, SIGKILL});
      continue;
    }
    look_again(deadline);
    if (had_signal) {
      continue;
    }
    const auto same = [&](const member& s) {
      return s.pid == m.pid && s.start_ticks == m.start_ticks;
    };
    if (std::none_of(signalled_.begin(), signalled_.end(), same)) {
      signalled_.push_back(m);
      out.signals.push_back({m, escapee_signal_});
    }
  }
  give_up += settle_;
  if (now >= give_up) {
    out.next.reset();
    for (const auto& m : alive) {
      out.survivors.push_back(m.pid);
    }
  } else {
    look_again(give_up);
  }
  return out;
}

}  // namespace troupe::backends::local

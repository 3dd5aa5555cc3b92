// See kill_run.hpp.
#include "troupe/backends/local/kill_run.hpp"

#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace troupe::backends::local {

namespace {

// Enough to notice that a tree has ended; a larger one is watched in portions.
constexpr std::size_t most_watches = 64;
constexpr auto without_watches = std::chrono::milliseconds{50};

// A pidfd names one process for good: once its start time is right, it cannot become another.
unique_fd open_process(const process_key& whom) {
  unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, whom.first, 0)));
  if (pidfd && read_start_ticks(whom.first) != whom.second) {
    pidfd.reset();
    errno = ESRCH;
  }
  return pidfd;
}

int send(const unique_fd& pidfd, int signal_number) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal_number, nullptr, 0) == 0 ? 0 : errno;
}

}  // namespace

int signal_process(const process_key& whom, int signal_number) {
  const auto pidfd = open_process(whom);
  return pidfd ? send(pidfd, signal_number) : errno;
}

kill_run::kill_run(io_loop& loop, process_table& table, kill_plan plan, hooks h)
    : loop_(loop), table_(table), plan_(plan), hooks_(std::move(h)) {}

void kill_run::begin() {
  leader_up_ = hooks_.signal_leader(plan_.first_signal);
  ladder_ = std::make_unique<kill_ladder>(plan_, std::chrono::steady_clock::now(), leader_up_);
  if (leader_up_) {
    hooks_.signal_leader(SIGCONT);  // a stopped process cannot obey
    arm(ladder_->group_deadline());
  } else {
    look();
  }
}

void kill_run::leader_gone() {
  leader_up_ = false;
  look();
}

void kill_run::hurry() {
  if (!over_) {
    hurry_ = true;
    hooks_.signal_leader(SIGKILL);
    look();
  }
}

void kill_run::cancel() {
  over_ = true;
  loop_.cancel(timer_);
  watches_.clear();
  hooks_ = {};
}

void kill_run::look() {
  if (over_) {
    return;
  }
  if (looking_) {
    again_ = true;
    return;
  }
  looking_ = true;
  const auto who = hooks_.identity();
  table_.query(
      who,
      [self = shared_from_this(), who, up = leader_up_,
       hurry = std::exchange(hurry_, false)](const snapshot& all) {
        auto f = std::make_shared<found>(self->decide(all, who, up, hurry));
        self->loop_.post([self, f] { self->looked(std::move(*f)); });
      },
      extent_);
}

kill_run::found kill_run::decide(const snapshot& all, const tree_identity& identity, bool leader_up,
                                 bool hurry) {
  found f;
  std::vector<kill_ladder::member> alive;
  for (const auto& entry : tree_of(all, identity)) {
    alive.push_back({entry.row->pid, entry.row->start_ticks, entry.group});
    f.members.emplace_back(entry.row->pid, entry.row->start_ticks);
  }
  const auto now = std::chrono::steady_clock::now();
  if (hurry) {
    ladder_->hurry(now);
  }
  f.what = ladder_->step(now, alive, leader_up);
  f.ended = !f.what.next;
  for (const auto& order : f.what.signals) {
    signal_process({order.whom.pid, order.whom.start_ticks}, order.signal_number);
  }
  if (f.ended) {
    return f;
  }
  for (const auto& m : alive) {
    if (f.watches.size() == most_watches) {
      break;
    }
    if (auto pidfd = open_process({m.pid, m.start_ticks})) {
      f.watches.push_back(std::move(pidfd));
    } else if (errno != ESRCH) {
      f.all_watched = false;
    }
  }
  return f;
}

void kill_run::looked(found f) {
  looking_ = false;
  if (over_) {
    return;
  }
  hooks_.learned(f.members);
  if (!f.what.signals.empty()) {
    // Some have left the leader's group, or would not end: wherever else they may have got to.
    extent_ = process_table::extent::everything;
  }
  if (f.ended && !again_) {
    over_ = true;
    loop_.cancel(timer_);
    watches_.clear();
    auto done = std::move(hooks_.done);
    hooks_ = {};
    done(std::move(f.what.survivors));
    return;
  }
  if (std::exchange(again_, false) || (f.watches.empty() && f.all_watched)) {
    look();
    return;
  }
  auto when = *f.what.next;
  if (!f.all_watched) {
    when = std::min(when, std::chrono::steady_clock::now() + without_watches);
  }
  arm(when);
  watch(std::move(f.watches));
}

void kill_run::arm(time_point when) {
  loop_.cancel(timer_);
  timer_ = loop_.after(when - std::chrono::steady_clock::now(), [self = shared_from_this()] {
    if (self->over_) {
      return;
    }
    if (self->leader_up_) {
      self->hooks_.signal_leader(SIGKILL);  // the group at once, whoever it forks meanwhile
    }
    self->look();
  });
}

void kill_run::watch(std::vector<unique_fd> pidfds) {
  watches_.clear();
  const auto round = ++watch_round_;
  watched_ = pidfds.size();
  for (auto& pidfd : pidfds) {
    auto& w = watches_.emplace_back(loop_.context(), pidfd.release());
    w.async_wait(boost::asio::posix::descriptor_base::wait_read,
                 [self = shared_from_this(), round](const boost::system::error_code& error) {
                   if (!error && round == self->watch_round_ && --self->watched_ == 0) {
                     self->look();
                   }
                 });
  }
}

}  // namespace troupe::backends::local

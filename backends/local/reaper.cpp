// See reaper.hpp.
#include "troupe/backends/local/reaper.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "troupe/backends/local/child.hpp"

namespace troupe::backends::local {

namespace {

constexpr int by_pidfd = 3;  // P_PIDFD; not in every libc

// Signals of children that end together are one signal. Those whose output has ended are looked at
// with every signal; the others (a descendant holds the output) all together a little later: how much
// depends on how many there are, so that exits of a few cost the same among thousands.
constexpr auto look_after = std::chrono::microseconds{500};
constexpr auto look_after_per_child = std::chrono::microseconds{20};  // a look takes 0.3 for each
constexpr auto end_follows_output = std::chrono::milliseconds{500};

std::uint64_t microseconds(const timeval& t) {
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(t.tv_usec);
}

}  // namespace

wait_outcome reap(int id_type, int id) {
  siginfo_t info{};
  rusage usage{};
  wait_outcome out;
  while (::syscall(SYS_waitid, id_type, id, &info, WEXITED | WNOHANG, &usage) != 0) {
    if (errno != EINTR) {
      out.ended = true;
      out.status.known = false;
      return out;
    }
  }
  if (info.si_pid == 0) {
    return out;
  }
  out.ended = true;
  auto& s = out.status;
  if (info.si_code == CLD_EXITED) {
    s.code = info.si_status;
  } else {
    s.signal = info.si_status;
    s.core_dumped = info.si_code == CLD_DUMPED;
  }
  s.user_us = microseconds(usage.ru_utime);
  s.system_us = microseconds(usage.ru_stime);
  s.max_rss_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
  s.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt);
  s.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
  s.voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
  s.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
  return out;
}

reaper::reaper(io_loop& loop, own_children& own, mode how)
    : loop_(loop), own_(own), how_(how), child_signals_(loop.context()) {}

void reaper::begin() {
  if (how_ == mode::leaders_by_signal) {
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    signals_.emplace(loop_.context(), ::signalfd(-1, &child_ended, SFD_NONBLOCK | SFD_CLOEXEC));
    await_signals();
  } else if (how_ == mode::orphans) {
    child_signals_.add(SIGCHLD);
    await_child_signal();
  }
}

void reaper::close() {
  closed_ = true;
  boost::system::error_code ignored;
  child_signals_.cancel(ignored);
  child_signals_.clear(ignored);
  signals_.reset();
  leaders_.clear();
}

std::optional<exit_status> reaper::began(spawned& process, std::shared_ptr<child> leader) {
  leaders_[process.pid] = std::move(leader);
  own_.leader_began(process.pid);
  const auto early = early_exits_.extract(process.pid);
  if (!early) {
    return std::nullopt;
  }
  if (process.start_ticks == 0) {
    process.start_ticks = early.mapped().start_ticks;
  }
  return early.mapped().status;
}

void reaper::gone(int pid) {
  leaders_.erase(pid);
  own_.leader_gone(pid);
}

std::uint64_t reaper::launch_begins() {
  launching_.insert(++last_launch_);
  return last_launch_;
}

void reaper::launch_ends(std::uint64_t number) {
  launching_.erase(number);
  const auto oldest = launching_.empty() ? number + 1 : *launching_.begin();
  if (!early_exits_.empty()) {
    std::erase_if(early_exits_, [&](const auto& e) { return e.second.launches < oldest; });
  }
}

void reaper::look_at_later(int pid) {
  loop_.post([self = shared_from_this(), pid] {
    if (!self->closed_ && !self->look_and_see(pid)) {
      self->suspects_[pid] = io_loop::clock::now() + end_follows_output;
    }
  });
}

void reaper::reap_prepared(int pid, int pidfd) {
  if (closed_) {
    reap(by_pidfd, pidfd);
    return;
  }
  own_.reaping([pidfd] { return reap(by_pidfd, pidfd); });
  own_.leader_gone(pid);
}

wait_outcome reaper::reap_pid(int pid) {
  return own_.reaping([pid] { return reap(P_PID, pid); });
}

void reaper::await_child_signal() {
  child_signals_.async_wait(
      [self = shared_from_this()](const boost::system::error_code& error, int) {
        if (!error && !self->closed_) {
          self->await_child_signal();
          self->reap_all();
        }
      });
}

void reaper::await_signals() {
  signals_->async_wait(boost::asio::posix::descriptor_base::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         if (!error && !self->closed_) {
                           self->take_signals();
                           self->await_signals();
                         }
                       });
}

void reaper::take_signals() {
  // Signals of one number do not queue: there is one at most.
  signalfd_siginfo info;
  if (::read(signals_->native_handle(), &info, sizeof info) == sizeof info) {
    child_ended(static_cast<int>(info.ssi_pid));
  }
  const auto now = io_loop::clock::now();
  for (auto at = suspects_.begin(); at != suspects_.end();) {
    const auto [pid, until] = *at;
    at = suspects_.erase(at);
    if (until > now && !look_and_see(pid)) {
      suspects_.emplace(pid, until);
    }
  }
  if (!std::exchange(look_planned_, true)) {
    loop_.after(look_after + look_after_per_child * leaders_.size(), [self = shared_from_this()] {
      self->look_planned_ = false;
      if (!self->closed_) {
        self->reap_all();
      }
    });
  }
}

// Whether this leader has ended (or is none any more).
bool reaper::look_and_see(int pid) {
  if (leaders_.contains(pid)) {
    child_ended(pid);
  }
  return !leaders_.contains(pid);
}

void reaper::reap_all() {
  for (;;) {
    siginfo_t info{};
    if (::syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, nullptr) != 0 ||
        info.si_pid == 0) {
      return;
    }
    child_ended(info.si_pid);
  }
}

// Leaders are handled as such, adopted orphans are only put to rest. A leader may end before its
// launch is known here: then its status is kept until all launches that were under way are known.
void reaper::child_ended(int pid) {
  if (const auto leader = leaders_.find(pid); leader != leaders_.end()) {
    const auto one = leader->second;
    const auto outcome = reap_pid(pid);
    if (outcome.ended) {
      one->leader_exited(outcome.status);
    }
    return;
  }
  const auto start_ticks = launching_.empty() ? 0 : read_start_ticks(pid);
  const auto outcome = reap_pid(pid);
  own_.leader_gone(pid);  // a prepared one
  if (outcome.ended && outcome.status.known && !launching_.empty()) {
    early_exits_[pid] = {outcome.status, start_ticks, last_launch_};
  }
}

}  // namespace troupe::backends::local

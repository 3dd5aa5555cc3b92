// The life of a child: start, exit, drain, kill, release.
#include "troupe/backends/local/child.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "troupe/backends/local/inspect.hpp"
#include "troupe/backends/local/reaper.hpp"

namespace troupe::backends::local {

namespace {

/// Longer than a start takes from clone to exec (about 0.2 ms here), far shorter than the drain limit.
constexpr std::chrono::milliseconds end_of_pipe_grace{3};

constexpr int by_pidfd = 3;  // P_PIDFD; not in every libc
// How long after the reaping the kernel cannot have given the pid to somebody else.
constexpr auto pid_not_reused = std::chrono::seconds{2};
// More than a terminal buffers.
constexpr std::int64_t terminal_rest = 256 * 1024;

}  // namespace

child::child(child_services& services, child_id id, std::shared_ptr<sink> out,
             const spawn_spec& spec)
    : services_(services),
      id_(id),
      sink_(std::move(out)),
      marker_(spec.marker),
      pty_(spec.pty),
      stdin_(services.stdin_queue_bytes) {
  if (pty_) {
    terminal_ = std::make_unique<terminal>();
    terminal_->responder.resize(spec.rows, spec.cols);
  }
  if (!spec.report_marker.empty()) {
    report_ = std::make_unique<reporting>(spec.report_marker);
  }
}

void child::connect(spawned&& s) {
  pid_ = s.pid;
  first_marker_ = std::move(s.first_marker);
  start_ticks_ = s.start_ticks;
  phase_ = released_ ? phase::discarding : phase::running;
  auto& context = services_.loop.context();
  if (s.pidfd && services_.pidfds) {
    pidfd_.emplace(context, s.pidfd.release());
    await_exit();
  }
  if (s.output) {
    output_.emplace(context, s.output.release());
  }
  if (s.input) {
    input_.emplace(context, s.input.release());
    stdin_.open(input_->native_handle(), false);
  } else if (pty_ && output_) {
    stdin_.open(output_->native_handle(), true);
  }
}

void child::began(spawned&& s, std::shared_ptr<arena::lease> lease) {
  connect(std::move(s));
  if (!released_) {
    lease_ = std::move(lease);
    sink_->started({pid_, start_ticks_, lease_});
  }
  arm_read();
  const auto self = shared_from_this();
  for (const auto& task : std::exchange(deferred_, {})) {
    task();
  }
}

void child::adopt(adopted&& a) {
  const auto self = shared_from_this();
  const bool running = static_cast<bool>(a.process.pidfd);
  foreign_ = true;
  connect(std::move(a.process));
  lease_ = std::move(a.lease);
  if (lease_) {
    lease_->producer() = ring_producer(lease_->get());
  }
  output_over_ = !output_;
  exited_ = a.exited;
  winsize size{};
  if (pty_ && output_ && ::ioctl(output_->native_handle(), TIOCGWINSZ, &size) == 0) {
    terminal_->responder.resize(size.ws_row, size.ws_col);
  }
  if (a.drained) {
    drained_told_ = true;
    phase_ = output_ ? phase::discarding : phase::over;
  } else if (exited_) {
    reaped_at_ = io_loop::clock::now();
    begin_drain();
  } else if (!lease_) {
    if (!running) {
      exit_status unknown;
      unknown.known = false;
      leader_exited(unknown);
    }
  } else {
    // Whether the one before has woken the consumer for what is there, nobody knows.
    lease_->get().header().wake.exchange(1);
    told_ = lease_->get().end();
    sink_->advanced();
    if (!running) {
      exit_status unknown;
      unknown.known = false;
      leader_exited(unknown);
    }
  }
  arm_read();
}

int child::output_handle() {
  return output_ ? output_->native_handle() : -1;
}

int child::input_handle() {
  return input_ && stdin_.takes_more() ? input_->native_handle() : -1;
}

bool child::defer(std::function<void()> later) {
  if (phase_ != phase::starting) {
    return false;
  }
  deferred_.push_back(std::move(later));
  return true;
}

void child::await_exit() {
  pidfd_->async_wait(descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error && self->pidfd_) {
                         self->exit_readable();
                       }
                     });
}

void child::exit_readable() {
  const auto outcome =
      services_.table.own().reaping([this] { return reap(by_pidfd, pidfd_->native_handle()); });
  if (outcome.ended) {
    leader_exited(outcome.status);
  } else {
    await_exit();
  }
}

void child::leader_exited(const exit_status& status) {
  if (std::exchange(exited_, true)) {
    return;
  }
  const auto self = shared_from_this();
  reaped_at_ = io_loop::clock::now();
  pidfd_.reset();
  services_.reaped(pid_);
  close_stdin();
  if (sink_) {
    sink_->exited(status);
  }
  if (kill_) {
    kill_->leader_gone();
  }
  begin_drain();
}

void child::begin_drain() {
  if (output_over_) {
    output_.reset();  // a terminal is kept until now: closing it is a hangup
    finish_drain(true);
    return;
  }
  if (phase_ == phase::discarding) {  // released while it ran
    return;
  }
  phase_ = phase::draining;
  int held = 0;
  if (!pty_ && ::ioctl(output_->native_handle(), FIONREAD, &held) == 0) {
    must_read_ = held;
  }
  drain_timer_ = services_.loop.after(services_.drain_limit, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->drain_limit_reached();
    }
  });
  pump();
}

void child::drain_limit_reached() {
  if (phase_ != phase::draining) {
    return;
  }
  limit_passed_ = true;
  if (pty_) {
    must_read_ = terminal_rest;  // a terminal does not say how much it holds
  }
  if (must_read_ <= 0) {
    finish_drain(false);
  } else if (!stalled_) {
    pump();
  }
}

// A pipe that would block after the exit may only seem to be held: while another child is being
// started, a copy of our descriptors lives until its exec. Looking for holders costs a scan of the
// process table, so the end of the pipe gets a moment to come first.
void child::await_end_of_pipe() {
  if (end_timer_ != 0 || pty_) {
    return;
  }
  end_timer_ = services_.loop.after(end_of_pipe_grace, [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && self->phase_ == phase::draining) {
      self->end_awaited_ = true;
      if (!self->stalled_) {
        self->pump();
      }
    }
  });
}

bool child::drain_is_over(read_result last) {
  if (last == read_result::again) {
    if (limit_passed_ || end_awaited_) {
      return true;
    }
    await_end_of_pipe();
    return false;
  }
  return limit_passed_ && must_read_ <= 0;
}

void child::finish_drain(bool eof) {
  services_.loop.cancel(drain_timer_);
  if (end_timer_ != 0) {
    services_.loop.cancel(end_timer_);
  }
  phase_ = eof ? phase::over : phase::discarding;
  if (terminal_) {
    terminal_->pending.clear();
  }
  if (report_ && !eof && !pty_ && lease_) {
    report_->filter.finish(report_->pending);  // no room for the rest: what was begun is no report
    lease_->producer().append(std::exchange(report_->pending, {}));
  }
  if (eof) {
    tell_drained({});
    return;
  }
  stalled_ = false;
  arm_read();
  const auto who = identity();
  services_.table.query(
      who, [self = shared_from_this(), who, &loop = services_.loop](const snapshot& all) {
        std::vector<process_key> members;
        for (const auto& entry : tree_of(all, who)) {
          members.emplace_back(entry.row->pid, entry.row->start_ticks);
        }
        loop.post([self, members = std::move(members)] {
          self->learn(members);
          std::vector<int> holders;
          for (const auto& [pid, start] : members) {
            holders.push_back(pid);
          }
          self->tell_drained(holders);
        });
      });
}

void child::tell_drained(const std::vector<int>& holders) {
  drained_told_ = true;
  if (sink_) {
    if (report_) {
      if (auto report = report_->filter.take()) {
        sink_->reported(std::move(*report));
      }
    }
    sink_->drained(holders);
  }
  tell_kill_done();
  forget_if_done();
}

void child::tell_kill_done() {
  if (!survivors_) {
    return;
  }
  const bool leader_survives =
      std::find(survivors_->begin(), survivors_->end(), pid_) != survivors_->end();
  if (leader_survives || drained_told_ || released_) {
    const auto survivors = std::move(*survivors_);
    survivors_.reset();
    kill_.reset();
    if (sink_) {
      sink_->kill_done(survivors);
    }
  }
}

void child::forget_if_done() {
  if (!closed_ && released_ && exited_ && output_over_ && !kill_) {
    services_.forget(id_);
  }
}

void child::kill(kill_plan plan) {
  if (defer([this, plan] { kill(plan); })) {
    return;
  }
  if (kill_) {
    if (plan.first_signal == SIGKILL) {
      kill_->hurry();
    }
    return;
  }
  kill_run::hooks hooks;
  hooks.signal_leader = [this](int number) { return signal_leader(number); };
  hooks.identity = [this] { return identity(); };
  hooks.learned = [this](const std::vector<process_key>& members) { learn(members); };
  hooks.done = [self = shared_from_this()](std::vector<int> survivors) {
    self->survivors_ = std::move(survivors);
    self->tell_kill_done();
    self->forget_if_done();
  };
  kill_ = std::make_shared<kill_run>(services_.loop, services_.table, plan, std::move(hooks));
  kill_->begin();
}

bool child::signal_leader(int signal_number) {
  if (exited_) {
    return false;
  }
  // Not reaped: neither the pid nor the number of its group can belong to anybody else.
  if (pidfd_) {
    ::syscall(SYS_pidfd_send_signal, pidfd_->native_handle(), signal_number, nullptr, 0);
  } else {
    ::kill(pid_, signal_number);
  }
  ::kill(-pid_, signal_number);
  return true;
}

tree_identity child::identity() const {
  tree_identity who;
  who.pid = pid_;
  who.start_ticks = start_ticks_;
  who.marker = marker_;
  who.first_marker = first_marker_;
  who.session_valid = !exited_ || io_loop::clock::now() - reaped_at_ < pid_not_reused;
  who.known = known_;
  who.foreign = foreign_;
  return who;
}

void child::learn(const std::vector<process_key>& members) {
  known_ = {members.begin(), members.end()};
}

void child::describe(std::uint64_t token) {
  if (defer([this, token] { describe(token); })) {
    return;
  }
  const int master = pty_ && output_ && !exited_ ? output_->native_handle() : -1;
  const auto who = identity();
  services_.table.query(who,
                        [self = shared_from_this(), who, token, tty = terminal_state_of(master),
                         &loop = services_.loop](const snapshot& all) {
                          auto answer = std::make_shared<description>(inspect_tree(all, who, tty));
                          loop.post([self, token, answer] {
                            if (self->sink_) {
                              self->sink_->described(token, *answer);
                            }
                          });
                        });
}

void child::release() {
  released_ = true;
  sink_.reset();
  lease_.reset();
  deferred_.clear();
  if (phase_ == phase::starting) {
    return;
  }
  tell_kill_done();
  if (!output_over_) {
    services_.loop.cancel(drain_timer_);
    phase_ = phase::discarding;
    stalled_ = false;
    arm_read();
  }
  forget_if_done();
}

void child::drop_output() {
  if (drained_told_) {
    lease_.reset();
  }
}

void child::close() {
  closed_ = true;
  released_ = true;
  phase_ = phase::over;
  sink_.reset();
  deferred_.clear();
  if (kill_) {
    kill_->cancel();
    kill_.reset();
  }
  services_.loop.cancel(drain_timer_);
  stdin_.close();
  pidfd_.reset();
  output_.reset();
  input_.reset();
  lease_.reset();
}

}  // namespace troupe::backends::local

#include "troupe/actors/process.hpp"

#include <cstring>
#include <utility>

#include "troupe/text/redact.hpp"

namespace troupe {

namespace {

redaction redaction_for(const options& opts, const std::string& command) {
  if (!opts.redact) return redaction::off;
  return text::prints_environment(command) ? redaction::assignments : redaction::tokens;
}

}  // namespace

redaction redaction_for(const options& opts, const persistence::process_record& record) {
  if (!opts.redact) return redaction::off;
  return record.output_assignments ? redaction::assignments : redaction::tokens;
}

run_status run_status_of(const exit_info& end) {
  switch (end.reason) {
    case finish_reason::timed_out:
      return run_status::timed_out;
    case finish_reason::interrupted:
      return run_status::interrupted;
    case finish_reason::failed_to_start:
      return run_status::failed_to_start;
    default:
      return run_status::finished;
  }
}

process_state::process_state(process_actor::pointer self,
                             std::shared_ptr<const process_services> services,
                             spawn_request request, caller owner,
                             std::shared_ptr<const watch_patterns> patterns)
    : self_(self),
      services_(std::move(services)),
      child_(services_->next_child()),
      request_(std::move(request)),
      owner_(std::move(owner)),
      started_at_(caf::make_timestamp()),
      output_(services_->opts->retained_bytes, !request_.pty,
              redaction_for(*services_->opts, request_.command)) {
  if (request_.owner_death.empty()) request_.owner_death = services_->opts->owner_death;
  if (request_.owner_death.empty()) request_.owner_death = "keep";
  begin_reports(std::move(patterns));
  if (request_.timeout) arm(process_deadline, *request_.timeout, deadline_timer_);
}

process_state::~process_state() {
  if (deadline_timer_ != 0) services_->loop->cancel(deadline_timer_);
  if (reports_) {
    compat::anon_send_exit(reports_->watcher, caf::exit_reason::user_shutdown);
    compat::anon_send_exit(reports_->heartbeat, caf::exit_reason::user_shutdown);
  }
  if (waiters_.run && waiters_.run->spill) {
    spill_job gone;
    gone.id = request_.id;
    gone.discard = true;
    compat::anon_send(services_->spill, std::move(gone));
  }
  if (!report_path_.empty()) services_->run_dir->remove(report_path_);
  // One that is kept runs on when its node ends; the next node finds it.
  if (!(launched_ && !exit_ && outlives_node())) services_->backend->release(child_);
}

process_actor::behavior_type process_state::make_behavior() {
  return {
      [this](loop_event& event) { std::visit([this](const auto& what) { on(what); }, event.what); },
      [this](launch_order& order) { on_launch(std::move(order)); },
      [this](adopt_atom) { on_adopt(); },
      [this](deadline_atom, std::uint64_t token) { on_deadline(token); },
      [this](port_atom, std::uint64_t token) { on_port_open(token); },
      [this](start_atom, const caller&) { return on_start(); },
      [this](run_atom, const caller& who) { return on_run(who); },
      [this](summary_atom) { return summary(services_->opts->list_preview_chars); },
      [this](poll_atom, const caller& who, const poll_options& what) { return on_poll(who, what); },
      [this](log_atom, const caller& who, const log_options& what) { return on_log(who, what); },
      [this](follow_atom, const caller& who, follow_options& what) {
        return on_follow(who, std::move(what));
      },
      [this](wait_atom, const caller& who, wait_options& what) {
        return on_wait(who, std::move(what));
      },
      [this](kill_atom, const caller& who, const kill_options& what) { return on_kill(who, what); },
      [this](signal_atom, const caller&, std::int32_t number) { return on_signal(number); },
      [this](write_atom, const caller&, write_request& what) { return on_write(std::move(what)); },
      [this](resize_atom, const caller&, std::uint16_t rows, std::uint16_t cols) {
        return on_resize(rows, cols);
      },
      [this](detach_atom, const caller&) { return on_detach(); },
      [this](handoff_atom, const caller&, std::string& session, std::string& note) {
        return on_handoff(std::move(session), std::move(note));
      },
      [this](interrupt_atom, const caller& who) { return on_interrupt(who); },
      [this](yield_atom, const caller& who) { return on_yield(who); },
      [this](yield_atom, std::uint64_t group) { on_group_over(group); },
      [this](heartbeat_atom, std::uint64_t cursor) { return on_heartbeat(cursor); },
      [this](retention_atom) {
        forgotten_ = true;
        leave_if_done();
      },
  };
}

// -- timers ---------------------------------------------------------------------------------------

void process_state::arm(std::uint64_t token, caf::timespan delay, std::uint64_t& timer) {
  auto receiver = caf::actor_cast<process_actor>(self_);
  timer = services_->loop->after(
      delay, [receiver, token] { compat::anon_send(receiver, deadline_atom_v, token); });
}

void process_state::disarm(std::uint64_t& timer) {
  if (timer != 0) services_->loop->cancel(std::exchange(timer, 0));
}

void process_state::on_deadline(std::uint64_t token) {
  if (token == process_deadline) {
    // A deadline that was disarmed meanwhile (yield, end) finds nothing to do.
    if (deadline_timer_ == 0 || exit_) return;
    deadline_timer_ = 0;
    begin_kill(finish_reason::timed_out, "timeout", {});
    return;
  }
  for (std::size_t i = 0; i < waiters_.waits.size(); ++i) {
    if (waiters_.waits[i].token == token) return finish_wait(i, wait_status::timeout, {});
  }
  for (auto it = waiters_.follows.begin(); it != waiters_.follows.end(); ++it) {
    if (it->token != token) continue;
    auto entry = std::move(*it);
    waiters_.follows.erase(it);
    entry.promise.deliver(
        output_.read(entry.what.cursor, entry.what.view, entry.what.max_bytes, finished()));
    return;
  }
}

// -- what the loop saw ----------------------------------------------------------------------------

void process_state::on(const loop_event::advanced&) {
  take_output();
}

void process_state::on(const loop_event::eof&) {
  // Not the end: a process may close its output and go on (design 3.4).
}

void process_state::on(const backends::exit_status& status) {
  exit_info end;
  end.reason = cause_ ? cause_->reason : finish_reason::exited;
  if (cause_) end.source = cause_->source;
  if (status.known) {
    end.signal = status.signal;
    if (status.signal == 0) end.code = status.code;
    end.core_dumped = status.core_dumped;
    end.usage = resource_usage{status.user_us,
                               status.system_us,
                               status.max_rss_kib,
                               status.minor_faults,
                               status.major_faults,
                               status.voluntary_switches,
                               status.involuntary_switches};
  } else if (!cause_) {
    end.reason = finish_reason::lost;
  }
  exit_ = std::move(end);
  status_ = process_status::draining;
  disarm(deadline_timer_);
}

void process_state::on(const loop_event::drained& event) {
  take_output();
  auto hold = held_from();
  if (archive_ && !archive_->over) hold = std::min(hold, archive_->written);
  output_.settle(hold);
  if (exit_) exit_->descendants.assign(event.holders.begin(), event.holders.end());
  take_report();
  report_end();
}

void process_state::on(const loop_event::written& event) {
  const auto it = waiters_.writes.find(event.token);
  if (it == waiters_.writes.end()) return;
  auto promise = std::move(it->second);
  waiters_.writes.erase(it);
  const auto& outcome = event.outcome;
  switch (outcome.status) {
    case backends::write_status::ok:
      promise.deliver(write_result{outcome.accepted, outcome.queued});
      return;
    case backends::write_status::would_block:
      promise.deliver(make_error(errc::would_block,
                                 "stdin of " + request_.id + ": the queue is full (" +
                                     std::to_string(outcome.queued) + " bytes not read yet)"));
      return;
    case backends::write_status::no_stdin:
      promise.deliver(make_error(
          errc::bad_state, "stdin of " + request_.id + " is not available: started without one"));
      return;
    case backends::write_status::closed:
      if (exit_) {
        promise.deliver(gone());
      } else {
        promise.deliver(make_error(errc::bad_state, "stdin of " + request_.id + " is closed"));
      }
      return;
    case backends::write_status::line_too_long:
      promise.deliver(make_error(errc::bad_argument,
                                 "data: a line of more than " +
                                     std::to_string(defaults::pty_line_bytes) +
                                     " bytes cannot be read from a terminal in canonical mode"));
      return;
  }
}

void process_state::on(const loop_event::signalled& event) {
  const auto it = waiters_.signals.find(event.token);
  if (it == waiters_.signals.end()) return;
  auto promise = std::move(it->second);
  waiters_.signals.erase(it);
  if (event.error_number == 0) {
    promise.deliver(summary(services_->opts->list_preview_chars));
  } else if (event.error_number == ESRCH) {
    promise.deliver(gone());
  } else {
    promise.deliver(make_error(
        errc::bad_state,
        "signal to " + request_.id + ": " + std::string{strerrordesc_np(event.error_number)}));
  }
}

void process_state::on(const loop_event::described& event) {
  const auto it = waiters_.describes.find(event.token);
  if (it == waiters_.describes.end()) return;
  auto entry = std::move(it->second);
  waiters_.describes.erase(it);
  auto result = make_poll_result(entry.what);
  result.awaiting_input = event.what.awaiting_input && !exit_;
  if (entry.what.tree) {
    result.tree.emplace();
    for (const auto& member : event.what.tree) {
      if (member.pid == pid_) continue;  // the descendants; the leader is the process itself
      result.tree->push_back(
          {member.pid, member.parent, member.command, std::string(1, member.state)});
    }
  }
  entry.promise.deliver(std::move(result));
}

void process_state::on(const loop_event::kill_done& event) {
  kill_under_way_ = false;
  services_->numbers->killed(std::chrono::steady_clock::now() - kill_began_);
  if (event.survivors.empty()) {
    // With the leader gone the end is on its way through the registry; the answers follow it.
    if (finished()) {
      answer_run(run_status_of(*exit_));
      answer_kills({});
      leave_if_done();
    }
    return;
  }
  // Not all of it could be ended: an error that names them; the process stays killable. Nobody is
  // left waiting for what may never end.
  answer_kills(event.survivors);
  if (finished()) {
    answer_run(run_status_of(*exit_));
    leave_if_done();
  } else if (cause_) {
    answer_run(cause_->reason == finish_reason::timed_out ? run_status::timed_out
                                                          : run_status::interrupted);
  }
}

// -- output ---------------------------------------------------------------------------------------

void process_state::take_output() {
  const auto fresh = output_.take_new();
  if (fresh.to > fresh.from) {
    const auto pieces = output_.slices(fresh.from, fresh.to);
    auto position = fresh.from;
    for (const auto piece : pieces) {
      if (piece.empty()) continue;
      if (auto* run = waiters_.run.get()) {
        feed_run(*run, piece);
      }
      if (reports_ && reports_->matcher) watch(piece, position);
      position += piece.size();
      for (std::size_t i = 0; i < waiters_.waits.size();) {
        auto* until = waiters_.waits[i].until.get();
        auto match = until != nullptr ? until->feed(piece) : std::nullopt;
        if (match) {
          shown_to_ = fresh.to;
          finish_wait(i, wait_status::matched, std::move(*match));
        } else {
          ++i;
        }
      }
    }
  }
  if (reports_) send_matches();
  make_room();
  answer_follows();
}

// -- the end --------------------------------------------------------------------------------------

void process_state::report_end() {
  if (std::exchange(ending_reported_, true)) return;
  disarm(deadline_timer_);
  ended_at_ = caf::make_timestamp();
  // The registry takes the process out of the running set (and, before that, whatever must be
  // durable is), then its completion is journalled; only then anybody is told (design 3.2).
  count_end();
  finish_archive([this] {
    keep_receipt([this] {
      drop_left();
      tell_registry();
    });
  });
}

void process_state::tell_registry() {
  compat::request(self_, services_->registry, finished_atom_v, request_.id, *exit_, output_.end())
      .then([this] { finish_reports(); }, [this](const caf::error&) { finish_reports(); });
}

void process_state::settle_everything() {
  status_ = process_status::finished;
  for (auto& promise : std::exchange(waiters_.starts, {})) {
    promise.deliver(start_result{request_.id, pid_, exit_->failure});
  }
  // A foreground command that we ended is answered when its whole tree is gone, not before.
  if (!kill_under_way_) answer_run(run_status_of(*exit_));
  answer_waits();
  answer_follows();
  for (auto& [token, promise] : std::exchange(waiters_.writes, {})) promise.deliver(gone());
  for (auto& [token, promise] : std::exchange(waiters_.signals, {})) promise.deliver(gone());
  for (auto& [token, entry] : std::exchange(waiters_.describes, {})) {
    consumed_by(entry.who);
    entry.promise.deliver(make_poll_result(entry.what));
  }
  if (!kill_under_way_) answer_kills({});
  leave_if_done();
}

void process_state::leave_if_done() {
  // A background process stays until its retention is over, so that its result can be read and its
  // descendants can be killed. A foreground command and a failed start leave nothing behind.
  if (!finished() || kill_under_way_ || !launched_ || open_answers_ > 0) return;
  if (forgotten_ || exit_->failure || (request_.foreground && exit_->descendants.empty())) {
    self_->quit();
  }
}

caf::error process_state::gone() const {
  return make_error(errc::already_exited, "Process has already finished");
}

}  // namespace troupe

// Who waits for what on a process. Foreground is only such a wait (design 2): its end is a deadline,
// an interrupt, a yield or the end of the process, and nothing is handed over in any of them.
#include <algorithm>
#include <utility>

#include "troupe/actors/process.hpp"

namespace troupe {

namespace {

bool same_turn(const caller& a, const caller& b) {
  return a.session == b.session && a.turn == b.turn;
}

caf::error too_many_waiters() {
  return make_error(errc::limit_reached, "more than " +
                                             std::to_string(defaults::waiters_per_process) +
                                             " requests wait on this process");
}

std::string seconds_text(caf::timespan span) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  if (ms % 1000 == 0) return std::to_string(ms / 1000);
  auto text = std::to_string(static_cast<double>(ms) / 1000.0);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace

caf::result<start_result> process_state::on_start() {
  if (status_ != process_status::starting || exit_) {
    return start_result{request_.id, pid_, exit_ ? exit_->failure : std::nullopt};
  }
  auto promise = self_->make_response_promise<start_result>();
  waiters_.starts.push_back(promise);
  return promise;
}

caf::result<run_result> process_state::on_run(const caller& who) {
  waiters_.run = std::make_unique<run_wait>(services_->opts->foreground_chars);
  waiters_.run->promise = self_->make_response_promise<run_result>();
  waiters_.run->who = who;
  auto promise = waiters_.run->promise;
  if (finished()) answer_run(run_status_of(*exit_));  // its deadline was shorter than this message
  return promise;
}

void process_state::answer_run(run_status how) {
  auto run = std::exchange(waiters_.run, nullptr);
  if (!run) return;
  std::string rest;
  if (!request_.pty) {
    run->clean.clear();
    run->noise.finish(run->clean);
    run->view.feed(run->clean, rest);
  }
  if (exit_) run->view.finish(rest);
  feed_run_text(*run, rest);
  std::string suffix;
  const std::string lead = run->output.total_chars() > 0 ? "\n" : "";
  if (how == run_status::timed_out) {
    suffix = lead + "[Command timed out after " +
             seconds_text(request_.timeout.value_or(caf::timespan{})) + "s]";
  } else if (how == run_status::interrupted) {
    suffix = lead + "[Command interrupted]";
  }
  run_result result;
  result.status = how;
  result.process = summary(0);
  result.output = redacted(run->output.render(suffix), output_.how());
  result.output_omitted_chars = run->output.omitted_chars(suffix.size());
  result.truncated = result.output_omitted_chars > 0;
  if (result.truncated && !run->spill) begin_spill(*run);
  result.output_total_bytes = output_.end();
  if (report_) {
    if (report_->cwd != start_cwd_) result.cwd = report_->cwd;
    if (report_->start_cwd != start_cwd_) {
      result.cwd_note = "the directory " + start_cwd_ +
                        " is not usable any more; the command began in " + report_->start_cwd;
    }
    if (report_->pipestatus.size() > 1) result.pipestatus = report_->pipestatus;
  }
  shown_to_ = output_.end();
  answer_with_file(std::move(run), std::move(result));
}

wait_result process_state::make_wait_result(wait_status how) const {
  wait_result result;
  result.status = how;
  result.process = summary(0);
  const bool over = how == wait_status::exited;
  auto tail =
      output_.tail(over ? services_->opts->tail_chars : services_->opts->preview_chars, finished());
  result.output = std::move(tail.text);
  result.output_cut = tail.cut_chars;
  return result;
}

caf::result<wait_result> process_state::on_wait(const caller& who, wait_options what) {
  if (finished()) {
    shown_to_ = output_.end();
    consumed_by(who);
    return make_wait_result(wait_status::exited);
  }
  if (waiters_.count() >= defaults::waiters_per_process) return too_many_waiters();
  end_wait entry;
  if (!what.until.empty()) {
    auto matcher = until_matcher::make("until", what.until);
    if (!matcher) return matcher.error();
    entry.until = std::move(*matcher);
    for (const auto piece : output_.slices(shown_to_, output_.seen())) {
      if (auto match = entry.until->feed(piece)) {
        auto result = make_wait_result(wait_status::matched);
        result.match = std::move(*match);
        shown_to_ = output_.seen();
        return result;
      }
    }
  }
  entry.token = next_token_++;
  entry.who = who;
  entry.group = what.group;
  entry.promise = self_->make_response_promise<wait_result>();
  arm(entry.token, what.timeout, entry.timer);
  if (what.port != 0) {
    auto receiver = caf::actor_cast<process_actor>(self_);
    const auto limit = backends::io_loop::clock::now() + what.timeout;
    entry.probe = services_->loop->probe_port(what.port, limit,
                                              [receiver, token = entry.token](bool accepted) {
                                                if (accepted)
                                                  compat::anon_send(receiver, port_atom_v, token);
                                              });
  }
  auto promise = entry.promise;
  waiters_.waits.push_back(std::move(entry));
  return promise;
}

void process_state::finish_wait(std::size_t index, wait_status how, std::string match) {
  auto entry = std::move(waiters_.waits[index]);
  waiters_.waits.erase(waiters_.waits.begin() + static_cast<std::ptrdiff_t>(index));
  disarm(entry.timer);
  disarm(entry.probe);
  auto result = make_wait_result(how);
  result.match = std::move(match);
  entry.promise.deliver(std::move(result));
}

void process_state::on_port_open(std::uint64_t token) {
  for (std::size_t i = 0; i < waiters_.waits.size(); ++i) {
    if (waiters_.waits[i].token == token) return finish_wait(i, wait_status::port_open, {});
  }
}

void process_state::on_group_over(std::uint64_t group) {
  for (std::size_t i = 0; i < waiters_.waits.size();) {
    if (waiters_.waits[i].group == group) {
      finish_wait(i, wait_status::timeout, {});
    } else {
      ++i;
    }
  }
}

void process_state::answer_waits() {
  if (waiters_.waits.empty()) return;
  shown_to_ = output_.end();
  while (!waiters_.waits.empty()) {
    consumed_by(waiters_.waits[0].who);
    finish_wait(0, wait_status::exited, {});
  }
}

caf::result<output_chunk> process_state::on_follow(const caller& who, follow_options what) {
  if (takeover_) return ask_again<output_chunk>(follow_atom_v, who, what);
  // Asking for what follows a cursor says that what came before has arrived.
  followed_to_ = std::max(followed_to_, std::min(what.cursor, output_.seen()));
  if (request_.hold_output) make_room();
  if (archived(what.cursor)) return follow_archive(what);
  auto chunk = output_.read(what.cursor, what.view, what.max_bytes, finished());
  if (!chunk.data.empty() || chunk.finished || chunk.gap > 0) return chunk;
  if (waiters_.count() >= defaults::waiters_per_process) return too_many_waiters();
  follow_wait entry;
  entry.token = next_token_++;
  entry.who = who;
  entry.what = what;
  entry.promise = self_->make_response_promise<output_chunk>();
  arm(entry.token, what.limit, entry.timer);
  auto promise = entry.promise;
  waiters_.follows.push_back(std::move(entry));
  return promise;
}

void process_state::answer_follows() {
  for (std::size_t i = 0; i < waiters_.follows.size();) {
    auto& entry = waiters_.follows[i];
    if (archived(entry.what.cursor)) {  // it fell behind while it waited
      disarm(entry.timer);
      const auto what = entry.what;
      auto promise = std::move(entry.promise);
      waiters_.follows.erase(waiters_.follows.begin() + static_cast<std::ptrdiff_t>(i));
      read_archive(what.cursor, what.view, what.max_bytes,
                   [promise](output_chunk chunk) mutable { promise.deliver(std::move(chunk)); });
      continue;
    }
    auto chunk = output_.read(entry.what.cursor, entry.what.view, entry.what.max_bytes, finished());
    if (chunk.data.empty() && !chunk.finished && chunk.gap == 0) {
      ++i;
      continue;
    }
    disarm(entry.timer);
    auto promise = std::move(entry.promise);
    waiters_.follows.erase(waiters_.follows.begin() + static_cast<std::ptrdiff_t>(i));
    promise.deliver(std::move(chunk));
  }
}

// -- interrupt, yield, detach ---------------------------------------------------------------------

caf::result<std::uint32_t> process_state::on_interrupt(const caller& who) {
  std::uint32_t ended = 0;
  if (waiters_.run && same_turn(waiters_.run->who, who)) {
    ++ended;
    begin_kill(finish_reason::interrupted, "interrupt", {});
  }
  for (std::size_t i = 0; i < waiters_.waits.size();) {
    if (same_turn(waiters_.waits[i].who, who)) {
      ++ended;
      finish_wait(i, wait_status::interrupted, {});
    } else {
      ++i;
    }
  }
  end_follows_of(who);
  return ended;
}

caf::result<std::uint32_t> process_state::on_yield(const caller& who) {
  std::uint32_t ended = 0;
  if (waiters_.run && same_turn(waiters_.run->who, who) && !exit_ && !cause_) {
    ++ended;
    leave_foreground();
  }
  for (std::size_t i = 0; i < waiters_.waits.size();) {
    if (same_turn(waiters_.waits[i].who, who)) {
      ++ended;
      finish_wait(i, wait_status::yielded, {});
    } else {
      ++i;
    }
  }
  end_follows_of(who);
  return ended;
}

void process_state::end_follows_of(const caller& who) {
  for (std::size_t i = 0; i < waiters_.follows.size();) {
    auto& entry = waiters_.follows[i];
    if (!same_turn(entry.who, who)) {
      ++i;
      continue;
    }
    disarm(entry.timer);
    auto promise = std::move(entry.promise);
    const auto what = entry.what;
    waiters_.follows.erase(waiters_.follows.begin() + static_cast<std::ptrdiff_t>(i));
    promise.deliver(output_.read(what.cursor, what.view, what.max_bytes, finished()));
  }
}

caf::result<process_summary> process_state::on_detach() {
  if (finished() || exit_) return gone();
  if (!request_.foreground) {
    return make_error(errc::bad_state, request_.id + " is a background process already");
  }
  if (cause_) {
    return make_error(errc::bad_state,
                      request_.id + " is being ended (" + to_string(cause_->reason) + ")");
  }
  leave_foreground();
  return summary(services_->opts->list_preview_chars);
}

void process_state::leave_foreground() {
  // Nothing is handed over: the process only stops being waited for, and its deadline is off.
  request_.foreground = false;
  request_.notify = true;
  promise_completion();
  disarm(deadline_timer_);
  compat::send(self_, services_->registry, detach_atom_v, request_.id);
  if (outlives_node()) services_->backend->set_owner_death(child_, backends::owner_death::keep);
  if (pid_ != 0) keep_record({});
  answer_run(run_status::yielded);
}

}  // namespace troupe

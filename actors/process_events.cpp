// What a process tells without being asked: matches, heartbeats, its end. Processes that asked for
// none of it pay one test of a pointer here and there.
#include <algorithm>
#include <utility>

#include "troupe/actors/process.hpp"
#include "troupe/text/redact.hpp"
#include "troupe/text/truncate.hpp"

namespace troupe {

event_origin process_state::origin() const {
  // Events reach a disk: their texts are redacted whatever the options say.
  return {owner_, request_.id, text::redact(request_.command), started_at_};
}

void process_state::begin_reports(std::shared_ptr<const watch_patterns> patterns) {
  if (request_.heartbeat_seconds > 0) request_.notify = true;
  if (patterns) {
    reports_ = std::make_unique<process_reports>();
    reports_->matcher = std::make_unique<watch_matcher>(std::move(patterns));
    reports_->watcher = self_->spawn<watcher_actor::stateful_impl<watcher_state>>(
        services_->opts, services_->events, origin(), watched_);
  }
  if (request_.notify && !request_.foreground) promise_completion();
}

void process_state::begin_heartbeat() {
  if (request_.heartbeat_seconds == 0) return;
  if (!reports_) reports_ = std::make_unique<process_reports>();
  reports_->heartbeat = self_->spawn<heartbeat_actor::stateful_impl<heartbeat_state>>(
      services_->loop, services_->events, caf::actor_cast<process_actor>(self_), origin(),
      heartbeat_schedule::period_of(request_.heartbeat_seconds, services_->opts->heartbeat_min),
      takeover_ && takeover_->what.child
          ? takeover_->what.child->notes[static_cast<std::size_t>(ring_note::heartbeat)]
          : 0);
}

void process_state::promise_completion() {
  promised_ = true;
  compat::send(self_, services_->events, promise_atom_v, request_.id, owner_.session);
}

// -- matches --------------------------------------------------------------------------------------

void process_state::send_matches() {
  // One batch at a time: however much matches, it is one message and a bounded one.
  if (reports_->batch_under_way || !reports_->matcher) return;
  if (!reports_->matcher->has_batch()) return note_watched();
  reports_->batch_under_way = true;
  auto batch = reports_->matcher->take();
  batch.lines = text::redact(redacted(std::move(batch.lines), output_.how()));
  batch.pattern = text::redact(batch.pattern);
  compat::request(self_, reports_->watcher, watch_atom_v, std::move(batch))
      .then([this](const watch_summary& watched) { on_watched(watched); },
            [this](const caf::error&) { reports_->matcher.reset(); });
}

void process_state::on_watched(const watch_summary& watched) {
  reports_->batch_under_way = false;
  watched_ = watched;
  output_.note(ring_note::watch_hits, watched.delivered);
  if (!watched.disabled) {
    send_matches();
    return note_watched();
  }
  output_.note(ring_note::watch_over, 1);
  reports_->matcher.reset();
  if (request_.notify || ending_reported_) return;
  request_.notify = true;
  promise_completion();
  if (recorded_) keep_record({});
}

void process_state::watch(std::string_view piece, std::uint64_t position) {
  reports_->matcher->feed(piece);
  if (const auto end = piece.rfind('\n'); end != piece.npos) {
    reports_->lines_to = position + end + 1;
  }
}

/// A node that comes after this one looks at the lines from here on; what is on its way to the
/// watcher is not told yet.
void process_state::note_watched() const {
  if (reports_->batch_under_way || !reports_->matcher || reports_->matcher->has_batch()) return;
  output_.note(ring_note::watched, reports_->lines_to);
}

// -- the end --------------------------------------------------------------------------------------

void process_state::finish_reports() {
  if (!reports_) return tell_end();
  if (!reports_->watcher) return close_heartbeat();
  if (reports_->matcher) {
    reports_->matcher->finish();
    reports_->batch_under_way = false;  // the last batch may follow the one under way
    send_matches();
    reports_->matcher.reset();
  }
  compat::request(self_, reports_->watcher, close_atom_v)
      .then(
          [this](const watch_summary& watched) {
            watched_ = watched;
            if (watched.disabled) request_.notify = true;
            compat::anon_send_exit(std::exchange(reports_->watcher, nullptr),
                                   caf::exit_reason::user_shutdown);
            close_heartbeat();
          },
          [this](const caf::error&) { close_heartbeat(); });
}

void process_state::close_heartbeat() {
  if (!reports_->heartbeat) return tell_end();
  compat::request(self_, reports_->heartbeat, close_atom_v)
      .then(
          [this] {
            compat::anon_send_exit(std::exchange(reports_->heartbeat, nullptr),
                                   caf::exit_reason::user_shutdown);
            tell_end();
          },
          [this](const caf::error&) { tell_end(); });
}

void process_state::tell_end() {
  if (!request_.notify || request_.foreground || exit_->failure) {
    if (promised_) {
      compat::send(self_, services_->events, promise_atom_v, request_.id, std::string{});
    }
    drop_record();
    return settle_everything();
  }
  publish_completion(owner_waits());
}

/// `consumed`: its owner waits for the end and is answered right after this.
void process_state::publish_completion(bool consumed) {
  const auto from = origin();
  auto x = from.make(event_kind::completion);
  x.exit = *exit_;
  x.duration = ended_at_ - started_at_;
  auto tail = output_.tail(request_.completion_chars, true);
  x.output = output_.how() == redaction::off ? text::redact(tail.text) : std::move(tail.text);
  x.output_cut = tail.cut_chars;
  x.held_back = watched_.held_back;
  const auto done = [this, consumed] {
    // Whoever waited may have left meanwhile: then it has to be told after all.
    if (consumed && !owner_waits()) return publish_completion(false);
    completion_open_ = !consumed;
    drop_record();
    settle_everything();
  };
  compat::request(self_, services_->events, publish_atom_v, std::move(x), consumed)
      .then(done, [done](const caf::error&) { done(); });
}

bool process_state::owner_waits() const {
  const auto mine = [this](const auto& entry) { return entry.who.session == owner_.session; };
  if (std::any_of(waiters_.waits.begin(), waiters_.waits.end(), mine)) return true;
  return !kill_under_way_ && std::any_of(waiters_.kills.begin(), waiters_.kills.end(), mine);
}

void process_state::consumed_by(const caller& who) {
  if (!completion_open_ || who.session != owner_.session) return;
  completion_open_ = false;
  compat::send(self_, services_->events, consume_atom_v, who.session, request_.id);
}

void process_state::hand_over_reports() {
  promise_completion();
  if (!reports_) return;
  if (reports_->watcher) compat::send(self_, reports_->watcher, handoff_atom_v, owner_);
  if (reports_->heartbeat) compat::send(self_, reports_->heartbeat, handoff_atom_v, owner_);
}

// -- heartbeats, numbers --------------------------------------------------------------------------

heartbeat_text process_state::on_heartbeat(std::uint64_t cursor) const {
  heartbeat_text result;
  result.finished = exit_.has_value();
  if (result.finished) return result;
  auto chunk = output_.read(cursor, output_view::text, services_->opts->retained_bytes, false);
  auto tail = text::tail(chunk.data, defaults::heartbeat_chars);
  result.text = text::redact(tail.text);
  result.left_out = tail.cut_chars + chunk.gap;
  result.cursor = chunk.cursor;
  output_.note(ring_note::heartbeat, chunk.cursor);
  return result;
}

void process_state::count_end() const {
  const auto& numbers = *services_->numbers;
  numbers.backend_call(request_.environment, !exit_->failure);
  if (pid_ == 0) return;  // ended before it began
  numbers.finished(output_.end(), output_.begin());
  if (request_.foreground) numbers.outcome(request_.environment, request_.command, *exit_);
}

}  // namespace troupe

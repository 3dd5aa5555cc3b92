// What of a process outlives its node: its record while it runs, its receipt afterwards, and how a
// later node goes on with it (design 6 and 7).
#include <algorithm>
#include <utility>

#include "troupe/actors/process.hpp"
#include "troupe/actors/record_codec.hpp"

namespace troupe {

namespace {

/// Who ended it, where only the reason is known any more.
std::string source_of(finish_reason reason) {
  switch (reason) {
    case finish_reason::timed_out:
      return "timeout";
    case finish_reason::interrupted:
      return "interrupt";
    default:
      return "kill before the restart";
  }
}

std::uint64_t noted(const backends::found_child& child, ring_note what) {
  return child.notes[static_cast<std::size_t>(what)];
}

/// Where the part of the output ends that is in the spool from its beginning on.
std::uint64_t spool_end_of(const backends::found_child& child) {
  return child.spool_from + child.spool_bytes - child.tail_bytes;
}

}  // namespace

process_state::process_state(process_actor::pointer self,
                             std::shared_ptr<const process_services> services, past_process past,
                             std::shared_ptr<const watch_patterns> patterns)
    : self_(self),
      services_(std::move(services)),
      child_(past.child ? past.child->id : services_->next_child()),
      request_(request_of(past.record)),
      owner_(caller_of(past.record.owner)),
      cwd_(past.record.cwd),
      handoff_note_(past.record.handoff_note),
      launched_(true),
      status_(process_status::running),
      pid_(past.record.pid),
      started_at_(timestamp_of(past.record.started_at)),
      output_(services_->opts->retained_bytes, !request_.pty,
              redaction_for(*services_->opts, past.record)),
      start_ticks_(past.record.start_ticks),
      recorded_(true),
      has_child_(past.detached || (past.child && !past.child->left)),
      detached_(past.detached) {
  takeover_ = std::make_unique<takeover>();
  takeover_->what = std::move(past);
  if (const auto& child = takeover_->what.child) {
    watched_.delivered = noted(*child, ring_note::watch_hits);
    watched_.disabled = noted(*child, ring_note::watch_over) != 0;
    if (watched_.disabled) patterns.reset();
    if (child->owner_ended) cause_ = cause{finish_reason::killed, "owner_death"};
    if (const auto cause_noted = noted(*child, ring_note::cause); cause_noted > 0) {
      finish_reason reason{};
      if (from_integer(static_cast<std::uint8_t>(cause_noted - 1), reason)) {
        cause_ = cause{reason, source_of(reason)};
      }
    }
  }
  if (detached_) patterns.reset();
  begin_reports(std::move(patterns));
}

process_state::process_state(process_actor::pointer self,
                             std::shared_ptr<const process_services> services, past_result past)
    : self_(self),
      services_(std::move(services)),
      child_(services_->next_child()),
      request_(request_of(past.receipt->process)),
      owner_(caller_of(past.receipt->process.owner)),
      cwd_(past.receipt->process.cwd),
      handoff_note_(past.receipt->process.handoff_note),
      launched_(true),
      status_(process_status::finished),
      pid_(past.receipt->process.pid),
      started_at_(timestamp_of(past.receipt->process.started_at)),
      ended_at_(timestamp_of(past.receipt->ended_at)),
      output_(services_->opts->retained_bytes, !request_.pty,
              redaction_for(*services_->opts, past.receipt->process)),
      ending_reported_(true),
      exit_(exit_of(past.receipt->exit)),
      recorded_(past.untold),
      has_child_(false),
      retained_(true),
      untold_(past.untold) {
  output_.restore(past.receipt->output, past.receipt->output_from);
  output_.lose_until(past.receipt->total_bytes);
  if (const auto& path = past.receipt->process.full_output_path; !path.empty()) {
    archive_ = std::make_unique<output_archive>();
    archive_->path = path;
    archive_->sent = archive_->written = past.receipt->full_output_bytes;
    archive_->over = true;
  }
  watched_.delivered = past.receipt->watch_hits;
  watched_.held_back = past.receipt->held_back;
}

void process_state::on_adopt() {
  if (std::exchange(untold_, false)) {
    promise_completion();
    status_ = process_status::draining;
    publish_completion(false);
    return;
  }
  if (!takeover_) return;
  const auto& past = takeover_->what;
  if (!past.child && !past.detached) return end_lost();
  if (request_.timeout) {
    const auto left = started_at_ + *request_.timeout - caf::make_timestamp();
    arm(process_deadline, std::max<caf::timespan>(left, caf::timespan::zero()), deadline_timer_);
  }
  if (!past.detached) return begin_catch_up();
  services_->backend->adopt_running(
      child_, past.record.pid, past.record.start_ticks, request_.id,
      make_actor_sink(loop_listener_actor{caf::actor_cast<process_actor>(self_)}));
}

// -- taking over ----------------------------------------------------------------------------------

/// How far the file with the whole output has come.
void process_state::begin_catch_up() {
  const auto& path = takeover_->what.record.full_output_path;
  if (path.empty()) return begin_spool();
  archive_ = std::make_unique<output_archive>();
  archive_->path = path;
  compat::request(self_, services_->store, read_atom_v, path, std::uint64_t{0}, std::uint64_t{0})
      .then(
          [this](const file_part& file) {
            const auto limit = services_->opts->full_output_bytes;
            archive_->written = archive_->sent = std::min(file.file_bytes, limit);
            archive_->over = file.file_bytes > limit;
            begin_spool();
          },
          [this](const caf::error& error) {
            warn("the whole output of " + request_.id + ": " + error_text(error));
            archive_.reset();
            begin_spool();
          });
}

/// What was printed while nobody looked, and is in a file by now, is looked at before the rest.
void process_state::begin_spool() {
  const auto& child = takeover_->what.child;
  if (child->spool_path.empty()) return end_catch_up();
  if (!archive_ && child->spool_from == 0) archive_ = std::make_unique<output_archive>();
  const auto spool_end = spool_end_of(*child);
  auto from = spool_end;
  if (reports_ && reports_->matcher) from = noted(*child, ring_note::watched);
  if (archive_ && !archive_->over) from = std::min(from, archive_->written);
  if (child->left) {
    const auto kept = services_->opts->retained_bytes;
    from = std::min(from, spool_end > kept ? spool_end - kept : 0);
  }
  takeover_->at = std::clamp(from, child->spool_from, spool_end);
  next_spool_part();
}

void process_state::next_spool_part() {
  const auto& child = *takeover_->what.child;
  auto end = spool_end_of(child);
  auto skipped = child.spool_from;
  if (takeover_->at >= end && child.left && child.tail_bytes > 0) {
    // Something is missing; the end of the output is there all the same.
    const auto tail = child.total_bytes - child.tail_bytes;
    if (takeover_->at < tail) {
      takeover_->at = tail;
      takeover_->kept.clear();
      if (archive_) archive_->over = true;
    }
    skipped = child.spool_from + tail - end;
    end = child.total_bytes;
  }
  if (takeover_->at >= end) return end_catch_up();
  compat::request(self_, services_->store, read_atom_v, child.spool_path, takeover_->at - skipped,
                  std::min<std::uint64_t>(defaults::read_part_bytes, end - takeover_->at))
      .then(
          [this](const file_part& part) {
            if (part.data.empty()) return end_catch_up();
            take_spooled(part.data);
          },
          [this](const caf::error& error) {
            warn("the output of " + request_.id +
                 " from before the restart cannot be read: " + error_text(error));
            end_catch_up();
          });
}

void process_state::take_spooled(const std::string& bytes) {
  const auto& child = *takeover_->what.child;
  const auto from = takeover_->at;
  takeover_->at += bytes.size();
  if (reports_ && reports_->matcher) {
    const auto watched = noted(child, ring_note::watched);
    if (takeover_->at > watched) {
      const auto skip = watched > from ? static_cast<std::size_t>(watched - from) : 0;
      watch(std::string_view{bytes}.substr(skip), from + skip);
    }
    send_matches();
  }
  if (child.left) {
    auto& kept = takeover_->kept;
    kept += bytes;
    if (const auto most = services_->opts->retained_bytes; kept.size() > 2 * most) {
      kept.erase(0, kept.size() - most);
    }
  }
  if (!archive_ || archive_->over || takeover_->at <= archive_->sent) return next_spool_part();
  const auto skip = archive_->sent > from ? static_cast<std::size_t>(archive_->sent - from) : 0;
  archive_->sent = from + skip;
  send_archive(bytes.substr(skip), false, [this] { next_spool_part(); });
}

void process_state::end_catch_up() {
  const auto& child = *takeover_->what.child;
  if (!child.left) {
    // Not before: until it is adopted, a node that comes after us finds the spool again.
    services_->backend->adopt(
        child_, make_actor_sink(loop_listener_actor{caf::actor_cast<process_actor>(self_)}));
    return;
  }
  const auto past = std::exchange(takeover_, nullptr);
  left_spool_ = child.spool_path;  // stays until the receipt is written
  auto& kept = past->kept;
  if (const auto most = services_->opts->retained_bytes; kept.size() > most) {
    kept.erase(0, kept.size() - most);
  }
  // The spool ends early when it had reached its cap; the counts are exact all the same.
  const auto from = past->at - std::min<std::uint64_t>(past->at, kept.size());
  output_.restore(std::move(kept), from);
  output_.lose_until(child.total_bytes);
  on(*child.left);
  on(loop_event::drained{child.holders});
  for (const auto& again : past->later) again();
}

/// The ring is ours, and everything before it was looked at.
void process_state::caught_up() {
  const auto past = std::exchange(takeover_, nullptr);
  const auto& child = past->what.child;
  if (child && !child->spool_path.empty()) {
    compat::send(self_, services_->store, discard_atom_v, child->spool_path);
  }
  if (archive_ && archive_->sent < output_.begin()) archive_->over = true;  // something is missing
  output_.go_on_at(reports_ && reports_->matcher && child ? noted(*child, ring_note::watched) : 0);
  take_output();
  for (const auto& again : past->later) again();
}

void process_state::end_lost() {
  const auto past = std::exchange(takeover_, nullptr);
  backends::exit_status unknown;
  unknown.known = false;
  on(unknown);
  if (!request_.notify) {
    auto x = origin().make(event_kind::environment);
    x.note = request_.id + " was running when the node died and is gone; nobody saw how it ended";
    compat::send(self_, services_->events, publish_atom_v, std::move(x), false);
  }
  on(loop_event::drained{});
  for (const auto& again : past->later) again();
}

// -- record and receipt ---------------------------------------------------------------------------

bool process_state::outlives_node() const {
  return services_->has_keeper && !request_.foreground && request_.owner_death == "keep";
}

persistence::process_record process_state::record() const {
  auto x = record_of(request_, owner_);
  x.cwd = cwd_;
  x.handoff_note = handoff_note_;
  if (archive_) x.full_output_path = archive_->path;
  x.node = services_->slot;
  x.boot_id = services_->boot_id;
  x.pid = pid_;
  x.start_ticks = start_ticks_;
  x.started_at = nanoseconds_of(started_at_);
  x.kept_by_keeper = services_->has_keeper;
  return x;
}

void process_state::keep_record(std::function<void()> then) {
  if (!services_->store || request_.foreground || exit_) {
    if (then) then();
    return;
  }
  recorded_ = true;
  stored_record one{std::make_shared<const persistence::process_record>(record())};
  if (!then) return compat::send(self_, services_->store, record_atom_v, std::move(one));
  compat::request(self_, services_->store, record_atom_v, std::move(one))
      .then([then] { then(); }, [then](const caf::error&) { then(); });
}

void process_state::keep_receipt(std::function<void()> then) {
  if (!recorded_ || exit_->failure) return then();
  auto x = std::make_shared<persistence::receipt>();
  x->process = record();
  x->ended_at = nanoseconds_of(ended_at_);
  x->exit = exit_fields_of(*exit_);
  x->total_bytes = output_.end();
  x->output_from = output_.begin();
  x->output = output_.bytes(output_.begin(), output_.end());
  if (archive_) x->full_output_bytes = archive_->written;
  x->watch_hits = watched_.delivered;
  x->held_back = watched_.held_back;
  // The record stays until the completion is journalled: it says that there is one to tell.
  const bool keep = request_.notify || reports_ != nullptr;
  if (!keep) recorded_ = false;  // the store removes it
  stored_receipt one{std::move(x), keep};
  compat::request(self_, services_->store, receipt_atom_v, std::move(one))
      .then([then] { then(); }, [then](const caf::error&) { then(); });
}

/// The receipt says everything: what else there was of one that ended while nobody was there may go.
void process_state::drop_left() {
  if (has_child_) return;
  services_->backend->release(child_);
  if (!left_spool_.empty()) {
    compat::send(self_, services_->store, discard_atom_v, std::exchange(left_spool_, {}));
  }
}

void process_state::drop_record() {
  if (std::exchange(recorded_, false)) {
    compat::send(self_, services_->store, drop_atom_v, request_.id);
  }
}

void process_state::warn(const std::string& text) const {
  if (services_->opts->warn) services_->opts->warn(text);
}

}  // namespace troupe

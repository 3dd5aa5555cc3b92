// What a process shows of itself. Nothing here changes its life; positions shown to a caller move
// the start of the next `until`.
#include <utility>

#include "troupe/actors/process.hpp"

namespace troupe {

process_summary process_state::summary(std::size_t preview_chars) const {
  process_summary result;
  result.id = request_.id;
  result.session = owner_.session;
  result.command = request_.command;
  result.cwd = cwd_;
  result.pid = pid_;
  result.environment = request_.environment;
  result.started_at = started_at_;
  result.uptime = (ending_reported_ ? ended_at_ : caf::make_timestamp()) - started_at_;
  result.status = status_;
  if (preview_chars > 0) result.output_preview = output_.preview(preview_chars, finished());
  if (finished()) {
    result.exit = exit_;
    result.exited_at = ended_at_;
  }
  result.notify = request_.notify;
  result.watch_patterns = request_.watch_patterns;
  result.watch_hits = watched_.delivered;
  result.heartbeat_seconds = request_.heartbeat_seconds;
  result.persist_on_release = request_.persist_on_release;
  result.foreground = request_.foreground;
  result.pty = request_.pty;
  result.detached = detached_;
  result.retained = retained_;
  result.handoff_note = handoff_note_;
  return result;
}

caf::result<poll_result> process_state::on_poll(const caller& who, const poll_options& what) {
  if (takeover_) return ask_again<poll_result>(poll_atom_v, who, what);
  if (what.view == output_view::screen && !request_.pty) {
    return make_error(errc::bad_state,
                      "view: " + request_.id + " has no screen: it was started without a PTY");
  }
  shown_to_ = output_.seen();
  // Only what the kernel has to be asked for costs a turn of the loop.
  if (status_ == process_status::running && (what.tree || request_.pty)) {
    if (waiters_.count() >= defaults::waiters_per_process) {
      return make_error(errc::limit_reached, "too many requests wait on this process");
    }
    const auto token = next_token_++;
    auto promise = self_->make_response_promise<poll_result>();
    waiters_.describes.emplace(token, describe_wait{promise, what, who});
    services_->backend->describe(child_, token);
    return promise;
  }
  if (what.cursor && what.view != output_view::screen && archived(*what.cursor)) {
    return poll_archive(who, what);
  }
  if (finished()) consumed_by(who);
  auto result = make_poll_result(what);
  if (what.tree) result.tree.emplace();
  return result;
}

poll_result process_state::make_poll_result(const poll_options& what) const {
  poll_result result;
  result.process = summary(what.cursor ? 0 : services_->opts->preview_chars);
  result.total_bytes = output_.end();
  result.dropped_bytes = output_.begin();
  result.cursor = output_.end();
  if (what.view == output_view::screen) {
    result.output = output_.screen(request_.rows, request_.cols);
  } else if (what.cursor) {
    auto chunk = output_.read(*what.cursor, what.view, services_->opts->retained_bytes, finished());
    result.output = std::move(chunk.data);
    result.cursor = chunk.cursor;
    result.gap = chunk.gap;
  } else if (what.view == output_view::raw) {
    const auto from = output_.end() > services_->opts->preview_chars
                          ? output_.end() - services_->opts->preview_chars
                          : 0;
    result.output = output_.bytes(from, output_.end());
  }
  return result;
}

caf::result<log_result> process_state::on_log(const caller& who, const log_options& what) {
  if (takeover_) return ask_again<log_result>(log_atom_v, who, what);
  if (what.view == output_view::screen && !request_.pty) {
    return make_error(errc::bad_state,
                      "view: " + request_.id + " has no screen: it was started without a PTY");
  }
  // The last lines are in memory; others may be older than that.
  if ((what.offset || !what.search.empty()) && what.view != output_view::screen && archived(0)) {
    return log_archive(who, what);
  }
  auto result = what.view == output_view::screen
                    ? output_.screen_log(request_.rows, request_.cols)
                    : output_.log(what, services_->opts->log_bytes, finished());
  if (!result) return result.error();
  if (result->reached_end) {
    shown_to_ = output_.seen();
    if (finished()) consumed_by(who);
  }
  result->process = summary(0);
  return std::move(*result);
}

}  // namespace troupe

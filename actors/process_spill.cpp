// The output of a foreground command: head and tail for its result and, when that has to leave
// something out, all of it to the spill actor.
#include <algorithm>
#include <utility>

#include "troupe/actors/process.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe {

void process_state::feed_run(run_wait& run, std::string_view bytes) {
  // Each byte is looked at several times: in blocks that stay in the cache.
  constexpr std::size_t block = 64 * 1024;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(block, bytes.size()))) {
    auto part = bytes.substr(0, block);
    if (!request_.pty && !run.noise.passing()) {
      run.clean.clear();
      run.noise.feed(part, run.clean);
      part = run.clean;
    }
    feed_run_text(run, run.view.next(part));
  }
}

void process_state::feed_run_text(run_wait& run, std::string_view text) {
  if (!run.spill && run.output.total_chars() + text.size() > services_->opts->foreground_chars &&
      run.output.total_chars() + text::count_chars(text) > services_->opts->foreground_chars) {
    begin_spill(run);
  }
  if (run.spill && !run.spill->over) {
    run.spill->pending += text;
    push_spill(run.spill);
  }
  run.output.feed(text);
}

/// Nothing has been left out yet, so what is there is everything.
void process_state::begin_spill(run_wait& run) {
  run.spill = std::make_shared<spill_feed>();
  run.spill->pending = run.output.render();
}

spill_job process_state::next_spill(spill_feed& feed) const {
  spill_job job;
  job.id = request_.id;
  job.text = std::exchange(feed.pending, {});
  job.assignments = output_.how() == redaction::assignments;
  return job;
}

void process_state::push_spill(const std::shared_ptr<spill_feed>& feed) {
  if (feed->over || feed->unanswered >= defaults::spill_chunks ||
      feed->pending.size() < defaults::spill_chunk_bytes) {
    return;
  }
  ++feed->unanswered;
  compat::request_within(self_, defaults::spill_limit, services_->spill, next_spill(*feed))
      .then(
          [this, feed](const std::string&, std::uint64_t, bool full) {
            --feed->unanswered;
            feed->over = feed->over || full;
            go_on(feed);
          },
          [this, feed](const caf::error& error) {
            --feed->unanswered;
            lose_spill(*feed, error);
            go_on(feed);
          });
}

void process_state::go_on(const std::shared_ptr<spill_feed>& feed) {
  if (feed->over) feed->pending = std::string{};
  push_spill(feed);
  make_room();
}

void process_state::make_room() {
  const auto* run = waiters_.run.get();
  if (run != nullptr && run->spill && run->spill->behind()) return;
  feed_archive();
  auto hold = held_from();
  if (archive_ && !archive_->over) hold = std::min(hold, archive_->written);
  if (output_.trim(hold)) services_->backend->resume(child_);
}

void process_state::lose_spill(spill_feed& feed, const caf::error& error) {
  feed.over = true;
  if (std::exchange(feed.failed, true) || !services_->opts->warn) return;
  services_->opts->warn("the whole output of " + request_.id +
                        " could not be kept: " + error_text(error));
}

/// Answers with the file, once it is complete.
void process_state::answer_with_file(std::unique_ptr<run_wait> run, run_result result) {
  const auto feed = run->spill;
  if (!feed || feed->failed) {
    run->promise.deliver(std::move(result));
    return;
  }
  auto job = next_spill(*feed);
  job.last = true;
  ++open_answers_;
  auto answer = [this, promise = run->promise](run_result& what) mutable {
    promise.deliver(std::move(what));
    --open_answers_;
    leave_if_done();
  };
  auto shared = std::make_shared<run_result>(std::move(result));
  compat::request_within(self_, defaults::spill_limit, services_->spill, std::move(job))
      .then(
          [feed, shared, answer](std::string& path, std::uint64_t, bool) mutable {
            if (!feed->failed) shared->full_output_path = std::move(path);
            answer(*shared);
          },
          [this, feed, shared, answer](const caf::error& error) mutable {
            lose_spill(*feed, error);
            answer(*shared);
          });
  make_room();
}

}  // namespace troupe

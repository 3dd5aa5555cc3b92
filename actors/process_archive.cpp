// The whole output of a background process on disk, when it outgrows what is kept in memory: written
// while it comes, with secrets masked byte for byte so that positions stay true, and read again by
// cursors that are older than the memory.
#include <algorithm>
#include <utility>

#include "troupe/actors/process.hpp"

namespace troupe {

namespace {

spill_job archive_job(const spawn_request& request, const output_archive& archive, redaction how) {
  spill_job job;
  job.id = request.id;
  job.raw = true;
  job.path = archive.path;
  job.position = archive.over ? 0 : archive.sent;
  job.assignments = how == redaction::assignments;
  return job;
}

}  // namespace

void process_state::feed_archive() {
  if (!archive_) {
    if (request_.foreground || !services_->store || retained_ || output_.begin() > 0 ||
        output_.seen() <= services_->opts->retained_bytes) {
      return;
    }
    archive_ = std::make_unique<output_archive>();
  }
  auto& archive = *archive_;
  while (!archive.over && !archive.finishing && archive.unanswered < defaults::spill_chunks &&
         output_.seen() - archive.sent >= defaults::archive_chunk_bytes) {
    send_archive(output_.bytes(archive.sent, archive.sent + defaults::archive_chunk_bytes), false,
                 [this] { go_on_archiving(); });
  }
}

/// The next bytes, from `sent` on; `then` when they are written or cannot be.
void process_state::send_archive(std::string bytes, bool last, std::function<void()> then) {
  auto job = archive_job(request_, *archive_, output_.how());
  archive_->sent += bytes.size();
  job.text = std::move(bytes);
  job.last = last;
  job.flush = takeover_ != nullptr;
  ++archive_->unanswered;
  archive_->open = true;
  compat::request_within(self_, defaults::spill_limit, services_->spill, std::move(job))
      .then(
          [this, then](std::string& path, std::uint64_t written, bool full) {
            const auto done = [this, then, written, full] {
              auto& mine = *archive_;
              --mine.unanswered;
              mine.written = std::max(mine.written, written);
              mine.over = mine.over || full;
              then();
            };
            if (!archive_->path.empty()) return done();
            // The next node must know of the file before anything is given up that is in it.
            archive_->path = std::move(path);
            keep_record(done);
          },
          [this, then](const caf::error& error) {
            auto& mine = *archive_;
            --mine.unanswered;
            mine.path.clear();  // there is no file any more
            mine.written = 0;
            if (!std::exchange(mine.over, true)) {
              warn("the whole output of " + request_.id + " is not kept: " + error_text(error));
            }
            then();
          });
}

void process_state::go_on_archiving() {
  if (archive_->finishing) return finish_archiving();
  feed_archive();
  make_room();
}

/// The output is over: writes what is missing.
void process_state::finish_archive(std::function<void()> then) {
  if (!archive_) return then();
  archive_->finishing = true;
  archive_->then = std::move(then);
  finish_archiving();
}

void process_state::finish_archiving() {
  auto& archive = *archive_;
  if (archive.unanswered > 0) return;
  if (archive.sent < output_.begin()) archive.over = true;  // something is missing
  const auto again = [this] { finish_archiving(); };
  // The writer lets go of the file with the last part, also when nothing is left to write.
  if (!archive.over || archive.open) {
    if (!std::exchange(archive.closing, true)) {
      const bool nothing = archive.over || archive.sent >= output_.end();
      return send_archive(nothing ? std::string{} : output_.bytes(archive.sent, output_.end()),
                          true, again);
    }
  }
  const auto kept = services_->opts->retained_bytes;
  if (output_.end() > kept) output_.forget_before(output_.end() - kept);
  if (auto then = std::exchange(archive.then, nullptr)) then();
}

bool process_state::archived(std::uint64_t cursor) const {
  return archive_ && !archive_->path.empty() &&
         cursor < std::min(output_.begin(), archive_->written);
}

/// What the file has from a cursor on, up to where the memory goes on; `then` gets what the memory has
/// if the file cannot be read.
void process_state::read_archive(std::uint64_t cursor, output_view view, std::size_t max_bytes,
                                 std::function<void(output_chunk)> then) {
  const auto end = std::min(output_.begin(), archive_->written);
  const auto most = std::min<std::uint64_t>({max_bytes, end - cursor, defaults::read_part_bytes});
  compat::request(self_, services_->store, read_atom_v, archive_->path, cursor, most)
      .then(
          [this, cursor, view, max_bytes, then](file_part& part) {
            then(part.data.empty() ? output_.read(cursor, view, max_bytes, finished())
                                   : output_.chunk_of(std::move(part.data), cursor, view));
          },
          [this, cursor, view, max_bytes, then](const caf::error&) {
            then(output_.read(cursor, view, max_bytes, finished()));
          });
}

caf::result<output_chunk> process_state::follow_archive(const follow_options& what) {
  auto promise = self_->make_response_promise<output_chunk>();
  read_archive(what.cursor, what.view, what.max_bytes,
               [promise](output_chunk chunk) mutable { promise.deliver(std::move(chunk)); });
  return promise;
}

caf::result<poll_result> process_state::poll_archive(const caller& who, const poll_options& what) {
  auto promise = self_->make_response_promise<poll_result>();
  if (finished()) consumed_by(who);
  read_archive(*what.cursor, what.view, services_->opts->retained_bytes,
               [this, promise, what](output_chunk chunk) mutable {
                 auto result = make_poll_result({{}, what.view, false});
                 result.process.output_preview.clear();
                 result.output = std::move(chunk.data);
                 result.cursor = chunk.cursor;
                 result.gap = chunk.gap;
                 promise.deliver(std::move(result));
               });
  return promise;
}

caf::result<log_result> process_state::log_archive(const caller& who, const log_options& what) {
  archive_query query;
  query.path = archive_->path;
  query.archived = std::min(archive_->written, output_.end());
  query.rest = output_.bytes(std::max(query.archived, output_.begin()), output_.end());
  query.options = what;
  query.max_bytes = services_->opts->log_bytes;
  query.pipe_mode = !request_.pty;
  query.how = output_.how();
  query.final = finished();
  auto promise = self_->make_response_promise<log_result>();
  compat::request(self_, services_->spill, std::move(query))
      .then(
          [this, promise, who](log_result& result) mutable {
            if (result.reached_end && finished()) consumed_by(who);
            result.process = summary(0);
            promise.deliver(std::move(result));
          },
          [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
  return promise;
}

}  // namespace troupe

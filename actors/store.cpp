#include "troupe/actors/store.hpp"

#include <algorithm>
#include <utility>

#include <caf/event_based_actor.hpp>

namespace troupe {

namespace {

/// More nodes than that on one state directory is a mistake.
constexpr int most_nodes = 256;

void sync_all(persistence::file_system& files, const sync_job& job) {
  // A disk that fails here has failed for good; what the kernel has is still readable.
  for (const auto& file : job.files) file->sync();
  if (!job.dir.empty()) files.sync_directory(job.dir);
}

caf::behavior syncer(caf::event_based_actor*, persistence::file_system* files) {
  return {[files](const sync_job& job) { sync_all(*files, job); }};
}

sync_job take_job(persistence::journal& journal) {
  sync_job job;
  job.files = journal.take_unsynced();
  if (journal.take_new_names()) job.dir = journal.dir();
  return job;
}

}  // namespace

open_journal open_event_journal(persistence::file_system& files, const options& opts) {
  open_journal result;
  const auto parent = opts.state_dir + "/events";
  for (int n = 0; n < most_nodes; ++n) {
    const auto dir = parent + "/node-" + std::to_string(n);
    if (auto ec = files.make_directories(dir)) {
      result.error = persistence::describe("create", dir, ec);
      return result;
    }
    std::error_code ec;
    result.lock = files.try_lock(dir + "/lock", ec);
    if (ec) {
      result.error = persistence::describe("lock", dir + "/lock", ec);
      return result;
    }
    if (!result.lock) continue;
    result.slot = static_cast<std::uint32_t>(n);
    result.files = std::make_unique<persistence::journal>(files, dir, opts.journal_segment_bytes);
    ec = result.files->open(
        [&](persistence::journal_record record) { result.records.push_back(std::move(record)); });
    if (ec) result.error = persistence::describe("read", dir, ec);
    return result;
  }
  result.error = "every journal below " + parent + " belongs to a live node";
  return result;
}

store_state::store_state(store_actor::pointer self, std::shared_ptr<const options> opts,
                         std::shared_ptr<backends::io_loop> loop,
                         std::shared_ptr<open_journal> journal, persistence::file_system* files)
    : self_(self),
      opts_(std::move(opts)),
      loop_(std::move(loop)),
      journal_(std::move(journal)),
      files_(files) {
  if (!opts_->sync_always) syncer_ = self_->spawn<caf::detached>(syncer, files_);
}

store_state::~store_state() {
  if (timer_armed_) loop_->cancel(timer_);
  if (syncer_) compat::anon_send_exit(syncer_, caf::exit_reason::user_shutdown);
}

store_actor::behavior_type store_state::make_behavior() {
  return {
      [this](append_atom, std::uint8_t kind, std::uint64_t number, std::string& payload,
             std::uint64_t keep_from) {
        return on_append({kind, number, std::move(payload)}, keep_from);
      },
      [this](sync_atom) { on_sync(); },
      [this](close_atom) { return on_close(); },
      [](record_atom, const stored_record&) {},
      [](drop_atom, const std::string&) {},
      [](receipt_atom, const stored_receipt&) {},
      [](find_atom, const std::string&, const std::string&) { return found_receipts{}; },
      [](read_atom, const std::string&, std::uint64_t, std::uint64_t) -> caf::result<file_part> {
        return make_error(errc::internal, "not yet");
      },
      [](discard_atom, const std::string&) {},
      [](listen_atom, const store_listener_actor&) {},
  };
}

caf::result<void> store_state::on_append(persistence::journal_record record,
                                         std::uint64_t keep_from) {
  auto& journal = *journal_->files;
  journal.drop_below(keep_from);
  // Records stay in order: behind one that could not be written, nothing is.
  std::error_code ec;
  if (backlog_.empty()) ec = journal.append(record);
  if (ec || !backlog_.empty()) {
    backlog_bytes_ += record.payload.size();
    backlog_.push_back(std::move(record));
    while (backlog_bytes_ > opts_->store_backlog_bytes && backlog_.size() > 1) {
      backlog_bytes_ -= backlog_.front().payload.size();
      backlog_.pop_front();
    }
  }
  if (opts_->sync_always) {
    sync_now();
  } else {
    arm();
  }
  if (!backlog_.empty()) {
    return make_error(errc::internal, ec ? persistence::describe("write to", journal.dir(), ec)
                                         : "the event journal cannot be written at the moment");
  }
  return caf::unit;
}

void store_state::arm() {
  if (std::exchange(timer_armed_, true)) return;
  timer_ = loop_->after(opts_->sync_delay, [me = caf::actor_cast<store_actor>(self_)] {
    compat::anon_send(me, sync_atom_v);
  });
}

bool store_state::write_backlog() {
  while (!backlog_.empty()) {
    if (journal_->files->append(backlog_.front())) return false;
    backlog_bytes_ -= backlog_.front().payload.size();
    backlog_.pop_front();
  }
  return true;
}

void store_state::on_sync() {
  timer_armed_ = false;
  if (!write_backlog()) arm();
  if (!journal_->files->has_unsynced()) return;
  if (syncer_) {
    compat::anon_send(syncer_, take_job(*journal_->files));
  } else {
    sync_now();
  }
}

void store_state::sync_now() {
  sync_all(*files_, take_job(*journal_->files));
}

caf::result<void> store_state::on_close() {
  write_backlog();
  sync_now();
  return caf::unit;
}

}  // namespace troupe

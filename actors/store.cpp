#include "troupe/actors/store.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include <caf/event_based_actor.hpp>

namespace troupe {

namespace {

/// More nodes than that on one state directory is a mistake.
constexpr int most_nodes = 256;

/// The first problem in words; empty: the disk has everything.
std::string sync_all(persistence::file_system& files, const sync_job& job) {
  std::string problem;
  const auto note = [&](const std::string& what, std::error_code ec) {
    if (ec && problem.empty()) problem = persistence::describe("sync", what, ec);
  };
  for (const auto& file : job.files) note(job.journal_dir, file->sync());
  for (const auto& path : job.processes.files) {
    const auto ec = files.sync_file(path);
    if (ec.value() != ENOENT) note(path, ec);  // removed meanwhile
  }
  if (job.new_names) note(job.journal_dir, files.sync_directory(job.journal_dir));
  for (const auto& dir : job.processes.directories) note(dir, files.sync_directory(dir));
  return problem;
}

caf::behavior syncer(caf::event_based_actor*, persistence::file_system* files) {
  return {[files](const sync_job& job) { return sync_all(*files, job); }};
}

persistence::receipt_limits limits_of(const options& opts) {
  return {opts.receipts_kept, opts.receipt_retention, opts.receipts_bytes};
}

/// `<state_dir>/<folder>/<name>`, and nothing that leads elsewhere.
bool is_in(const std::string& state_dir, const std::string& folder, std::string_view path) {
  const auto head = state_dir + "/" + folder + "/";
  if (!path.starts_with(head)) return false;
  const auto name = path.substr(head.size());
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view{"/\0", 2}) == name.npos;
}

/// What is known of processes, and what need not be known any more.
void load_processes(open_journal& result, persistence::file_system& files, const options& opts) {
  using namespace std::chrono;
  result.process_files =
      std::make_unique<persistence::process_files>(files, opts.state_dir, opts.sync_always);
  auto& kept = *result.process_files;
  if (auto ec = kept.open()) {
    result.error = persistence::describe("keep processes in", opts.state_dir, ec);
    return;
  }
  kept.reuse_in(result.files->dir());
  const auto now = system_clock::now();
  kept.prune(limits_of(opts), now);
  auto records = kept.load_records(result.slot);
  result.ended = std::move(records.ended);
  const auto after = now - opts.finished_retention;
  auto receipts = kept.load_receipts({duration_cast<nanoseconds>(after.time_since_epoch()).count(),
                                      opts.finished_per_session, defaults::receipts_loaded_bytes});
  result.processes = std::move(records.found);
  result.receipts = std::move(receipts.found);
  result.problems = std::move(records.problems);
  result.problems.insert(result.problems.end(), receipts.problems.begin(), receipts.problems.end());
}

/// Slots in which an earlier life left processes.
std::set<int> slots_with_work(persistence::file_system& files, const options& opts) {
  std::set<int> result;
  std::error_code ec;
  for (const auto& name : files.list(opts.state_dir, ec)) {
    constexpr std::string_view head = "keeper-";
    int slot = 0;
    if (!name.starts_with(head)) continue;
    const auto end = name.data() + name.size();
    const auto number = std::from_chars(name.data() + head.size(), end, slot);
    if (number.ec != std::errc{} || number.ptr != end) continue;
    const auto dir = opts.state_dir + "/" + name;
    const auto entries = files.list(dir, ec);
    const bool lives = std::find(entries.begin(), entries.end(), "keeper.sock") != entries.end();
    if (lives || !files.list(dir + "/left", ec).empty()) result.insert(slot);
  }
  persistence::process_files kept{files, opts.state_dir, false};
  for (const auto node : kept.nodes()) result.insert(static_cast<int>(node));
  return result;
}

/// Null lock without an error: somebody else has the slot.
open_journal open_slot(persistence::file_system& files, const options& opts, int n) {
  open_journal result;
  const auto dir = opts.state_dir + "/events/node-" + std::to_string(n);
  if (auto ec = files.make_directories(dir)) {
    result.error = persistence::describe("create", dir, ec);
    return result;
  }
  std::error_code ec;
  result.lock = files.try_lock(dir + "/lock", ec);
  if (ec) result.error = persistence::describe("lock", dir + "/lock", ec);
  if (!result.lock) return result;
  result.slot = static_cast<std::uint32_t>(n);
  result.files = std::make_unique<persistence::journal>(files, dir, opts.journal_segment_bytes);
  ec = result.files->open(
      [&](persistence::journal_record record) { result.records.push_back(std::move(record)); });
  if (ec) {
    result.error = persistence::describe("read", dir, ec);
  } else {
    load_processes(result, files, opts);
  }
  return result;
}

}  // namespace

std::string keeper_folder(std::uint32_t slot) {
  return "keeper-" + std::to_string(slot);
}

open_journal open_event_journal(persistence::file_system& files, const options& opts) {
  // A node goes on where an earlier one stopped; a program that runs one command keeps out of that.
  const auto left = slots_with_work(files, opts);
  std::vector<int> order;
  if (!opts.one_shot) order.assign(left.begin(), left.end());
  for (int n = 0; n < most_nodes; ++n) {
    if (!left.contains(n)) order.push_back(n);
  }
  for (const int n : order) {
    auto result = open_slot(files, opts, n);
    if (result.lock || !result.error.empty()) return result;
  }
  open_journal none;
  none.error = "every journal below " + opts.state_dir + "/events belongs to a live node";
  return none;
}

store_state::store_state(store_actor::pointer self, std::shared_ptr<const options> opts,
                         std::shared_ptr<backends::io_loop> loop,
                         std::shared_ptr<open_journal> journal, persistence::file_system* files)
    : self_(self),
      opts_(std::move(opts)),
      loop_(std::move(loop)),
      journal_(std::move(journal)),
      files_(files),
      processes_(*journal_->process_files, limits_of(*opts_), opts_->store_backlog_bytes) {
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
      [this](record_atom, const stored_record& what) { return on_record(what); },
      [this](drop_atom, const std::string& id) { return on_drop(id); },
      [this](receipt_atom, const stored_receipt& what) { return on_receipt(what); },
      [this](find_atom, const std::string& session, const std::string& id) {
        return on_find(session, id);
      },
      [this](read_atom, const std::string& path, std::uint64_t offset, std::uint64_t size) {
        return on_read(path, offset, size);
      },
      [this](discard_atom, const std::string& path) { return on_discard(path); },
      [this](listen_atom, store_listener_actor& listener) { on_listen(std::move(listener)); },
  };
}

// -- the journal ----------------------------------------------------------------------------------

caf::result<void> store_state::on_append(persistence::journal_record record,
                                         std::uint64_t keep_from) {
  if (record.payload.size() > persistence::journal_payload_max) {
    return make_error(errc::limit_reached, "an event is too large for the journal");
  }
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
      ++dropped_;
    }
  }
  std::string problem;
  if (ec) problem = persistence::describe("write to", journal.dir(), ec);
  if (problem.empty() && !opts_->sync_always) {
    arm();
  } else if (problem.empty()) {
    problem = sync_now();
  }
  if (!problem.empty()) degrade(problem);
  if (problem.empty() && !backlog_.empty()) {
    problem = "the event journal cannot be written at the moment";
  }
  if (!problem.empty()) return make_error(errc::internal, problem);
  return caf::unit;
}

std::error_code store_state::write_backlog() {
  while (!backlog_.empty()) {
    if (auto ec = journal_->files->append(backlog_.front())) return ec;
    backlog_bytes_ -= backlog_.front().payload.size();
    backlog_.pop_front();
  }
  return {};
}

// -- processes ------------------------------------------------------------------------------------

caf::result<void> store_state::on_record(const stored_record& what) {
  return done(processes_.put_record(*what.what));
}

caf::result<void> store_state::on_drop(const std::string& id) {
  return done(processes_.drop_record(id));
}

caf::result<void> store_state::on_receipt(const stored_receipt& what) {
  return done(
      processes_.put_receipt(*what.what, std::chrono::system_clock::now(), what.keep_record));
}

/// An answer of success, on disk or not.
caf::result<void> store_state::done(std::error_code ec) {
  if (ec.value() == EINVAL) {
    return make_error(errc::bad_argument, "id: must be proc_ and 12 lower-case hex digits");
  }
  if (ec) degrade(persistence::describe("keep a process in", opts_->state_dir, ec));
  if (ec || journal_->process_files->has_unsynced()) arm();
  return caf::unit;
}

caf::result<found_receipts> store_state::on_find(const std::string& session,
                                                 const std::string& id) {
  auto found = processes_.find(session, id);
  for (const auto& problem : journal_->process_files->take_problems()) tell(problem);
  found_receipts result;
  result.ids = std::move(found.ids);
  if (found.only) {
    result.only = std::make_shared<const persistence::receipt>(std::move(*found.only));
  }
  return result;
}

caf::result<file_part> store_state::on_read(const std::string& path, std::uint64_t offset,
                                            std::uint64_t size) {
  const auto spool = keeper_folder(journal_->slot) + "/spool";
  if (!is_in(opts_->state_dir, "output", path) && !is_in(opts_->state_dir, spool, path)) {
    return make_error(errc::bad_argument, "path: is no output below " + opts_->state_dir);
  }
  file_part part;
  std::error_code ec;
  part.data = files_->read_range(path, offset, std::min(size, defaults::state_read_bytes),
                                 part.file_bytes, ec);
  if (!ec) return part;
  return make_error(ec.value() == ENOENT ? errc::not_found : errc::internal,
                    persistence::describe("read", path, ec));
}

caf::result<void> store_state::on_discard(const std::string& path) {
  if (!is_in(opts_->state_dir, keeper_folder(journal_->slot) + "/spool", path)) {
    return make_error(errc::bad_argument, "path: is no spool of our keeper");
  }
  const auto ec = files_->unlink(path);
  if (ec && ec.value() != ENOENT) {
    return make_error(errc::internal, persistence::describe("remove", path, ec));
  }
  return caf::unit;
}

// -- syncing --------------------------------------------------------------------------------------

void store_state::arm() {
  if (std::exchange(timer_armed_, true)) return;
  timer_ = loop_->after(opts_->sync_delay, [me = caf::actor_cast<store_actor>(self_)] {
    compat::anon_send(me, sync_atom_v);
  });
}

void store_state::on_sync() {
  timer_armed_ = false;
  auto ec = write_backlog();
  if (const auto other = processes_.retry(); !ec) ec = other;
  if (ec) arm();
  start_sync();
  recover();
}

sync_job store_state::take_job() {
  sync_job job;
  job.files = journal_->files->take_unsynced();
  job.new_names = journal_->files->take_new_names();
  job.journal_dir = journal_->files->dir();
  job.processes = journal_->process_files->take_unsynced();
  return job;
}

void store_state::start_sync() {
  if (!journal_->files->has_unsynced() && !journal_->process_files->has_unsynced()) return;
  if (!syncer_) {
    if (const auto problem = sync_now(); !problem.empty()) degrade(problem);
    return;
  }
  if (syncing_) return arm();
  syncing_ = take_job();
  compat::request(self_, syncer_, *syncing_)
      .then([this](const std::string& problem) { on_synced(problem); },
            [this](const caf::error& error) { on_synced(error_text(error)); });
}

void store_state::on_synced(const std::string& problem) {
  auto job = std::move(*syncing_);
  syncing_.reset();
  sync_failed_ = !problem.empty();
  if (!sync_failed_) return recover();
  journal_->files->give_back(std::move(job.files), job.new_names);
  journal_->process_files->give_back(job.processes);
  degrade(problem);
}

/// Without the helper: the first problem in words.
std::string store_state::sync_now() {
  auto job = take_job();
  auto problem = sync_all(*files_, job);
  sync_failed_ = !problem.empty();
  if (sync_failed_) {
    journal_->files->give_back(std::move(job.files), job.new_names);
    journal_->process_files->give_back(job.processes);
  }
  return problem;
}

caf::result<void> store_state::on_close() {
  write_backlog();
  processes_.retry();
  if (!syncer_) {
    sync_now();
    return caf::unit;
  }
  // Behind the job that is under way, if there is one.
  auto promise = self_->make_response_promise<void>();
  compat::request(self_, syncer_, take_job())
      .then([promise](const std::string&) mutable { promise.deliver(); },
            [promise](const caf::error&) mutable { promise.deliver(); });
  return promise;
}

// -- warnings -------------------------------------------------------------------------------------

void store_state::degrade(const std::string& why) {
  arm();
  if (!trouble_.empty()) return;
  trouble_ = why + ". What cannot be written is kept in memory until it can be";
  tell(trouble_);
}

void store_state::recover() {
  if (trouble_.empty() || !backlog_.empty() || processes_.behind() || sync_failed_) return;
  trouble_.clear();
  const auto lost = std::exchange(dropped_, 0) + processes_.take_dropped();
  const std::string loss = lost == 0 ? "nothing was lost"
                                     : std::to_string(lost) +
                                           " files or events were dropped, "
                                           "because memory is limited";
  tell("the state directory " + opts_->state_dir + " can be written again; " + loss);
}

void store_state::tell(const std::string& text) {
  if (opts_->warn) opts_->warn(text);
  if (listener_) compat::anon_send(listener_, warn_atom_v, text);
}

void store_state::on_listen(store_listener_actor listener) {
  listener_ = std::move(listener);
  if (listener_ && !trouble_.empty()) compat::anon_send(listener_, warn_atom_v, trouble_);
}

}  // namespace troupe

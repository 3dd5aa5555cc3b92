// The store actor: owns the event journal and the files of processes, and is the only actor that may
// block on a disk (detached). What it is given goes to the kernel at once; syncing is left to a helper on
// a thread of its own, at most `sync_delay` behind and once for everything written since, so that nobody
// waits for a disk. A disk that fails degrades it to memory, with one warning (docs/state.md).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <caf/typed_event_based_actor.hpp>

#include "troupe/backends/io_loop.hpp"
#include "troupe/config/options.hpp"
#include "troupe/messages/interfaces.hpp"
#include "troupe/persistence/journal.hpp"
#include "troupe/persistence/kept_processes.hpp"
#include "troupe/persistence/process_files.hpp"
#include "troupe/persistence/process_record.hpp"

namespace troupe {

/// A process that runs. Secrets in it are masked before it is written.
struct stored_record {
  std::shared_ptr<const persistence::process_record> what;
};

/// A process that is finished. Likewise.
struct stored_receipt {
  std::shared_ptr<const persistence::receipt> what;
  /// There is something to tell yet: the record stays until `drop_atom`.
  bool keep_record = false;
};

/// Receipts of one session, on disk or still in memory.
struct found_receipts {
  /// At most two: more than one is ambiguous.
  std::vector<std::string> ids;
  /// Set when there is exactly one.
  std::shared_ptr<const persistence::receipt> only;
};

/// A part of a file.
struct file_part {
  std::string data;              ///< less than asked for: the file ends here
  std::uint64_t file_bytes = 0;  ///< size of the whole file
};

/// What the helper of the store has to sync: files first, then the names in directories.
struct sync_job {
  std::vector<std::shared_ptr<persistence::appendable>> files;  ///< of the journal
  bool new_names = false;                                       ///< in its directory
  std::string journal_dir;
  persistence::unsynced_files processes;
};

/// The kinds of records in the journal (docs/state.md).
enum class journal_kind : std::uint8_t {
  event = 1,
  acknowledged = 2,
  consumed = 3,
  expired = 4,
};

/// What one live node keeps: the first journal below `state_dir` that no other live node uses, its
/// number, and what is known of processes. Opened before the actors start, so that a node begins with
/// everything it knew.
struct open_journal {
  std::unique_ptr<persistence::journal> files;
  std::unique_ptr<persistence::file_lock> lock;
  std::vector<persistence::journal_record> records;
  /// The n of `events/node-<n>`; records of processes belong to it.
  std::uint32_t slot = 0;
  std::unique_ptr<persistence::process_files> process_files;
  /// Records of this slot: what ran when the node that had it ended.
  std::vector<persistence::process_record> processes;
  /// Receipts of processes of this slot whose records are still there: their completions may be missing.
  std::vector<persistence::receipt> ended;
  /// Receipts of all sessions that ended less than `finished_retention` ago, newest first, at most
  /// `finished_per_session` each. All others can be found with `find_atom`.
  std::vector<persistence::receipt> receipts;
  /// In words: files that were set aside or cannot be read.
  std::vector<std::string> problems;
  /// Why nothing can be kept; empty: all is well.
  std::string error;
};

/// Where the keeper of a slot has its files, below the state directory.
std::string keeper_folder(std::uint32_t slot);

open_journal open_event_journal(persistence::file_system& files, const options& opts);

class store_state {
 public:
  store_state(store_actor::pointer self, std::shared_ptr<const options> opts,
              std::shared_ptr<backends::io_loop> loop, std::shared_ptr<open_journal> journal,
              persistence::file_system* files);
  ~store_state();
  store_state(const store_state&) = delete;
  store_state& operator=(const store_state&) = delete;

  store_actor::behavior_type make_behavior();

  static constexpr const char* name = "troupe.store";

 private:
  caf::result<void> on_append(persistence::journal_record record, std::uint64_t keep_from);
  caf::result<void> on_record(const stored_record& what);
  caf::result<void> on_drop(const std::string& id);
  caf::result<void> on_receipt(const stored_receipt& what);
  caf::result<found_receipts> on_find(const std::string& session, const std::string& id);
  caf::result<file_part> on_read(const std::string& path, std::uint64_t offset, std::uint64_t size);
  caf::result<void> on_discard(const std::string& path);
  void on_listen(store_listener_actor listener);
  void on_sync();
  caf::result<void> on_close();

  caf::result<void> done(std::error_code ec);
  std::error_code write_backlog();
  void start_sync();
  void on_synced(const std::string& problem);
  std::string sync_now();
  sync_job take_job();
  void arm();
  void degrade(const std::string& why);
  void recover();
  void tell(const std::string& text);

  store_actor::pointer self_;
  std::shared_ptr<const options> opts_;
  std::shared_ptr<backends::io_loop> loop_;
  std::shared_ptr<open_journal> journal_;
  persistence::file_system* files_;
  persistence::kept_processes processes_;
  caf::actor syncer_;
  /// What the helper syncs at the moment; one job at a time.
  std::optional<sync_job> syncing_;
  bool sync_failed_ = false;
  bool timer_armed_ = false;
  std::uint64_t timer_ = 0;
  /// Records of the journal that could not be written yet, oldest first.
  std::deque<persistence::journal_record> backlog_;
  std::size_t backlog_bytes_ = 0;
  std::uint64_t dropped_ = 0;
  /// The warning that stands; empty: the disk works.
  std::string trouble_;
  store_listener_actor listener_;
};

}  // namespace troupe

// The directories processes/ and results/ below a state directory (docs/state.md). Used by the store
// actor, and when a node starts. Writing is one open, one write and one rename; syncing is left to
// whoever takes what is unsynced, unless `sync_each` is set. Errors are errno values; nothing throws.
// Blocks on the disk. Not thread-safe; other nodes may use the same directories at the same time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "troupe/persistence/file.hpp"
#include "troupe/persistence/process_record.hpp"

namespace troupe::persistence {

/// How many receipts are kept, how long after they were written, and how many bytes of them.
struct receipt_limits {
  std::size_t count = 0;
  std::chrono::milliseconds retention{0};
  std::uint64_t bytes = 0;
};

/// Which receipts a node begins with.
struct receipt_selection {
  std::int64_t ended_after = 0;      ///< nanoseconds since the epoch
  std::size_t per_session = 0;       ///< the newest of each session
  std::uint64_t bytes = UINT64_MAX;  ///< of all files read; the rest can be looked up
};

template <class What>
struct loaded {
  std::vector<What> found;
  /// In words: what was set aside, and what could not be read.
  std::vector<std::string> problems;
};

/// What has been written or removed and not been synced: paths of files that may be gone by now, and
/// directories.
struct unsynced_files {
  std::vector<std::string> files;
  std::vector<std::string> directories;

  bool empty() const noexcept { return files.empty() && directories.empty(); }
};

class process_files {
 public:
  enum class kind : std::uint8_t { record, receipt };

  /// `sync_each`: every call returns only when the disk has what it did.
  process_files(file_system& files, const std::string& state_dir, bool sync_each);
  ~process_files();
  process_files(const process_files&) = delete;
  process_files& operator=(const process_files&) = delete;

  /// Makes the directories; refuses (EPERM) what is a symbolic link or open to others.
  std::error_code open();
  /// From now on some files that are to be removed are put into `dir`, which is ours alone and on the
  /// same file system, and written again instead of new ones (docs/state.md). Those of an earlier life
  /// are removed.
  void reuse_in(const std::string& dir);

  /// Replaces a file. `json` comes from `to_json`, masked. EINVAL: the id may not name a file.
  std::error_code write(kind which, const std::string& id, std::string_view json);
  /// No error if it is not there.
  std::error_code remove(kind which, const std::string& id);

  /// Masks and writes.
  std::error_code write_record(process_record what);
  std::error_code write_receipt(receipt what);
  std::error_code remove_record(const std::string& id) { return remove(kind::record, id); }

  /// The records of the node in this slot. One whose process has a receipt already is not among them:
  /// its receipt is among `ended`, and the record stays until it is removed. One whose receipt is there
  /// and cannot be read is left for the next time. Damaged and unknown files are set aside, unless they
  /// say that they are another node's.
  struct loaded_records : loaded<process_record> {
    std::vector<receipt> ended;
  };
  loaded_records load_records(std::uint32_t slot);
  /// The slots that records name.
  std::set<std::uint32_t> nodes();
  /// Newest end first.
  loaded<receipt> load_receipts(const receipt_selection& which);

  /// Ids of the receipts that a session means by an id, or by a unique prefix of one (with or without
  /// `proc_`, at least 4 hex digits): an exact one alone, else at most two.
  std::vector<std::string> find_receipts(const std::string& session, std::string_view id);
  /// One receipt. ENOENT: there is none; EBADMSG: it was damaged, and has been set aside.
  receipt read_receipt(const std::string& id, std::error_code& ec);

  /// Removes what is older than the retention, then the oldest beyond the count and the bytes.
  /// Temporary names that a crash left behind go too, after a while. Files set aside stay.
  void prune(const receipt_limits& limits, std::chrono::system_clock::time_point now);

  unsynced_files take_unsynced();
  /// What could not be synced comes back.
  void give_back(const unsynced_files& what);
  bool has_unsynced() const noexcept { return !unsynced_.empty() || !changed_.empty(); }

  /// What was set aside by `find_receipts` and `read_receipt`, in words.
  std::vector<std::string> take_problems() { return std::exchange(problems_, {}); }

  std::string path_of(kind which, const std::string& id) const;

 private:
  const std::string& directory(kind which) const;
  template <class What>
  bool read(kind which, const std::string& id, What& out, std::error_code& ec,
            std::vector<std::string>& problems, std::optional<std::uint32_t> slot);
  bool write_again(const std::string& path, std::string_view json);
  bool put_by(const std::string& path);
  std::error_code take_away(kind which, const std::string& id, bool reuse);
  bool is_gone(const std::string& path);
  std::string set_aside(const std::string& path, const std::string& reason);
  std::error_code changed(const std::string& dir);

  file_system& files_;
  std::string records_;
  std::string receipts_;
  bool sync_each_;
  /// Files to write again, and where they are; empty: nowhere.
  std::string spare_dir_;
  std::vector<std::string> spares_;
  std::uint64_t next_spare_ = 0;
  /// When the directory of records is looked through for leftovers again.
  std::chrono::system_clock::time_point next_look_{};
  std::set<std::string> unsynced_;
  std::set<std::string> changed_;
  std::vector<std::string> problems_;
};

/// `to_json`, and as much of the output, from its end, as a reader accepts.
std::string receipt_json(receipt& what);

/// "abcd", "proc_abcd" → "proc_abcd"; empty if it is too short to stand for an id.
std::string id_prefix(std::string_view text);

}  // namespace troupe::persistence

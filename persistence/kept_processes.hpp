// Records and receipts as the store keeps them: on disk, or in memory as long as the disk fails
// (docs/state.md). All the rules of the store about them, without an actor, so that tests can put it on
// every kind of bad disk. An error returned says that something is in memory only; nothing is refused but
// ids that may not name a file (EINVAL). Blocks on the disk. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "troupe/persistence/process_files.hpp"

namespace troupe::persistence {

/// Receipts that a session means by an id or a prefix.
struct found_ids {
  /// At most two: more than one is ambiguous.
  std::vector<std::string> ids;
  /// Set when there is exactly one.
  std::optional<receipt> only;
};

class kept_processes {
 public:
  /// `backlog_bytes`: of what is kept in memory.
  kept_processes(process_files& files, receipt_limits limits, std::size_t backlog_bytes)
      : files_(files), limits_(limits), backlog_bytes_(backlog_bytes) {}

  /// A process runs, or its record has changed.
  std::error_code put_record(process_record what);
  /// It leaves nothing behind.
  std::error_code drop_record(const std::string& id);
  /// It is finished: the receipt, then the end of the record, unless `keep_record`. As long as the
  /// receipt is not on disk the record stays there.
  std::error_code put_receipt(receipt what, std::chrono::system_clock::time_point now,
                              bool keep_record = false);

  found_ids find(const std::string& session, std::string_view id);

  /// Tries again what failed. The first error, if there is still one.
  std::error_code retry();
  /// Something is in memory only.
  bool behind() const noexcept;
  std::size_t backlog_size() const noexcept { return bytes_; }
  /// Receipts and records dropped since the last call, because there were too many.
  std::uint64_t take_dropped() noexcept { return std::exchange(dropped_, 0); }

 private:
  using kind = process_files::kind;

  /// Files of one kind that could not be written, by id and by age.
  struct shelf {
    struct item {
      std::string json;
      std::uint64_t age = 0;
    };
    std::map<std::string, item> by_id;
    std::map<std::uint64_t, std::string> by_age;
  };

  shelf& shelf_of(kind which) { return which == kind::record ? records_ : receipts_; }
  void keep(kind which, const std::string& id, std::string json);
  void forget(kind which, const std::string& id);
  std::error_code write(kind which, const std::string& id, std::string json);
  std::error_code end_record(const std::string& id);
  std::error_code retry(kind which, int& failures);
  void bound();
  void prune_sometimes(std::size_t bytes, std::chrono::system_clock::time_point now);
  bool is_of(const std::string& session, const shelf::item& item, receipt& out) const;

  process_files& files_;
  receipt_limits limits_;
  std::size_t backlog_bytes_;
  shelf records_;
  shelf receipts_;
  /// Records that should be gone and are not.
  std::set<std::string> removals_;
  std::size_t bytes_ = 0;
  std::uint64_t next_age_ = 0;
  std::uint64_t dropped_ = 0;
  std::size_t receipts_since_prune_ = 0;
  std::uint64_t bytes_since_prune_ = 0;
};

}  // namespace troupe::persistence

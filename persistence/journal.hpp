// The append-only journal of docs/state.md: numbered segments of checksummed records. Used by the
// store actor. Writes go to the kernel at once; when to sync is the caller's business. Damage is
// skipped and reported, never repaired and never fatal. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "troupe/persistence/file.hpp"

namespace troupe::persistence {

/// One record of a journal; the meaning of kind and payload is the caller's.
struct journal_record {
  std::uint8_t kind = 0;
  /// Number of an event, growing from record to record; 0 for marks.
  std::uint64_t number = 0;
  /// Valid UTF-8.
  std::string payload;
};

/// Bytes of a segment that hold no record that can be read.
struct journal_loss {
  std::string segment;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string reason;
};

inline constexpr std::size_t journal_head_bytes = 28;
inline constexpr std::size_t journal_payload_max = 16 << 20;

/// The bytes of one record.
std::string encode_record(const journal_record& record);

/// Calls `on_record` for every record of a segment and returns what could not be read (without the
/// name of the segment).
std::vector<journal_loss> decode_records(std::string_view bytes,
                                         const std::function<void(journal_record)>& on_record);

class journal {
 public:
  /// `segment_bytes`: where a segment is closed. The directory is created by `open`.
  journal(file_system& files, std::string dir, std::uint64_t segment_bytes);

  /// Reads what is there, oldest first, and gets ready to append to a new segment. The error says
  /// that nothing can be kept; what could be read has been delivered all the same.
  std::error_code open(const std::function<void(journal_record)>& on_record);
  /// What `open` could not read.
  const std::vector<journal_loss>& losses() const noexcept { return losses_; }

  /// Hands one record to the kernel. After an error the record counts as not written.
  std::error_code append(const journal_record& record);

  /// Closed leading segments that hold no event numbered `number` or higher are removed.
  void drop_below(std::uint64_t number);

  /// Files with appended bytes that nobody has synced yet; whoever takes them syncs them (on any
  /// thread). `take_new_names`: also whether the directory itself has to be synced.
  std::vector<std::shared_ptr<appendable>> take_unsynced();
  bool take_new_names() noexcept;
  /// What was taken and could not be synced.
  void give_back(std::vector<std::shared_ptr<appendable>> files, bool new_names);
  bool has_unsynced() const noexcept { return !unsynced_.empty() || new_names_; }

  const std::string& dir() const noexcept { return dir_; }
  std::size_t segments() const noexcept { return segments_.size(); }

 private:
  struct segment {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::uint64_t highest = 0;  ///< highest event number in it
  };

  std::string path_of(std::uint64_t number) const;
  std::error_code begin_segment();

  file_system& files_;
  std::string dir_;
  std::uint64_t segment_bytes_;
  std::deque<segment> segments_;
  std::shared_ptr<appendable> current_;  ///< appends go to the last segment; null: begin one
  std::vector<std::shared_ptr<appendable>> unsynced_;
  bool new_names_ = false;
  std::uint64_t next_segment_ = 1;
  std::vector<journal_loss> losses_;
};

}  // namespace troupe::persistence

// The spill file of one child: the oldest part of its output that went out of the ring while no node
// was there to read it. Appended to only without a gap; what does not go in (a cap, a full disk) is
// counted. Belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::keeper_app {

/// What all spill files of the keeper have together.
struct spool_limits {
  int folder = -1;
  std::uint64_t per_child = 0;
  std::uint64_t in_total = 0;
  std::uint64_t total = 0;  ///< bytes in all files
};

class spool {
 public:
  /// `name`: of the file, if one becomes necessary.
  explicit spool(std::string name) : name_(std::move(name)) {}

  /// The bytes that come next at `position`: as many as may be kept are appended, the rest is
  /// dropped.
  void append(spool_limits& limits, std::uint64_t position, std::string_view bytes);
  /// The end of the output, whatever the caps say. False (with errno) if not all of `bytes` could be
  /// written; `done` is then how much was.
  bool append_end(spool_limits& limits, std::uint64_t position, std::string_view bytes,
                  std::size_t& done);
  /// The file belongs to somebody else now; another one is made if needed.
  void hand_over(spool_limits& limits);

  bool has_file() const noexcept { return made_; }
  const std::string& name() const noexcept { return file_; }
  std::uint64_t from() const noexcept { return from_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t tail() const noexcept { return tail_; }
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  std::size_t write(int folder, std::string_view bytes);

  std::string name_;
  std::string file_;
  bool made_ = false;
  bool gap_ = false;
  std::uint64_t from_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace troupe::keeper_app

// The files that hold the whole output of commands whose results had to be cut: redacted text, capped,
// kept for some days. Used by the spill actor only; blocks on the disk. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "troupe/persistence/file.hpp"

namespace troupe::persistence {

/// What is in a file.
enum class output_form : std::uint8_t {
  text,  ///< valid UTF-8, masked as `redact` does
  raw,   ///< bytes as they came, masked byte for byte, so that positions stay true
};

/// One file while it is written. Text is masked in whole lines; the last, unfinished one is kept back
/// as long as it is not too long, and so is a private key that has not ended yet.
class output_file {
 public:
  /// `limit`: bytes of output; behind them comes a marker line and nothing else. `assignments`: mask
  /// NAME=value secrets too. `written`: what the file has already.
  output_file(std::unique_ptr<appendable> file, std::string path, std::uint64_t limit,
              output_form form, bool assignments, std::uint64_t written = 0)
      : file_(std::move(file)),
        path_(std::move(path)),
        limit_(limit),
        form_(form),
        assignments_(assignments),
        written_(std::min(written, limit)),
        full_(written > limit) {}

  /// Takes valid UTF-8 made of whole characters (raw: any bytes).
  std::error_code write(std::string_view text);
  /// Writes what was kept back.
  std::error_code finish();

  /// Nothing more will be written.
  bool full() const noexcept { return full_; }
  /// Bytes of output in the file, without the marker.
  std::uint64_t written() const noexcept { return written_; }
  /// Those and what is kept back.
  std::uint64_t taken() const noexcept { return written_ + held_.size(); }
  const std::string& path() const noexcept { return path_; }

 private:
  std::error_code put(std::string_view text);

  std::unique_ptr<appendable> file_;
  std::string path_;
  std::uint64_t limit_;
  output_form form_;
  bool assignments_;
  std::uint64_t written_ = 0;
  bool full_ = false;
  std::string held_;
};

/// Length of the part of `text` that can be masked without what follows.
std::size_t maskable_prefix(std::string_view text);

struct output_limits {
  std::uint64_t file_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::chrono::milliseconds retention{0};
};

/// The directory they are in. Nothing else lives there.
class output_directory {
 public:
  output_directory(file_system& files, std::string path, output_limits limits)
      : files_(files), path_(std::move(path)), limits_(limits) {}

  /// A new file for the output of a process. Null on errors, with the reason in words.
  std::unique_ptr<output_file> create(const std::string& id, output_form form, bool assignments,
                                      std::string& problem);
  /// Goes on with a raw file of an earlier life. It must be in this directory.
  std::unique_ptr<output_file> reopen(const std::string& path, bool assignments,
                                      std::string& problem);
  void remove(const std::string& path) { files_.unlink(path); }

  /// Removes what is older than the retention, then the oldest until all fit into the total. Names in
  /// `busy` (paths) stay.
  void prune(std::chrono::system_clock::time_point now, const std::vector<std::string>& busy);

  const std::string& path() const noexcept { return path_; }

 private:
  file_system& files_;
  std::string path_;
  output_limits limits_;
};

/// Where output goes when there is no state directory: `troupe-output-<uid>` in $TMPDIR or /tmp. On a
/// disk rather than in memory: it may be much, and it stays for days.
std::string temporary_output_path();

}  // namespace troupe::persistence

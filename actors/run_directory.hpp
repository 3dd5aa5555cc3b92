// A private directory in memory (tmpfs where there is one) for the reports of shells: one small file
// per command, gone when the command is. Used by the actors that read those reports; reading one is a
// copy out of the page cache, never a wait for a disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

class run_directory {
 public:
  /// Makes the directory (mode 0700) and removes those that dead processes of this user left. Throws
  /// std::system_error if there is no place for one.
  run_directory();
  /// Removes it with everything in it.
  ~run_directory();
  run_directory(const run_directory&) = delete;
  run_directory& operator=(const run_directory&) = delete;

  std::string path(std::string_view name) const { return path_ + "/" + std::string{name}; }

  /// Reads and removes a file; empty if there is none, it is no regular file, or it is larger than
  /// what a report may be (4 MiB). Thread-safe.
  std::optional<std::string> take(const std::string& file) const;
  void remove(const std::string& file) const noexcept;

 private:
  std::string path_;
};

}  // namespace troupe

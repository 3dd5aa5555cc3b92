// Reads what /proc says about single processes. Not thread-safe: one per thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "troupe/backends/local/spawn.hpp"

namespace troupe::backends::local {

struct process_row {
  int pid = 0;
  int ppid = 0;
  int pgid = 0;
  int sid = 0;
  /// Clock ticks since boot; with the pid it names a process.
  std::uint64_t start_ticks = 0;
  std::uint64_t threads = 1;
  char state = '?';
  /// Ended; only its status is left.
  bool zombie = false;
  /// Replacing its image: until the new one is complete, /proc shows no arguments and no environment.
  bool in_exec = false;
  /// As far as the kernel tells us.
  std::uint64_t environment_bytes = 0;
  std::string comm;
  /// Value of TROUPE_PROCESS in its environment; empty when there is none (or it is unreadable).
  std::string marker;
};

/// Processes other than this one, by ascending pid.
using snapshot = std::vector<process_row>;

/// (pid, start time).
using process_key = std::pair<int, std::uint64_t>;

/// The fields of one /proc/<pid>/stat line; false if it is not one.
bool parse_stat(std::string_view text, process_row& row);

/// The value of `name=` in a block of NUL-terminated entries; empty if absent.
std::string_view find_in_environ(std::string_view block, std::string_view name);

/// How long to wait, at most, for a process in exec.
inline constexpr std::chrono::milliseconds exec_limit{50};

/// The stat line of a process as soon as it is not in exec, or after `limit`. False if it is gone.
bool stat_after_exec(int pid, process_row& row, std::chrono::nanoseconds limit = exec_limit);

class process_reader {
 public:
  /// Begins a pass over some processes; false if there is no /proc.
  bool begin();
  /// Ends it. Markers are remembered for some passes, or for none but this.
  void end(bool forget_others);

  /// What runs under this number; false if nothing does.
  bool look_at(int pid, process_row& row);
  /// Adds the children of all threads of a process. A snapshot of a moving thing: some may be missing
  /// if children of that process are being waited for meanwhile. False if the kernel does not say.
  bool children_of(int pid, std::uint64_t threads, std::vector<int>& out);
  /// Calls `with` for all numbers in /proc, again with each call.
  void list(const std::function<void(int pid)>& with);

 private:
  struct marker_entry {
    std::uint64_t start_ticks = 0;
    std::uint64_t pass = 0;
    bool final = false;
    std::string marker;
  };

  bool read_file(const char* path, std::size_t limit);
  bool read_children(const char* path, std::vector<int>& out);
  bool read_environment(const process_row& row);
  const std::string& marker_of(const process_row& row);

  unique_fd proc_;
  std::unordered_map<int, marker_entry> markers_;
  std::uint64_t pass_ = 0;
  std::uint64_t now_ticks_ = 0;
  std::chrono::nanoseconds patience_{0};  ///< what is left of `exec_limit` in this pass
  std::string buffer_;
};

}  // namespace troupe::backends::local

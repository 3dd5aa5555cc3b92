// What runs on this machine, read from /proc on a thread of its own. One scan answers every query
// that came before it began, so a thousand kills at once cost one or two scans.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "troupe/backends/local/worker.hpp"

namespace troupe::backends::local {

struct process_row {
  int pid = 0;
  int ppid = 0;
  int pgid = 0;
  int sid = 0;
  /// Clock ticks since boot; with the pid it names a process.
  std::uint64_t start_ticks = 0;
  char state = '?';
  /// Ended; only its status is left.
  bool zombie = false;
  std::string comm;
  /// Value of TROUPE_PROCESS in its environment; empty when there is none (or it is unreadable).
  std::string marker;
};

/// All processes but this one, by ascending pid.
using snapshot = std::vector<process_row>;

/// (pid, start time).
using process_key = std::pair<int, std::uint64_t>;

/// The tree of one child, as it is recognised.
struct tree_identity {
  int pid = 0;
  std::uint64_t start_ticks = 0;
  std::string marker;
  /// The leader's pid cannot have been given to another process: it has not been reaped, or only
  /// just now. Session and group of that number are then ours.
  bool session_valid = true;
  /// Members of the session seen while that held; still ours later.
  std::set<process_key> known;
  /// What a prepared child was marked with before it got its command; its forks carry that.
  std::string first_marker = {};
};

struct tree_entry {
  const process_row* row = nullptr;
  bool leader = false;
  /// In the leader's own process group.
  bool group = false;
};

/// The live processes of a tree: the leader, its transitive children, its session and group, and
/// all that carry its marker, with their children. Zombies are left out.
std::vector<tree_entry> tree_of(const snapshot& all, const tree_identity& identity);

/// The fields of one /proc/<pid>/stat line; false if it is not one.
bool parse_stat(std::string_view text, process_row& row);

/// The value of `name=` in a block of NUL-terminated entries; empty if absent.
std::string_view find_in_environ(std::string_view block, std::string_view name);

class process_table {
 public:
  using work = std::function<void(const snapshot&)>;

  process_table();
  /// Scans on the thread of `on`, which must have stopped before this is destroyed.
  explicit process_table(worker& on);
  /// Drops queries that have not begun; joins.
  ~process_table();

  /// Calls `then` on the table's thread with a scan that began after this call. Thread-safe. `then`
  /// may read more of /proc, and posts its result to the loop itself.
  void query(work then);

 private:
  struct marker_entry {
    std::uint64_t start_ticks = 0;
    std::uint64_t generation = 0;
    bool final = false;
    std::string marker;
  };

  void run();
  void answer_all();
  snapshot scan();
  const std::string& marker_of(int proc, const process_row& row, std::uint64_t now_ticks);

  worker* worker_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::vector<work> queries_;
  bool stop_ = false;

  std::unordered_map<int, marker_entry> markers_;
  std::uint64_t generation_ = 0;
  std::string buffer_;
  std::thread thread_;
};

}  // namespace troupe::backends::local

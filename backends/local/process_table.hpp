// What runs on this machine, read from /proc on a thread of its own. One look answers every query
// that came before it began, so a thousand kills at once cost one or two.
//
// Where this process is the child subreaper of its children, a look is at the descendants of those
// asked for only (own_children.hpp); otherwise at all of /proc.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "troupe/backends/local/own_children.hpp"
#include "troupe/backends/local/process_reader.hpp"
#include "troupe/backends/local/worker.hpp"

namespace troupe::backends::local {

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
  /// Not started by this backend: its descendants may have become children of anybody.
  bool foreign = false;
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

class process_table {
 public:
  using work = std::function<void(const snapshot&)>;
  /// Where to look: at what can be a descendant of ours, if that is known, or at everything.
  enum class extent { descendants, everything };

  /// Has a thread of its own, or uses that of `on`, which must have stopped before this is destroyed.
  /// `subreaper`: orphaned descendants of this process become its children.
  explicit process_table(bool subreaper, worker* on = nullptr);
  /// Drops queries that have not begun; joins.
  ~process_table();

  /// Calls `then` on the table's thread with a look that began after this call and has the whole tree
  /// of `who`, and more. Thread-safe. `then` may read more of /proc, and posts its result to the loop
  /// itself.
  void query(tree_identity who, work then, extent how_far = extent::descendants);

  own_children& own() noexcept { return own_; }

 private:
  struct question {
    tree_identity who;
    work then;
    extent how_far;
  };

  void run();
  void answer_all();
  snapshot look(const std::vector<question>& batch);
  bool walk(const std::vector<question>& batch, snapshot& rows);
  snapshot scan();

  const bool subreaper_;
  worker* const worker_;
  own_children own_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::vector<question> queries_;
  bool stop_ = false;

  process_reader reader_;
  std::thread thread_;
};

}  // namespace troupe::backends::local

// Looks at /proc, whole or in part, and recognises trees in what was seen.
#include "troupe/backends/local/process_table.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace troupe::backends::local {

namespace {

constexpr int most_listings = 16;

}  // namespace

std::vector<tree_entry> tree_of(const snapshot& all, const tree_identity& identity) {
  bool session_valid = identity.session_valid;
  const process_row* leader = nullptr;
  for (const auto& row : all) {
    if (row.pid == identity.pid) {
      if (row.start_ticks == identity.start_ticks) {
        leader = &row;
      } else {
        session_valid = false;  // the number names somebody else now
      }
    }
  }
  const auto is_marked = [&](const process_row& row) {
    return !row.marker.empty() &&
           (row.marker == identity.marker || row.marker == identity.first_marker);
  };
  const auto in_session = [&](const process_row& row) {
    return (row.sid == identity.pid || row.pgid == identity.pid) &&
           row.start_ticks >= identity.start_ticks &&
           (session_valid || is_marked(row) || identity.known.contains({row.pid, row.start_ticks}));
  };
  std::unordered_set<int> members;
  for (const auto& row : all) {
    if (&row == leader || is_marked(row) || in_session(row)) {
      members.insert(row.pid);
    }
  }
  for (bool grew = !members.empty(); grew;) {
    grew = false;
    for (const auto& row : all) {
      if (members.contains(row.ppid) && row.start_ticks >= identity.start_ticks &&
          members.insert(row.pid).second) {
        grew = true;
      }
    }
  }
  std::vector<tree_entry> out;
  for (const auto& row : all) {
    if (!row.zombie && members.contains(row.pid)) {
      out.push_back({&row, &row == leader, row.pgid == identity.pid && row.sid == identity.pid});
    }
  }
  return out;
}

process_table::process_table(bool subreaper, worker* on) : subreaper_(subreaper), worker_(on) {
  if (on == nullptr) {
    thread_ = std::thread([this] { run(); });
  }
}

process_table::~process_table() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wanted_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void process_table::query(tree_identity who, work then, extent how_far) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = queries_.empty();
    queries_.push_back({std::move(who), std::move(then), how_far});
  }
  if (worker_ == nullptr) {
    wanted_.notify_one();
  } else if (first) {
    worker_->post([this] { answer_all(); }, false);
  }
}

void process_table::run() {
  ::pthread_setname_np(::pthread_self(), "troupe-table");
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wanted_.wait(lock, [this] { return stop_ || !queries_.empty(); });
      if (stop_) {
        return;
      }
    }
    answer_all();
  }
}

void process_table::answer_all() {
  std::vector<question> batch;
  {
    const std::lock_guard lock(mutex_);
    batch.swap(queries_);
  }
  const auto rows = look(batch);
  for (const auto& one : batch) {
    one.then(rows);
  }
}

snapshot process_table::look(const std::vector<question>& batch) {
  snapshot rows;
  if (!reader_.begin()) {
    return rows;
  }
  const bool part = subreaper_ && std::none_of(batch.begin(), batch.end(), [](const auto& one) {
                      return one.who.foreign || one.how_far == extent::everything;
                    });
  const bool enough = part && walk(batch, rows);
  if (!enough) {
    rows = scan();
  }
  reader_.end(!enough);
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return rows;
}

// A listing of /proc is not one moment: a process may be listed, fork, and be gone before it is
// looked at, and its child is then in no listing. So the listing is repeated until it brings nobody
// new: whoever was missed had a parent that was seen alive, or is in the next one.
snapshot process_table::scan() {
  snapshot rows;
  std::unordered_set<int> looked_at{::getpid()};
  bool anybody_new = true;
  for (int listing = 0; anybody_new && listing < most_listings; ++listing) {
    anybody_new = false;
    reader_.list([&](int pid) {
      if (looked_at.insert(pid).second) {
        anybody_new = true;
        process_row row;
        if (reader_.look_at(pid, row)) {
          rows.push_back(std::move(row));
        }
      }
    });
  }
  return rows;
}

// Only what can belong to those asked for: their leaders and whoever is known already, those of our own
// children that are nobody's leader (orphans of theirs, or of others), and what is below all these.
//
// Nothing here is one moment either. A process can leave its parent's list only by ending, and what it
// leaves behind becomes our child (or that of a subreaper among its ancestors, which is in the tree).
// So our own children are listed after everything else has been looked at, again and again until that
// brings nobody new: then whoever lives and was not seen has a parent that was seen alive. If nobody
// was, there is nobody.
bool process_table::walk(const std::vector<question>& batch, snapshot& rows) {
  std::unordered_set<std::string_view> markers;
  std::unordered_set<int> sessions;
  std::unordered_set<int> looked_at{::getpid()};
  std::vector<std::pair<int, std::uint64_t>> parents;  // pid, threads
  // Whether it can make a difference: its descendants are then looked at, too.
  const auto look_at = [&](int pid, bool known) {
    if (!looked_at.insert(pid).second) {
      return false;
    }
    process_row row;
    if (!reader_.look_at(pid, row)) {
      return true;  // has ended, and may have left children behind
    }
    const bool concerned = known || row.marker.empty() || markers.contains(row.marker) ||
                           sessions.contains(row.sid) || sessions.contains(row.pgid);
    if (concerned && !row.zombie) {
      parents.emplace_back(row.pid, row.threads);
    }
    rows.push_back(std::move(row));
    return concerned;
  };
  for (const auto& one : batch) {
    markers.insert(one.who.marker);
    markers.insert(one.who.first_marker);
    sessions.insert(one.who.pid);
  }
  for (const auto& one : batch) {
    look_at(one.who.pid, true);
    for (const auto& [pid, start] : one.who.known) {
      look_at(pid, true);
    }
  }
  std::vector<int> found;
  bool anybody_new = true;
  for (int listing = 0; anybody_new && listing < most_listings; ++listing) {
    anybody_new = false;
    for (std::size_t i = 0; i < parents.size(); ++i) {  // grows
      found.clear();
      reader_.children_of(parents[i].first, parents[i].second, found);
      for (const int pid : found) {
        anybody_new = look_at(pid, true) || anybody_new;
      }
    }
    found.clear();
    if (!own_.others(reader_, found)) {
      return false;
    }
    for (const int pid : found) {
      anybody_new = look_at(pid, false) || anybody_new;
    }
  }
  return true;
}

}  // namespace troupe::backends::local

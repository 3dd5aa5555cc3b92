// The scan. Reading an environment costs more than reading a stat line, so markers are remembered
// per process; "has none" is believed only of a process that is old enough to have called exec.
#include "troupe/backends/local/process_table.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unordered_set>

#include "troupe/backends/local/spawn.hpp"

namespace troupe::backends::local {

namespace {

constexpr std::string_view marker_variable = "TROUPE_PROCESS";
constexpr std::size_t environ_limit = 4 << 20;
constexpr int most_listings = 16;

// Reads a whole small file below `proc` into `out`.
bool read_file(int proc, const char* path, std::string& out, std::size_t limit) {
  const unique_fd file(::openat(proc, path, O_RDONLY | O_CLOEXEC));
  if (!file) {
    return false;
  }
  std::size_t used = 0;
  for (;;) {
    if (out.size() < used + 4096) {
      out.resize(std::max<std::size_t>(out.size() * 2, 8192));
    }
    const auto n = ::read(file.get(), out.data() + used, out.size() - used);
    if (n < 0) {
      return false;
    }
    if (n == 0 || (used += static_cast<std::size_t>(n)) >= limit) {
      break;
    }
  }
  out.resize(used);
  return true;
}

std::uint64_t ticks_since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  static const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) * per_second;
}

}  // namespace

bool parse_stat(std::string_view text, process_row& row) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');  // the name may contain anything
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return false;
  }
  if (std::from_chars(text.data(), text.data() + open, row.pid).ec != std::errc{}) {
    return false;
  }
  row.comm = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  std::uint64_t threads = 1;
  int field = 3;
  while (!text.empty() && field <= 22) {
    text.remove_prefix(1);  // the space
    const auto end = std::min(text.find_first_of(" \n"), text.size());
    const auto word = text.substr(0, end);
    const auto read = [&](auto& value) {
      std::from_chars(word.data(), word.data() + word.size(), value);
    };
    switch (field) {
      case 3:
        row.state = word.empty() ? '?' : word[0];
        break;
      case 4:
        read(row.ppid);
        break;
      case 5:
        read(row.pgid);
        break;
      case 6:
        read(row.sid);
        break;
      case 20:
        read(threads);
        break;
      case 22:
        read(row.start_ticks);
        break;
      default:
        break;
    }
    text.remove_prefix(end);
    ++field;
  }
  // A main thread may end before the others: the process lives on.
  row.zombie = row.state == 'X' || (row.state == 'Z' && threads <= 1);
  return field > 22;
}

std::string_view find_in_environ(std::string_view block, std::string_view name) {
  while (!block.empty()) {
    const auto end = std::min(block.find('\0'), block.size());
    const auto entry = block.substr(0, end);
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
    block.remove_prefix(std::min(end + 1, block.size()));
  }
  return {};
}

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

process_table::process_table() : thread_([this] { run(); }) {}

process_table::process_table(worker& on) : worker_(&on) {}

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

void process_table::query(work then) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = queries_.empty();
    queries_.push_back(std::move(then));
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
  std::vector<work> batch;
  {
    const std::lock_guard lock(mutex_);
    batch.swap(queries_);
  }
  const auto rows = scan();
  for (const auto& then : batch) {
    then(rows);
  }
}

// A listing of /proc is not one moment: a process may be listed, fork, and be gone before it is
// looked at, and its child is then in no listing. So the listing is repeated until it brings nobody
// new: whoever was missed had a parent that was seen alive, or is in the next one.
snapshot process_table::scan() {
  snapshot rows;
  DIR* directory = ::opendir("/proc");
  if (directory == nullptr) {
    return rows;
  }
  const int proc = ::dirfd(directory);
  const auto self = ::getpid();
  const auto now = ticks_since_boot();
  ++generation_;
  std::unordered_set<int> looked_at{self};
  char path[32];
  bool anybody_new = true;
  for (int listing = 0; anybody_new && listing < most_listings; ++listing) {
    anybody_new = false;
    ::rewinddir(directory);
    while (const auto* entry = ::readdir(directory)) {
      if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
          !looked_at.insert(std::atoi(entry->d_name)).second) {
        continue;
      }
      anybody_new = true;
      std::snprintf(path, sizeof path, "%.16s/stat", entry->d_name);
      process_row row;
      if (!read_file(proc, path, buffer_, 4096) || !parse_stat(buffer_, row)) {
        continue;
      }
      row.marker = marker_of(proc, row, now);
      rows.push_back(std::move(row));
    }
  }
  ::closedir(directory);
  std::erase_if(markers_, [this](const auto& m) { return m.second.generation != generation_; });
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return rows;
}

const std::string& process_table::marker_of(int proc, const process_row& row,
                                            std::uint64_t now_ticks) {
  auto& cached = markers_[row.pid];
  if (cached.start_ticks != row.start_ticks) {
    cached = {};
    cached.start_ticks = row.start_ticks;
  }
  cached.generation = generation_;
  if (cached.final || row.zombie) {
    return cached.marker;  // a zombie has no environment any more
  }
  static const auto second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  char path[32];
  std::snprintf(path, sizeof path, "%d/environ", row.pid);
  if (read_file(proc, path, buffer_, environ_limit)) {
    cached.marker = find_in_environ(buffer_, marker_variable);
  }
  cached.final = !cached.marker.empty() || row.start_ticks + 2 * second < now_ticks;
  return cached.marker;
}

}  // namespace troupe::backends::local

// Helpers for tests of backends: a node of loop, rings and local backend; a recording child whose
// consumer thread reads the ring as the process actor would; and counts of what a test must not
// leave behind. Header-only, because tests of backends link nothing but backends.
#pragma once

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "troupe/backends/backend.hpp"
#include "troupe/backends/io_loop.hpp"
#include "troupe/backends/keeper/keeper_backend.hpp"
#include "troupe/backends/local/local_backend.hpp"

namespace troupe::testing {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// Generous: only a broken test waits this long.
inline constexpr auto patience = 30s;

inline double seconds_since(steady::time_point begin) {
  return std::chrono::duration<double>(steady::now() - begin).count();
}

/// Waits until `done()` holds, without an event to wait for (only for the state of the system).
inline bool eventually(const std::function<bool()>& done, steady::duration limit = patience) {
  const auto end = steady::now() + limit;
  while (!done()) {
    if (steady::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

/// Live processes (no zombies) with TROUPE_PROCESS=`marker`.
inline std::vector<int> marked(const std::string& marker) {
  std::vector<int> out;
  DIR* proc = ::opendir("/proc");
  const auto wanted = "TROUPE_PROCESS=" + marker;
  while (const auto* entry = ::readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') {
      continue;
    }
    std::ifstream file(std::string("/proc/") + entry->d_name + "/environ", std::ios::binary);
    std::string one;
    while (std::getline(file, one, '\0')) {
      if (one == wanted) {
        out.push_back(std::atoi(entry->d_name));
        break;
      }
    }
  }
  ::closedir(proc);
  return out;
}

inline std::size_t entries(const char* path) {
  std::size_t n = 0;
  DIR* directory = ::opendir(path);
  while (::readdir(directory) != nullptr) {
    ++n;
  }
  ::closedir(directory);
  return n;
}
inline std::size_t open_descriptors() {
  return entries("/proc/self/fd");
}
inline std::size_t own_threads() {
  return entries("/proc/self/task");
}

/// Children of this process, zombies included.
inline std::size_t own_children() {
  std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  std::size_t n = 0;
  for (int pid = 0; file >> pid;) {
    ++n;
  }
  // Children of other threads are listed with those.
  DIR* tasks = ::opendir("/proc/self/task");
  while (const auto* entry = ::readdir(tasks)) {
    if (entry->d_name[0] == '.' || std::to_string(::getpid()) == entry->d_name) {
      continue;
    }
    std::ifstream other(std::string("/proc/self/task/") + entry->d_name + "/children");
    for (int pid = 0; other >> pid;) {
      ++n;
    }
  }
  ::closedir(tasks);
  return n;
}

inline long resident_kib() {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("VmRSS:", 0) == 0) {
      return std::atol(line.c_str() + 6);
    }
  }
  return 0;
}

inline std::vector<std::string> environment() {
  return {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8"};
}

inline backends::spawn_spec shell(const std::string& command) {
  backends::spawn_spec spec;
  spec.argv = {"bash", "-c", command};
  spec.env = environment();
  spec.cwd = "/tmp";
  return spec;
}

/// A directory for a keeper, which must have ended when this goes.
class keeper_dir {
 public:
  keeper_dir() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/troupe-keeper-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      std::abort();
    }
  }
  ~keeper_dir() {
    if (!eventually([this] { return ended(); })) {
      std::fprintf(stderr, "the keeper of %s does not end\n", path_.c_str());
      std::abort();
    }
    std::filesystem::remove_all(path_);
  }
  keeper_dir(const keeper_dir&) = delete;
  keeper_dir& operator=(const keeper_dir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + '/' + name; }
  bool has(const std::string& name) const { return std::filesystem::exists(path_ + '/' + name); }
  bool ended() const { return !has("keeper.sock") && !has("keeper.lock"); }

 private:
  std::string path_;
};

inline backends::keeper_options keeper_in(const keeper_dir& dir) {
  backends::keeper_options options;
  options.dir = dir.path();
  options.program = TROUPE_BIN_DIR "/troupe-keeper";
  options.owner_grace = 0ms;
  return options;
}

/// A loop, rings and a backend: the local one, or (in the programs compiled for it) that with a keeper.
#ifdef TROUPE_TEST_KEEPER
struct node {
  explicit node(const backends::local_options& local = {}, std::size_t rings = 6'000)
      : own(with(dir, local, rings)), backend(*own) {}

  std::unique_ptr<backends::backend> with(const keeper_dir& where,
                                          const backends::local_options& local, std::size_t rings) {
    auto options = keeper_in(where);
    options.local = local;
    options.slots = rings;
    return std::make_unique<backends::keeper_backend>(loop, std::move(options));
  }

  keeper_dir dir;
  backends::io_loop loop;
  std::unique_ptr<backends::backend> own;
  backends::backend& backend;
  std::atomic<std::uint64_t> last_id{0};
};
#else
struct node {
  explicit node(const backends::local_options& local = {}, std::size_t rings = 6'000)
      : own(std::make_unique<backends::local_backend>(
            loop, backends::arena::make(rings, 512 * 1024), local)),
        backend(*own) {}
  /// Another backend in this one's place.
  explicit node(backends::keeper_options options)
      : own(std::make_unique<backends::keeper_backend>(loop, std::move(options))), backend(*own) {}

  backends::io_loop loop;
  std::unique_ptr<backends::backend> own;
  backends::backend& backend;
  std::atomic<std::uint64_t> last_id{0};
};
#endif

/// One child and everything it said. Bytes are taken by a consumer thread (or, with `manual`, only
/// when the test calls `consume`). Retains like the process actor: nothing, or `retain` bytes.
class recorder : public backends::sink, public std::enable_shared_from_this<recorder> {
 public:
  enum class mode { keep, count, manual };

  static std::shared_ptr<recorder> start(node& n, backends::spawn_spec spec,
                                         mode how = mode::keep) {
    auto r = std::make_shared<recorder>(n, how);
    spec.marker = r->marker;
    n.backend.start(r->id, std::move(spec), r);
    return r;
  }

  /// A child that was found.
  static std::shared_ptr<recorder> adopt(node& n, const backends::found_child& found,
                                         mode how = mode::keep) {
    auto r = std::make_shared<recorder>(n, how, found.id);
    r->marker = found.marker;
    n.backend.adopt(found.id, r);
    return r;
  }
  recorder(node& n, mode how, backends::child_id known) : id(known), node_(n), mode_(how) {}

  recorder(node& n, mode how) : id(++n.last_id), node_(n), mode_(how) {
    marker = "test_" + std::to_string(::getpid()) + "_" +
             std::to_string(steady::now().time_since_epoch().count() % 1'000'000'007) + "_" +
             std::to_string(id);
  }

  // -- sink --
  void started(const backends::start_info& i) override {
    set("started", [&] { info = i, first = i.output->get().begin(); });
  }
  void failed(const backends::start_error& e) override {
    set("failed", [&] { error = e; });
  }
  void advanced() override {
    if (mode_ != mode::manual) {
      consume();
    }
    set("advanced", [&] { ++wakes; });
  }
  void eof() override {
    set("eof", [] {});
  }
  void exited(const backends::exit_status& s) override {
    set("exited", [&] { status = s, exited_at = steady::now(); });
  }
  void reported(std::string r) override {
    set("reported", [&] { report = std::move(r); });
  }
  void drained(const std::vector<int>& h) override {
    if (mode_ != mode::manual) {
      consume();
    }
    set("drained", [&] { holders = h, drained_at = steady::now(); });
  }
  void written(std::uint64_t token, const backends::write_outcome& o) override {
    set("written", [&] { writes[token] = o; });
  }
  void signalled(std::uint64_t token, int e) override {
    set("signalled", [&] { signals[token] = e; });
  }
  void kill_done(const std::vector<int>& s) override {
    set("kill_done", [&] { survivors = s, killed_at = steady::now(); });
  }
  void described(std::uint64_t token, const backends::description& d) override {
    set("described", [&] { descriptions[token] = d; });
  }

  // -- test --

  /// Takes everything that is in the ring, as the consumer.
  void consume() {
    std::unique_lock lock(mutex_);
    if (!info) {
      return;
    }
    const auto& ring = info->output->get();
    ring.take_wake();
    const auto end = ring.end();
    if (mode_ != mode::count) {
      for (const auto part : ring.slices(ring.begin(), end)) {
        output.append(part);
      }
    }
    bytes = end;
    const bool resume = ring.release(end);
    lock.unlock();
    changed_.notify_all();
    if (resume) {
      node_.backend.resume(id);  // posts; never a synchronous call
    }
  }

  bool wait(const std::function<bool(recorder&)>& done, steady::duration limit = patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return done(*this); });
  }
  /// Whether it holds now.
  bool now(const std::function<bool(recorder&)>& holds) {
    const std::lock_guard lock(mutex_);
    return holds(*this);
  }
  bool is_drained() {
    return now([](auto& r) { return r.drained_at.has_value(); });
  }
  bool wait_started() {
    return wait([](auto& r) { return r.info || r.error; });
  }
  bool wait_drained(steady::duration limit = patience) {
    return wait([](auto& r) { return r.drained_at || r.error; }, limit);
  }
  bool wait_killed(steady::duration limit = patience) {
    return wait([](auto& r) { return r.killed_at.has_value(); }, limit);
  }
  bool wait_output(const std::string& text) {
    return wait([&](auto& r) { return r.output.find(text) != std::string::npos; });
  }
  backends::write_outcome write(const std::string& data, bool eof = false) {
    const auto token = ++token_;
    node_.backend.write(id, token, data, eof);
    wait([&](auto& r) { return r.writes.contains(token); });
    const std::lock_guard lock(mutex_);
    return writes[token];
  }
  backends::description describe() {
    const auto token = ++token_;
    node_.backend.describe(id, token);
    wait([&](auto& r) { return r.descriptions.contains(token); });
    const std::lock_guard lock(mutex_);
    return descriptions[token];
  }
  int signal(int number) {
    const auto token = ++token_;
    node_.backend.signal(id, token, number);
    wait([&](auto& r) { return r.signals.contains(token); });
    const std::lock_guard lock(mutex_);
    return signals[token];
  }
  /// Runs the ladder and returns the seconds it took.
  double kill(backends::kill_plan plan = {}) {
    const auto begin = steady::now();
    {
      const std::lock_guard lock(mutex_);
      killed_at.reset();
    }
    node_.backend.kill(id, plan);
    wait_killed();
    return seconds_since(begin);
  }
  void release() { node_.backend.release(id); }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return output;
  }
  std::size_t count(const std::string& what) {
    const std::lock_guard lock(mutex_);
    std::size_t n = 0;
    for (const auto& e : events) {
      n += e == what ? 1 : 0;
    }
    return n;
  }

  const backends::child_id id;
  std::string marker;
  std::optional<backends::start_info> info;
  std::optional<backends::start_error> error;
  std::optional<backends::exit_status> status;
  std::optional<std::string> report;
  std::vector<int> holders;
  std::vector<int> survivors;
  std::optional<steady::time_point> exited_at;
  std::optional<steady::time_point> drained_at;
  std::optional<steady::time_point> killed_at;
  std::map<std::uint64_t, backends::write_outcome> writes;
  std::map<std::uint64_t, int> signals;
  std::map<std::uint64_t, backends::description> descriptions;
  std::vector<std::string> events;  // without repetitions of `advanced`
  std::string output;
  std::uint64_t first = 0;  ///< position where `output` begins
  std::uint64_t bytes = 0;
  std::uint64_t wakes = 0;

 private:
  template <class Change>
  void set(const char* event, Change change) {
    {
      const std::lock_guard lock(mutex_);
      change();
      if (events.empty() || events.back() != event) {
        events.emplace_back(event);
      }
    }
    changed_.notify_all();
  }

  node& node_;
  mode mode_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t token_ = 0;
};

}  // namespace troupe::testing

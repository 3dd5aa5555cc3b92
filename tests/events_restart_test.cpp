// Events outlive the node: what was not acknowledged is told after a restart, what was is not; also
// when the node is killed at any moment.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/event_collector.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

options kept_in(const std::string& dir) {
  auto opts = host::quick_options();
  opts.state_dir = dir;
  return opts;
}

void notify(spawn_request& r) {
  r.notify = true;
}

void finish(host& h, const std::string& id) {
  REQUIRE(eventually([&] {
    for (const auto& row : h.ask<std::vector<process_summary>>(list_atom_v, h.who)) {
      if (row.id == id) return row.status == process_status::finished;
    }
    return false;
  }));
}

drain_result drain(host& h, std::optional<std::uint64_t> after, std::uint32_t limit,
                   caf::timespan wait = {}) {
  drain_request what;
  what.from = {"test", after};
  what.limit = limit;
  what.wait = wait;
  return h.ask<drain_result>(drain_atom_v, what);
}

}  // namespace

TEST_CASE("a restarted node tells what nobody has acknowledged, with all its facts") {
  temporary_dir dir;
  std::uint64_t last = 0;
  std::string told;
  std::string untold;
  const caller who{"test", "turn-1", "irc", "#room", "7", "9", "u1", "Zoë"};
  {
    host h{kept_in(dir.path())};
    h.who = who;
    event_collector events{h};
    told = h.start("true", notify).id;
    events.when_count(1);
    h.ask<linger_result>(linger_atom_v, h.who, caf::timespan{generous});
    last = events.now()[0].sequence;
    events.leave();
  }
  {
    host h{kept_in(dir.path())};
    h.who = who;
    untold = h.start("echo TOKEN=x; exit 9", notify).id;
    finish(h, untold);
    const auto seen = h.start("exit 3", notify).id;
    finish(h, seen);
    h.poll(seen);  // consumed: not told after the restart either
  }
  {
    host h{kept_in(dir.path())};
    CHECK(h.core().journal_losses().empty());
    event_collector events{h, "test", last};
    const auto list = events.when_count(1);
    REQUIRE(list.size() == 1);
    CHECK(list[0].process == untold);
    CHECK(list[0].owner == who);
    CHECK(list[0].exit->code == 9);
    CHECK(list[0].sequence > last);
    h.ask<linger_result>(linger_atom_v, who, caf::timespan{generous});
    CHECK(events.now().size() == 1);
  }
  host h{kept_in(dir.path())};
  CHECK(drain(h, {}, 10).events.empty());
}

TEST_CASE("what the shutdown ended is told after the restart") {
  temporary_dir dir;
  std::string id;
  {
    host h{kept_in(dir.path())};
    id = h.start("sleep 600", notify).id;
  }
  host h{kept_in(dir.path())};
  const auto list = drain(h, {}, 10).events;
  REQUIRE(list.size() == 1);
  CHECK(list[0].process == id);
  CHECK(list[0].exit->reason == finish_reason::killed);
  CHECK(list[0].exit->source == "shutdown");
}

TEST_CASE("two nodes on one state directory leave each other alone") {
  temporary_dir dir;
  host a{kept_in(dir.path())};
  host b{kept_in(dir.path())};
  finish(a, a.start("true", notify).id);
  CHECK(drain(b, {}, 10).events.empty());
  CHECK(drain(a, {}, 10).events.size() == 1);
  CHECK(fs::exists(dir.path() + "/events/node-0/lock"));
  CHECK(fs::exists(dir.path() + "/events/node-1/lock"));
}

TEST_CASE("a damaged journal opens, says what was lost, and loses only that") {
  temporary_dir dir;
  std::vector<std::string> ids;
  {
    host h{kept_in(dir.path())};
    for (int i = 0; i < 3; ++i) {
      ids.push_back(h.start("true", notify).id);
      finish(h, ids.back());
    }
  }
  const auto path = dir.path() + "/events/node-0/0000000000000001.log";
  std::string bytes;
  {
    std::ifstream in{path, std::ios::binary};
    bytes.assign(std::istreambuf_iterator<char>{in}, {});
  }
  bytes[bytes.find(ids[1])] ^= 1;
  std::ofstream{path, std::ios::binary} << bytes;
  host h{kept_in(dir.path())};
  CHECK(h.core().journal_losses().size() == 1);
  const auto list = drain(h, {}, 10).events;
  REQUIRE(list.size() == 2);
  CHECK(list[0].process == ids[0]);
  CHECK(list[1].process == ids[2]);
}

TEST_CASE("a state directory that cannot be used is an error at the start") {
  temporary_dir dir;
  std::ofstream{dir.path() + "/file"} << "x";
  CHECK_THROWS_AS(host{kept_in(dir.path() + "/file")}, std::runtime_error);
}

// -- kill -9 --------------------------------------------------------------------------------------

/// Run by the next test in a process of its own, which is killed.
TEST_CASE("a node that works until it is killed", "[.writer]") {
  const char* dir = std::getenv("TROUPE_TEST_WRITER");
  REQUIRE(dir != nullptr);
  auto opts = kept_in(dir);
  opts.sync_delay = 5ms;
  host h{opts};
  std::optional<std::uint64_t> after;
  const auto say = [](const std::string& line) {
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(1);
  };
  for (;;) {
    for (int i = 0; i < 3; ++i) say("started " + h.start("true", notify).id + "\n");
    auto part = drain(h, after, 2, caf::timespan{generous});
    for (const auto& x : part.events) {
      say("got " + std::to_string(x.sequence) + " " + x.process + "\n");
    }
    drain(h, part.last, 0);
    say("acknowledged " + std::to_string(part.last) + "\n");
    after = part.last;
  }
}

TEST_CASE("killed at any moment: what was acknowledged is not repeated, what was not is") {
  const char* text = std::getenv("TROUPE_TEST_KILLS");
  const int kills = text != nullptr ? std::atoi(text) : 12;
  std::mt19937 random{4711};
  temporary_dir dir;
  std::set<std::string> told;
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < kills; ++round) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::setenv("TROUPE_TEST_WRITER", dir.path().c_str(), 1);
      ::execl("/proc/self/exe", "writer", "[.writer]", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(ends[1]);
    const auto stop_after = 500 + random() % 4'000;
    std::string said;
    char buffer[512];
    bool killed = false;
    for (;;) {
      const auto size = ::read(ends[0], buffer, sizeof buffer);
      if (size <= 0) break;
      said.append(buffer, static_cast<std::size_t>(size));
      if (!killed && said.size() > stop_after) {
        ::kill(child, SIGKILL);
        killed = true;
      }
    }
    ::close(ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(killed);
    std::map<std::uint64_t, std::string> got;
    std::istringstream lines{said};
    std::string line;
    while (std::getline(lines, line)) {
      std::istringstream words{line};
      std::string what;
      words >> what;
      std::uint64_t number = 0;
      if (what == "got") {
        std::string id;
        if (words >> number >> id) got.emplace(number, id);
      } else if (what == "acknowledged" && words >> number) {
        acknowledged = number;
      }
    }
    for (const auto& [number, id] : got) {
      if (number <= acknowledged) CHECK(told.insert(id).second);
    }
    // What it got last may be acknowledged or not; nothing before it comes again, nothing after it
    // is missing.
    host h{kept_in(dir.path())};
    const auto left = drain(h, {}, 1'000).events;
    for (const auto& x : left) {
      CHECK(x.sequence > acknowledged);
      CHECK(told.count(x.process) == 0);
    }
    std::set<std::uint64_t> numbers;
    for (const auto& x : left) numbers.insert(x.sequence);
    const auto unacknowledged = std::count_if(got.begin(), got.end(), [&](const auto& one) {
      return one.first > acknowledged && numbers.count(one.first) == 0;
    });
    CHECK(unacknowledged <= 2);
    if (unacknowledged > 0) acknowledged = got.rbegin()->first;
    for (const auto& loss : h.core().journal_losses()) CHECK(loss.find("cut short") != loss.npos);
  }
}

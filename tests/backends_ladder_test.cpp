// The kill ladder's decisions and the recognition of a tree, on invented process tables.
#include <signal.h>

#include "troupe/backends/local/kill_ladder.hpp"
#include "troupe/backends/local/process_table.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe::backends;
using namespace troupe::backends::local;
using namespace std::chrono_literals;

namespace {

using member = kill_ladder::member;
const auto t0 = kill_ladder::time_point{} + 1000s;

std::vector<std::pair<int, int>> signals(const kill_ladder::decision& d) {
  std::vector<std::pair<int, int>> out;
  for (const auto& s : d.signals) {
    out.emplace_back(s.whom.pid, s.signal_number);
  }
  return out;
}
using orders = std::vector<std::pair<int, int>>;

process_row row(int pid, int ppid, int group, int session, std::uint64_t start,
                std::string marker = {}) {
  process_row r;
  r.pid = pid, r.ppid = ppid, r.pgid = group, r.sid = session, r.start_ticks = start;
  r.marker = std::move(marker);
  r.state = 'S';
  return r;
}

std::vector<int> pids(const std::vector<tree_entry>& tree) {
  std::vector<int> out;
  for (const auto& e : tree) {
    out.push_back(e.row->pid);
  }
  return out;
}

}  // namespace

TEST_CASE("nobody left: the ladder ends") {
  kill_ladder ladder({}, t0, true);
  const auto d = ladder.step(t0 + 5ms, {}, false);
  CHECK_FALSE(d.next);
  CHECK(d.survivors.empty());
}

TEST_CASE("an obedient leader with a stubborn escapee takes one grace") {
  kill_ladder ladder({}, t0, true);
  const std::vector<member> escapee{{20, 5, false}};
  auto d = ladder.step(t0 + 10ms, escapee, false);
  CHECK(signals(d) == orders{{20, SIGTERM}});
  CHECK(*d.next == t0 + 2010ms);
  d = ladder.step(t0 + 500ms, escapee, false);
  CHECK(d.signals.empty());
  d = ladder.step(t0 + 2010ms, escapee, false);
  CHECK(signals(d) == orders{{20, SIGKILL}});
  CHECK(*d.next == t0 + 3010ms);
  CHECK_FALSE(ladder.step(t0 + 2012ms, {}, false).next);
}

TEST_CASE("group members that had the signal are killed when the grace is over") {
  kill_ladder ladder({}, t0, true);
  auto d = ladder.step(t0 + 10ms, {{11, 5, true}}, false);
  CHECK(d.signals.empty());
  CHECK(*d.next == t0 + 2s);
  d = ladder.step(t0 + 2s, {{10, 5, true}, {11, 5, true}, {12, 5, false}}, true);
  CHECK(signals(d) == orders{{10, SIGKILL}, {11, SIGKILL}, {12, SIGTERM}});
  CHECK(*d.next == t0 + 4s);
}

TEST_CASE("newcomers after the escapees' grace get no grace of their own") {
  kill_ladder ladder({}, t0, true);
  ladder.step(t0, {{20, 5, false}}, false);
  const auto d = ladder.step(t0 + 2s, {{20, 5, false}, {21, 9, false}}, false);
  CHECK(signals(d) == orders{{20, SIGKILL}, {21, SIGKILL}});
}

TEST_CASE("survivors are named when settling takes too long") {
  kill_ladder ladder({}, t0, true);
  CHECK(ladder.step(t0 + 2s, {{10, 5, true}}, true).next);
  const auto d = ladder.step(t0 + 3s, {{10, 5, true}}, true);
  CHECK_FALSE(d.next);
  CHECK(d.survivors == std::vector<int>{10});
}

TEST_CASE("a kill that begins with SIGKILL has no grace, for escapees either") {
  kill_plan plan;
  plan.first_signal = SIGKILL;
  kill_ladder ladder(plan, t0, true);
  CHECK(signals(ladder.step(t0, {{20, 5, false}}, false)) == orders{{20, SIGKILL}});
}

TEST_CASE("after the end of the leader its group is signalled before it is killed") {
  kill_ladder ladder({}, t0, false);
  auto d = ladder.step(t0, {{11, 5, true}}, false);
  CHECK(signals(d) == orders{{11, SIGTERM}});
  CHECK(*d.next == t0 + 2s);
}

TEST_CASE("a hurried ladder kills at once") {
  kill_ladder ladder({}, t0, true);
  ladder.step(t0 + 10ms, {{20, 5, false}}, false);
  ladder.hurry(t0 + 20ms);
  const auto d = ladder.step(t0 + 20ms, {{11, 5, true}, {20, 5, false}}, false);
  CHECK(signals(d) == orders{{11, SIGKILL}, {20, SIGKILL}});
}

TEST_CASE("a tree: children, session, marker and their children, nothing else") {
  const snapshot all{row(50, 1, 50, 50, 10, "other"),  row(100, 50, 100, 100, 20, "m"),
                     row(101, 100, 100, 100, 21, "m"), row(102, 101, 102, 102, 22),
                     row(103, 1, 103, 103, 23, "m"),   row(104, 103, 104, 104, 24),
                     row(105, 1, 100, 100, 25),        row(106, 1, 106, 106, 26)};
  tree_identity who{100, 20, "m", true, {}};
  CHECK(pids(tree_of(all, who)) == std::vector<int>{100, 101, 102, 103, 104, 105});
}

TEST_CASE("a recycled pid is not the leader, and its session is not ours") {
  const snapshot all{row(100, 1, 100, 100, 900), row(101, 100, 100, 100, 901),
                     row(103, 1, 103, 103, 23, "m"), row(104, 1, 100, 100, 24)};
  tree_identity who{100, 20, "m", true, {}};
  CHECK(pids(tree_of(all, who)) == std::vector<int>{103});
  who.known = {{104, 24}};
  CHECK(pids(tree_of(all, who)) == std::vector<int>{103, 104});
}

TEST_CASE("long after the leader's end a session alone proves nothing") {
  const snapshot all{row(104, 1, 100, 100, 24), row(105, 1, 100, 100, 25, "m")};
  tree_identity who{100, 20, "m", false, {}};
  CHECK(pids(tree_of(all, who)) == std::vector<int>{105});
}

TEST_CASE("stat lines with anything in the name") {
  process_row r;
  REQUIRE(parse_stat("42 (a) b (c) S 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1", r));
  CHECK(r.pid == 42);
  CHECK(r.comm == "a) b (c");
  CHECK(r.ppid == 1);
  CHECK(r.pgid == 2);
  CHECK(r.sid == 3);
  CHECK(r.start_ticks == 777);
  CHECK_FALSE(r.zombie);
  CHECK_FALSE(parse_stat("nonsense", r));
  CHECK_FALSE(parse_stat("42 (short) S 1", r));
  REQUIRE(parse_stat("42 (z) Z 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1", r));
  CHECK(r.zombie);
  // The main thread has ended, another one has not.
  REQUIRE(parse_stat("42 (z) Z 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 777 1 1", r));
  CHECK_FALSE(r.zombie);
}

TEST_CASE("stat lines of processes that show no environment") {
  const auto line = [](const char* flags, const char* code, const char* environment) {
    return std::string("42 (a) R 1 2 3 0 -1 ") + flags + " 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1 1 " +
           code + " 1 1 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 1 1 4 5 " + environment + " 0\n";
  };
  process_row r;
  REQUIRE(parse_stat(line("4194304", "100", "1000 1234"), r));
  CHECK(r.environment_bytes == 234);
  CHECK_FALSE(r.in_exec);
  REQUIRE(parse_stat(line("4194304", "100", "1000 1000"), r));  // started with none
  CHECK(r.environment_bytes == 0);
  CHECK_FALSE(r.in_exec);
  REQUIRE(parse_stat(line("4194304", "0", "1000 1000"), r));
  CHECK(r.in_exec);
  REQUIRE(parse_stat(line("4194304", "0", "0 0"), r));
  CHECK(r.in_exec);
  REQUIRE(parse_stat(line("4194308", "0", "0 0"), r));  // on its way out
  CHECK_FALSE(r.in_exec);
  REQUIRE(parse_stat(line("2129984", "0", "0 0"), r));  // a thread of the kernel
  CHECK_FALSE(r.in_exec);
}

TEST_CASE("markers are found by whole name") {
  using namespace std::string_view_literals;
  CHECK(find_in_environ("XTROUPE_PROCESS=no\0TROUPE_PROCESS=yes\0"sv, "TROUPE_PROCESS") == "yes");
  CHECK(find_in_environ("TROUPE_PROCESSES=no\0A=TROUPE_PROCESS=no"sv, "TROUPE_PROCESS").empty());
}

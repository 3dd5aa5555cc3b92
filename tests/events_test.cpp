// What a host is told without asking: every end once, in order, to its owner and to nobody else.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/event_collector.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

void notify(spawn_request& r) {
  r.notify = true;
}

int scaled(const char* name, int normal) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : normal;
}

/// Everything the session still has, fetched and acknowledged.
std::vector<event> drain_all(host& h, const std::string& session = "test") {
  std::vector<event> result;
  drain_request what;
  what.from.session = session;
  for (;;) {
    auto part = h.ask<drain_result>(drain_atom_v, what);
    result.insert(result.end(), part.events.begin(), part.events.end());
    what.from.after = part.last;
    if (!part.more) break;
  }
  what.limit = 0;
  h.ask<drain_result>(drain_atom_v, what);
  return result;
}

bool no_more(host& h, const std::string& session = "test") {
  caller who;
  who.session = session;
  const auto left = h.ask<linger_result>(linger_atom_v, who, caf::timespan{generous});
  return left.undelivered == 0 && left.promised == 0;
}

}  // namespace

TEST_CASE("the completion tells how it ended, with the routing facts of the caller") {
  host h;
  h.who = {"test", "turn-1", "irc", "#room", "thread 7", "message 9", "u1", "Zoë"};
  event_collector events{h};
  const auto started = h.start("echo hello; exit 7", notify);
  const auto list = events.when_count(1);
  REQUIRE(list.size() == 1);
  CHECK(list[0].kind == event_kind::completion);
  CHECK(list[0].process == started.id);
  CHECK(list[0].command == "echo hello; exit 7");
  CHECK(list[0].owner == h.who);
  REQUIRE(list[0].exit);
  CHECK(list[0].exit->code == 7);
  CHECK(list[0].output == "hello\n");
  CHECK(list[0].sequence > 0);
  CHECK(no_more(h));
}

TEST_CASE("whoever attaches before, while or after the end gets exactly one completion") {
  const int count = scaled("TROUPE_TEST_RACES", 250);
  host h;
  std::map<std::string, int> codes;
  const auto start_some = [&](int n) {
    for (int i = 0; i < n; ++i) {
      const int code = i % 2 == 0 ? 0 : 7;
      codes[h.start(code == 0 ? "true" : "exit 7", notify).id] = code;
    }
  };
  const auto check = [&](const std::vector<event>& list) {
    std::set<std::string> told;
    std::uint64_t last = 0;
    for (const auto& x : list) {
      REQUIRE(x.kind == event_kind::completion);
      REQUIRE(x.sequence > last);
      last = x.sequence;
      REQUIRE(told.insert(x.process).second);
      REQUIRE(codes.count(x.process) == 1);
      REQUIRE(x.exit->code == codes[x.process]);
    }
    REQUIRE(told.size() == codes.size());
  };
  SECTION("before") {
    event_collector events{h};
    start_some(count);
    const auto list = events.when_count(static_cast<std::size_t>(count));
    REQUIRE(no_more(h));
    check(events.now());
  }
  SECTION("while") {
    start_some(count / 2);
    event_collector events{h};
    start_some(count - count / 2);
    events.when_count(static_cast<std::size_t>(count));
    REQUIRE(no_more(h));
    check(events.now());
  }
  SECTION("after") {
    start_some(count);
    caller who;
    who.session = "test";
    drain_request nothing;
    nothing.from.session = "test";
    nothing.limit = 0;
    REQUIRE(eventually(
        [&] { return h.ask<linger_result>(linger_atom_v, who, caf::timespan{}).promised == 0; }));
    event_collector events{h};
    events.when_count(static_cast<std::size_t>(count));
    REQUIRE(no_more(h));
    check(events.now());
  }
  SECTION("again and again") {
    std::vector<std::unique_ptr<event_collector>> subscribers;
    for (int i = 0; i < 10; ++i) {
      start_some(count / 10);
      subscribers.push_back(std::make_unique<event_collector>(h));
      subscribers.back()->when([](const auto& x) { return !x.empty(); });
      subscribers.back()->leave();
    }
    subscribers.push_back(std::make_unique<event_collector>(h));
    REQUIRE(no_more(h));
    // What was delivered but not acknowledged when one left came again to the next.
    std::map<std::uint64_t, event> once;
    for (const auto& one : subscribers) {
      for (const auto& x : one->now()) once.emplace(x.sequence, x);
    }
    std::vector<event> list;
    for (const auto& [number, x] : once) list.push_back(x);
    check(list);
  }
}

TEST_CASE("an end that its owner has seen as a result is not told") {
  host h;
  SECTION("a wait that is there at the end") {
    const auto started = h.start("sleep 0.2; exit 3", notify);
    CHECK(h.wait(started.id).process.exit->code == 3);
    CHECK(no_more(h));
    CHECK(drain_all(h).empty());
  }
  SECTION("a poll after the event") {
    const auto started = h.start("true", notify);
    REQUIRE(eventually([&] { return h.poll(started.id).process.exit.has_value(); }));
    CHECK(no_more(h));
    CHECK(drain_all(h).empty());
  }
  SECTION("its own kill") {
    const auto started = h.start("sleep 600", notify);
    CHECK(h.kill(started.id).status == kill_status::killed);
    CHECK(no_more(h));
    CHECK(drain_all(h).empty());
  }
  SECTION("list, an earlier poll and a look that did not reach the end consume nothing") {
    const auto started = h.start("echo a; read x", [](spawn_request& r) {
      r.notify = true;
      r.stdin_pipe = true;
    });
    h.wait_until(started.id, "a");
    h.poll(started.id);
    h.log(started.id);
    h.write(started.id, "x\n");
    REQUIRE(eventually([&] {
      const auto rows = h.ask<std::vector<process_summary>>(list_atom_v, h.who);
      return rows.size() == 1 && rows[0].status == process_status::finished;
    }));
    const auto list = drain_all(h);
    REQUIRE(list.size() == 1);
    CHECK(list[0].process == started.id);
  }
}

TEST_CASE("events belong to their owner and to nobody else") {
  host h;
  event_collector mine{h, "test"};
  event_collector other{h, "other"};
  CHECK(h.ask_error<std::uint64_t>(subscribe_atom_v, subscription{},
                                   make_event_listener(h.system(), [](const event&) {})) ==
        errc::bad_argument);
  const auto known = h.start("true", notify);
  h.who.session.clear();
  h.start("true", notify);
  h.who.session = "test";
  const auto given = h.start("read x", [](spawn_request& r) {
    r.notify = false;
    r.stdin_pipe = true;
  });
  h.ask<process_summary>(handoff_atom_v, h.who, given.id, std::string{"other"},
                         std::string{"a build"});
  caller heir;
  heir.session = "other";
  h.ask<write_result>(write_atom_v, heir, given.id, write_request{"x\n", false});
  const auto theirs = other.when_count(1);
  REQUIRE(theirs.size() == 1);
  CHECK(theirs[0].process == given.id);
  CHECK(theirs[0].owner.session == "other");
  REQUIRE(mine.when_count(1).size() == 1);
  CHECK(mine.now()[0].process == known.id);
}

TEST_CASE("detach and yield turn notification on; a foreground command has none") {
  host h;
  event_collector events{h};
  h.run("true", notify);
  caf::scoped_actor self{h.system()};
  spawn_request request;
  request.id = "proc_00000000abcd";
  request.command = "echo up; read x";
  request.stdin_pipe = true;
  auto pending =
      compat::request_within(self.ptr(), generous, h.registry(), run_atom_v, h.who, request);
  h.wait_until(request.id, "up");
  h.ask<process_summary>(detach_atom_v, h.who, request.id);
  pending.receive([](const run_result& r) { CHECK(r.status == run_status::yielded); },
                  [](const caf::error& e) { FAIL(error_text(e)); });
  h.write(request.id, "x\n");
  const auto list = events.when_count(1);
  REQUIRE(list.size() == 1);
  CHECK(list[0].process == request.id);
}

TEST_CASE("matches are told with their lines; the rest is held back and counted at the end") {
  auto opts = host::quick_options();
  opts.watch_cooldown = 60s;
  host h{opts};
  event_collector events{h};
  const auto started =
      h.start("echo no; echo READY 1; read x; seq -f 'READY %g' 2 500; echo ERROR; read y",
              [](spawn_request& r) {
                r.watch_patterns = {"^READY", "ERR"};
                r.notify = true;
                r.stdin_pipe = true;
              });
  REQUIRE(events.when_count(1).size() == 1);
  h.write(started.id, "x\n");
  h.wait_until(started.id, "ERROR");
  CHECK(h.ask<std::vector<process_summary>>(list_atom_v, h.who)[0].watch_hits == 1);
  h.write(started.id, "y\n");
  const auto list = events.when_count(2);
  REQUIRE(list.size() == 2);
  CHECK(list[0].kind == event_kind::watch_match);
  CHECK(list[0].pattern == "^READY");
  CHECK(list[0].output == "READY 1");
  CHECK(list[0].owner == h.who);
  CHECK(list[1].kind == event_kind::completion);
  CHECK(list[1].held_back == 500);
}

TEST_CASE("a process that matches too often loses its watch and is told by its end") {
  auto opts = host::quick_options();
  opts.watch_cooldown = 200ms;
  host h{opts};
  event_collector events{h};
  const auto started = h.start("while :; do echo READY; sleep 0.005; done",
                               [](spawn_request& r) { r.watch_patterns = {"READY"}; });
  const auto seen = events.when([](const auto& list) {
    return !list.empty() && list.back().kind == event_kind::watch_disabled;
  });
  CHECK(seen.size() == 4);
  CHECK(seen.back().held_back > 0);
  REQUIRE(eventually(
      [&] { return h.ask<std::vector<process_summary>>(list_atom_v, h.who)[0].notify; }));
  kill_options by_other;
  h.ask<kill_all_result>(kill_all_atom_v, h.who, kill_all_options{});
  const auto list = events.when(
      [](const auto& x) { return !x.empty() && x.back().kind == event_kind::completion; });
  CHECK(list.size() == 5);
  CHECK(list.back().process == started.id);
}

TEST_CASE("a wrong pattern is refused with the reason, before anything runs") {
  host h;
  spawn_request request;
  request.command = "touch /tmp/troupe-must-not-exist-" + std::to_string(::getpid());
  request.watch_patterns = {"(oops"};
  CHECK(h.ask_error<start_result>(start_atom_v, h.who, request) == errc::bad_argument);
  CHECK(h.ask<std::vector<process_summary>>(list_atom_v, h.who).empty());
  request.watch_plain = true;
  CHECK(h.ask_error<start_result>(start_atom_v, h.who, request) == errc::none);
}

TEST_CASE("too many matches over all processes trip the breaker, with a count at its end") {
  auto opts = host::quick_options();
  opts.breaker_matches = 3;
  opts.breaker_pause = 300ms;
  host h{opts};
  event_collector events{h};
  for (int i = 0; i < 6; ++i) {
    const auto started =
        h.start("echo READY; sleep 600", [](spawn_request& r) { r.watch_patterns = {"READY"}; });
    h.wait_until(started.id, "READY");
  }
  const auto list = events.when_count(5);
  REQUIRE(list.size() == 5);
  CHECK(list[2].kind == event_kind::watch_match);
  CHECK(list[3].kind == event_kind::watch_overflow);
  CHECK(list[3].held_back == 0);
  CHECK(list[4].kind == event_kind::watch_overflow);
  CHECK(list[4].held_back == 3);
}

TEST_CASE("heartbeats tell what is new, once, and only while it runs") {
  auto opts = host::quick_options();
  opts.heartbeat_min = 100ms;
  host h{opts};
  event_collector events{h};
  const auto started =
      h.start("for i in 1 2 3; do read x; echo line $x; done", [](spawn_request& r) {
        r.heartbeat_seconds = 1;
        r.stdin_pipe = true;
      });
  // One second is what was asked for; the quick one is the minimum only.
  for (std::size_t i = 1; i <= 3; ++i) {
    h.write(started.id, std::to_string(i) + "\n");
    if (i < 3) REQUIRE(events.when_count(i).size() == i);
  }
  const auto list = events.when(
      [](const auto& x) { return !x.empty() && x.back().kind == event_kind::completion; });
  std::string told;
  for (const auto& x : list) {
    if (x.kind == event_kind::heartbeat) told += x.output;
  }
  CHECK(told == "line 1\nline 2\n");
  CHECK(list.back().output == "line 1\nline 2\nline 3\n");
  CHECK(no_more(h));
}

TEST_CASE("a slow subscriber gets a gap, and then goes on") {
  auto opts = host::quick_options();
  opts.events_per_session = 20;
  host h{opts};
  for (int i = 0; i < 50; ++i) h.start("true", notify);
  caller who;
  who.session = "test";
  REQUIRE(eventually(
      [&] { return h.ask<linger_result>(linger_atom_v, who, caf::timespan{}).promised == 0; }));
  const auto list = drain_all(h);
  REQUIRE(list.size() == 21);
  CHECK(list[0].kind == event_kind::gap);
  CHECK(list[0].held_back == 30);
  h.start("true", notify);
  event_collector events{h};
  const auto next = events.when_count(1);
  REQUIRE(next.size() == 1);
  CHECK(next[0].kind == event_kind::completion);
}

TEST_CASE("polling and lingering: a one-shot host waits until its promises are kept") {
  host h;
  const auto started = h.start("read x; exit 5", [](spawn_request& r) {
    r.notify = true;
    r.stdin_pipe = true;
  });
  auto now = h.ask<linger_result>(linger_atom_v, h.who, caf::timespan{50ms});
  CHECK(now.promised == 1);
  caf::scoped_actor self{h.system()};
  drain_request what;
  what.from.session = "test";
  what.wait = caf::timespan{generous};
  auto pending = compat::request_within(self.ptr(), generous, h.registry(), drain_atom_v, what);
  h.write(started.id, "x\n");
  pending.receive(
      [&](const drain_result& r) {
        REQUIRE(r.events.size() == 1);
        CHECK(r.events[0].exit->code == 5);
        what.from.after = r.last;
      },
      [](const caf::error& e) { FAIL(error_text(e)); });
  CHECK(h.ask<linger_result>(linger_atom_v, h.who, caf::timespan{}).undelivered == 1);
  what.limit = 0;
  h.ask<drain_result>(drain_atom_v, what);
  CHECK(no_more(h));
}

TEST_CASE("a wait for several answers at the first, or when all are there") {
  host h;
  const auto keep = [](spawn_request& r) { r.stdin_pipe = true; };
  const auto a = h.start("read x; exit 1", keep);
  const auto b = h.start("echo up; read x; exit 2", keep);
  wait_many_options what;
  what.ids = {a.id, b.id};
  what.each.until = "up";
  auto first = h.ask<wait_many_result>(wait_atom_v, h.who, what);
  REQUIRE(first.results.size() == 2);
  CHECK(first.results[0].status == wait_status::timeout);
  CHECK(first.results[1].status == wait_status::matched);
  what.each.until.clear();
  caf::scoped_actor self{h.system()};
  auto any = compat::request_within(self.ptr(), generous, h.registry(), wait_atom_v, h.who, what);
  h.write(b.id, "x\n");
  any.receive(
      [&](const wait_many_result& r) {
        CHECK(r.results[0].process.status == process_status::running);
        CHECK(r.results[1].process.exit->code == 2);
      },
      [](const caf::error& e) { FAIL(error_text(e)); });
  what.all = true;
  auto all = compat::request_within(self.ptr(), generous, h.registry(), wait_atom_v, h.who, what);
  h.write(a.id, "x\n");
  all.receive(
      [&](const wait_many_result& r) {
        CHECK(r.results[0].process.exit->code == 1);
        CHECK(r.results[1].process.exit->code == 2);
      },
      [](const caf::error& e) { FAIL(error_text(e)); });
  what.ids.emplace_back("proc_ffffffffffff");
  CHECK(h.ask_error<wait_many_result>(wait_atom_v, h.who, what) == errc::not_found);
}

TEST_CASE(
    "in whatever order things happen around the end, it is told once at most and never lost") {
  const int rounds = scaled("TROUPE_TEST_ORDERS", 150);
  auto opts = host::quick_options();
  opts.grace = 100ms;
  host h{opts};
  std::mt19937 random{20261129};
  enum class step { kill, finish, wait, poll, short_wait, interrupt, subscribe, leave, count };
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    h.who.session = "s" + std::to_string(round);
    h.who.turn = "start";
    const auto started = h.start("read x; exit 4", [](spawn_request& r) {
      r.notify = true;
      r.stdin_pipe = true;
    });
    std::vector<step> steps;
    for (int i = 0; i < static_cast<int>(step::count); ++i) steps.push_back(static_cast<step>(i));
    std::shuffle(steps.begin(), steps.end(), random);
    std::unique_ptr<event_collector> subscriber;
    std::vector<event> told;
    int shown = 0;
    std::vector<std::unique_ptr<caf::scoped_actor>> waiters;
    std::vector<std::function<void()>> answers;
    const auto look = [&](const process_summary& p) { shown += p.exit ? 1 : 0; };
    const auto wait_for = [&](std::chrono::milliseconds limit) {
      auto& self = *waiters.emplace_back(std::make_unique<caf::scoped_actor>(h.system()));
      wait_options what;
      what.timeout = limit;
      auto who = h.who;
      who.turn = "wait";
      auto pending = std::make_shared<decltype(compat::request_within(
          self.ptr(), generous, h.registry(), wait_atom_v, who, started.id, what))>(
          compat::request_within(self.ptr(), generous, h.registry(), wait_atom_v, who, started.id,
                                 what));
      answers.emplace_back([&, pending] {
        pending->receive([&](const wait_result& r) { look(r.process); },
                         [](const caf::error& e) { FAIL(error_text(e)); });
      });
    };
    for (const auto what : steps) {
      auto who = h.who;
      switch (what) {
        case step::kill: {
          caller nobody;  // as a sweep does: not the owner's own
          (void)nobody;
          compat::anon_send(h.registry(), kill_all_atom_v, who, kill_all_options{});
          break;
        }
        case step::finish:
          compat::anon_send(h.registry(), write_atom_v, who, started.id,
                            write_request{"x\n", false});
          break;
        case step::wait:
          wait_for(generous);
          break;
        case step::short_wait:
          wait_for(1ms);
          break;
        case step::poll:
          look(h.poll(started.id).process);
          break;
        case step::interrupt:
          who.turn = "wait";
          compat::anon_send(h.registry(), interrupt_atom_v, who);
          break;
        case step::subscribe:
          subscriber = std::make_unique<event_collector>(h, h.who.session);
          break;
        case step::leave:
          if (subscriber) {
            subscriber->leave();
            told = subscriber->now();
          }
          break;
        case step::count:
          break;
      }
    }
    for (auto& answer : answers) answer();
    REQUIRE(eventually([&] {
      const auto rows = h.ask<std::vector<process_summary>>(list_atom_v, h.who);
      return rows.size() == 1 && rows[0].status == process_status::finished;
    }));
    event_collector rest{h, h.who.session};
    REQUIRE(no_more(h, h.who.session));
    std::set<std::uint64_t> numbers;
    if (subscriber) told = subscriber->now();
    for (const auto& x : rest.now()) told.push_back(x);
    for (const auto& x : told) {
      CHECK(x.kind == event_kind::completion);
      numbers.insert(x.sequence);
    }
    CHECK(numbers.size() <= 1);
    CHECK(numbers.size() + static_cast<std::size_t>(shown) >= 1);
  }
}

TEST_CASE("all ends of one second are told, in order") {
  const int count = scaled("TROUPE_TEST_ENDS", 300);
  temporary_dir dir;
  auto opts = host::quick_options();
  opts.running_per_session = static_cast<std::size_t>(count) + 1;
  opts.state_dir = dir.path() + "/state";
  host h{opts};
  const auto fifo = dir.path() + "/fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  event_collector events{h};
  std::set<std::string> ids;
  for (int i = 0; i < count; ++i) ids.insert(h.start("read x < " + fifo, notify).id);
  // Opening the other end lets all of them go.
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(eventually([&] {
    const int fd = ::open(fifo.c_str(), O_WRONLY | O_NONBLOCK);
    if (fd >= 0) ::close(fd);
    return events.now().size() >= static_cast<std::size_t>(count);
  }));
  const auto took = std::chrono::steady_clock::now() - begin;
  WARN(count << " completions in "
             << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms");
  CHECK(took < 20s);
  const auto list = events.now();
  REQUIRE(list.size() == static_cast<std::size_t>(count));
  std::uint64_t last = 0;
  for (const auto& x : list) {
    CHECK(x.sequence > last);
    last = x.sequence;
    CHECK(ids.erase(x.process) == 1);
  }
}

TEST_CASE("a flood of matches costs a few events and nobody's time") {
  const auto length = std::chrono::seconds{scaled("TROUPE_TEST_FLOOD_SECONDS", 3)};
  host h;
  event_collector events{h};
  const auto flood = h.start("while :; do seq -f 'READY %g' 1000; sleep 0.1; done; :",
                             [](spawn_request& r) { r.watch_patterns = {"READY"}; });
  const auto quiet = h.start("sleep 600");
  h.wait_until(flood.id, "READY");
  const auto before = resident_kib();
  std::vector<double> ms;
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end) {
    const auto begin = std::chrono::steady_clock::now();
    h.poll(quiet.id);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                     .count());
  }
  std::sort(ms.begin(), ms.end());
  const auto p99 = ms[ms.size() * 99 / 100];
  WARN("p99 of " << ms.size() << " polls beside the flood: " << p99 << " ms, memory +"
                 << resident_kib() - before << " KiB");
  CHECK(p99 < 50);
  CHECK(resident_kib() - before < 2 * allowed_kib);
  CHECK(events.now().size() <= 9);
}

// -- cases ----------------------------------------------------------------------------------------

TEST_CASE("C24: a client that was cut off goes on at its old cursor: every line once") {
  host h;
  const auto started = h.start("for i in $(seq 100); do echo $i; sleep 0.01; done", notify);
  std::string all;
  poll_options what;
  what.cursor = 0;
  const auto read_on = [&] {
    const auto part = h.poll(started.id, what);
    all += part.output.value();
    CHECK(part.gap == 0);
    what.cursor = part.cursor;
    return part.process.exit.has_value();
  };
  REQUIRE(eventually([&] {
    read_on();
    return std::count(all.begin(), all.end(), '\n') >= 20;
  }));
  h.wait_until(started.id, "^60$");
  event_collector events{h};  // comes back
  REQUIRE(eventually(read_on));
  std::string expected;
  for (int i = 1; i <= 100; ++i) expected += std::to_string(i) + "\n";
  CHECK(all == expected);
}

TEST_CASE("C39: fifty jobs with notify and watch, half of them also waited for") {
  auto opts = host::quick_options();
  opts.breaker_matches = 1'000;
  host h{opts};
  event_collector events{h};
  std::map<std::string, int> codes;
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) {
    const auto started = h.start(
        "sleep 0." + std::to_string(100 + 7 * i) + "; echo READY; exit " + std::to_string(i % 3),
        [](spawn_request& r) {
          r.notify = true;
          r.watch_patterns = {"READY"};
        });
    codes[started.id] = i % 3;
    ids.push_back(started.id);
  }
  for (std::size_t i = 0; i < ids.size(); i += 2) {
    CHECK(h.wait(ids[i]).process.exit->code == codes[ids[i]]);
  }
  REQUIRE(no_more(h));
  std::map<std::string, int> matches;
  std::map<std::string, int> ends;
  for (const auto& x : events.now()) {
    if (x.kind == event_kind::watch_match) {
      ++matches[x.process];
      CHECK(x.output == "READY");
    } else {
      REQUIRE(x.kind == event_kind::completion);
      ++ends[x.process];
      CHECK(x.exit->code == codes[x.process]);
    }
  }
  CHECK(matches.size() == 50);
  for (const auto& [id, count] : matches) CHECK(count == 1);
  for (const auto& [id, count] : ends) CHECK(count == 1);
  // Those that nobody waited for were told; the others by the answer or, if it ended before the wait
  // came, by the event.
  for (std::size_t i = 1; i < ids.size(); i += 2) CHECK(ends.count(ids[i]) == 1);
}

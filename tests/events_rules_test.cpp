// The rules behind events, without actors: numbering and memory, consumption, watch limits, matching,
// the journal's JSON. The clock is the test's.
#include <algorithm>
#include <random>
#include <set>

#include "troupe/actors/event_codec.hpp"
#include "troupe/actors/event_index.hpp"
#include "troupe/actors/heartbeat.hpp"
#include "troupe/actors/metrics.hpp"
#include "troupe/actors/runtime.hpp"
#include "troupe/actors/watch_matcher.hpp"
#include "troupe/actors/watch_policy.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

event of(const std::string& session, const std::string& process,
         event_kind kind = event_kind::completion) {
  event x;
  x.kind = kind;
  x.at = caf::make_timestamp();
  x.owner.session = session;
  x.process = process;
  return x;
}

std::vector<std::uint64_t> numbers(const std::vector<event>& list) {
  std::vector<std::uint64_t> result;
  for (const auto& x : list) result.push_back(x.sequence);
  return result;
}

constexpr auto all = std::numeric_limits<std::uint64_t>::max();

watch_matcher matcher_of(const std::vector<std::string>& patterns, bool plain = false) {
  auto made = watch_patterns::make(patterns, plain);
  REQUIRE(made);
  return watch_matcher{*made};
}

}  // namespace

// -- the index ------------------------------------------------------------------------------------

TEST_CASE("every session gets its own events, in order, until they are acknowledged") {
  event_index index{{}};
  std::vector<event_index::expiry> expired;
  index.number_after(100);
  CHECK(index.add(of("a", "p1"), false, expired)->sequence == 101);
  index.add(of("b", "p2"), false, expired);
  index.add(of("a", "p3"), false, expired);
  CHECK(numbers(index.next("a", 0, all, 10)) == std::vector<std::uint64_t>{101, 103});
  CHECK(numbers(index.next("a", 101, all, 10)) == std::vector<std::uint64_t>{103});
  CHECK(numbers(index.next("a", 0, 102, 10)) == std::vector<std::uint64_t>{101});
  CHECK(numbers(index.next("a", 0, all, 1)) == std::vector<std::uint64_t>{101});
  CHECK(index.next("", 0, all, 10).empty());
  CHECK(index.keep_from() == 101);
  index.acknowledge("a", 101);
  CHECK(index.keep_from() == 102);
  CHECK(numbers(index.next("a", 0, all, 10)) == std::vector<std::uint64_t>{103});
  index.acknowledge("a", 103);
  index.acknowledge("b", 103);
  CHECK(index.size() == 0);
  CHECK(index.bytes() == 0);
  CHECK(index.keep_from() == 104);
}

TEST_CASE("what its owner has seen is not told, in both orders of arrival; watch events are") {
  event_index index{{}};
  std::vector<event_index::expiry> expired;
  SECTION("the event first") {
    index.add(of("a", "p", event_kind::watch_match), false, expired);
    const auto number = index.add(of("a", "p"), false, expired)->sequence;
    CHECK(index.consume("a", "p") == number);
  }
  SECTION("the result first") {
    index.add(of("a", "p", event_kind::watch_match), false, expired);
    CHECK_FALSE(index.consume("a", "p"));
    index.add(of("a", "p"), false, expired);
  }
  SECTION("together") {
    index.add(of("a", "p", event_kind::watch_match), false, expired);
    index.add(of("a", "p"), true, expired);
  }
  const auto left = index.next("a", 0, all, 10);
  REQUIRE(left.size() == 1);
  CHECK(left[0].kind == event_kind::watch_match);
}

TEST_CASE("somebody else's look consumes nothing") {
  event_index index{{}};
  std::vector<event_index::expiry> expired;
  index.add(of("a", "p"), false, expired);
  CHECK_FALSE(index.consume("b", "p"));
  CHECK(index.next("a", 0, all, 10).size() == 1);
}

TEST_CASE("a dead subscriber costs a bounded amount of memory, and gets a gap with the count") {
  event_index index{{10, 1 << 20}};
  std::vector<event_index::expiry> expired;
  for (int i = 0; i < 25; ++i) index.add(of("a", "p" + std::to_string(i)), false, expired);
  CHECK(index.size() == 10);
  REQUIRE_FALSE(expired.empty());
  CHECK(expired.back().upto == 15);
  const auto list = index.next("a", 0, all, 64);
  REQUIRE(list.size() == 11);
  CHECK(list[0].kind == event_kind::gap);
  CHECK(list[0].held_back == 15);
  CHECK(list[0].sequence == 15);
  CHECK(list[1].sequence == 16);
  index.acknowledge("a", 15);
  CHECK(index.next("a", 15, all, 64).front().kind == event_kind::completion);
}

TEST_CASE("memory is bounded over all sessions; whoever piled up most gives most") {
  event_index index{{100'000, 1 << 20}};
  std::vector<event_index::expiry> expired;
  auto small = of("small", "p");
  index.add(small, false, expired);
  for (int i = 0; i < 5'000; ++i) {
    auto big = of("big", "q" + std::to_string(i));
    big.output = std::string(2'000, 'x');
    index.add(big, false, expired);
    REQUIRE(index.bytes() < (1 << 20) + 10'000);
  }
  CHECK(index.next("small", 0, all, 10).size() == 1);
  CHECK(index.next("big", 0, all, 10).front().kind == event_kind::gap);
}

TEST_CASE("what is too old is thrown away with a gap") {
  event_index index{{}};
  std::vector<event_index::expiry> expired;
  auto old = of("a", "p");
  old.at -= std::chrono::hours{24 * 8};
  index.add(old, false, expired);
  index.add(of("a", "q"), false, expired);
  const auto gone = index.expire_before(caf::make_timestamp() - std::chrono::hours{24 * 7});
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].session == "a");
  const auto list = index.next("a", 0, all, 10);
  REQUIRE(list.size() == 2);
  CHECK(list[0].kind == event_kind::gap);
}

// -- watch limits ---------------------------------------------------------------------------------

TEST_CASE("a told match opens a window in which others are held back and counted") {
  watch_policy policy{{}};
  watch_clock::time_point now{};
  using verdict = watch_policy::verdict;
  CHECK(policy.match(1, now) == verdict::deliver);
  CHECK_FALSE(policy.delivered(0, now));
  CHECK(policy.match(3, now + 1s) == verdict::hold);
  CHECK(policy.match(4, now + 14'999ms) == verdict::hold);
  CHECK(policy.held_back() == 7);
  CHECK(policy.match(1, now + 15s) == verdict::deliver);
  CHECK_FALSE(policy.delivered(0, now + 15s));
  CHECK(policy.held_back() == 0);
}

TEST_CASE("three windows in a row with held-back matches end watching") {
  watch_policy policy{{}};
  watch_clock::time_point now{};
  using verdict = watch_policy::verdict;
  for (int window = 0; window < 2; ++window, now += 15s) {
    REQUIRE(policy.match(1, now) == verdict::deliver);
    policy.delivered(0, now);
    REQUIRE(policy.match(1, now + 1s) == verdict::hold);
  }
  REQUIRE(policy.match(1, now) == verdict::deliver);
  policy.delivered(0, now);
  CHECK(policy.match(5, now + 1s) == verdict::disable);
  CHECK(policy.disabled());
  CHECK(policy.held_back() == 5);
}

TEST_CASE("a quiet window forgives the ones before it; the eighth match is the last") {
  watch_policy policy{{}};
  watch_clock::time_point now{};
  using verdict = watch_policy::verdict;
  for (int window = 1; window <= 8; ++window, now += 20s) {
    CAPTURE(window);
    REQUIRE(policy.match(1, now) == verdict::deliver);
    CHECK(policy.delivered(0, now) == (window == 8));
    if (window % 3 != 0 && window < 8) REQUIRE(policy.match(1, now + 1s) == verdict::hold);
  }
  CHECK(policy.match(1, now) == verdict::disable);
}

TEST_CASE("over all processes more than 15 matches in 10 s trip a breaker for 30 s") {
  watch_breaker breaker{{}};
  watch_clock::time_point now{};
  for (int i = 0; i < 15; ++i) {
    CHECK(breaker.match("s" + std::to_string(i), 1, now).admitted);
    now += 600ms;
  }
  const auto tripped = breaker.match("x", 2, now);
  CHECK_FALSE(tripped.admitted);
  CHECK(tripped.tripped);
  CHECK(tripped.announce);
  CHECK(tripped.pause == 30s);
  const auto again = breaker.match("x", 3, now + 10s);
  CHECK_FALSE(again.announce);
  CHECK_FALSE(again.tripped);
  CHECK(again.pause == 20s);
  CHECK(breaker.match("y", 1, now + 29s).announce);
  const auto counts = breaker.reset();
  REQUIRE(counts.size() == 2);
  CHECK(counts[0].lines == 5);
  CHECK(counts[1].lines == 1);
  CHECK(breaker.match("x", 1, now + 30s).admitted);
}

TEST_CASE("slow matches never trip the breaker") {
  watch_breaker breaker{{}};
  watch_clock::time_point now{};
  for (int i = 0; i < 1'000; ++i, now += 700ms) REQUIRE(breaker.match("s", 1, now).admitted);
}

// -- matching -------------------------------------------------------------------------------------

TEST_CASE("lines are matched when they are complete, whatever the reads, without their colours") {
  const std::string output = "no\n\x1b[31mREADY\x1b[0m now\r\nERR\nREADY again";
  for (std::size_t step = 1; step <= output.size(); ++step) {
    auto matcher = matcher_of({"^READY", "ER+"});
    for (std::size_t at = 0; at < output.size(); at += step) {
      matcher.feed(std::string_view{output}.substr(at, step));
    }
    auto batch = matcher.take();
    REQUIRE(batch.matched == 2);
    REQUIRE(batch.lines == "READY now\nERR");
    REQUIRE(batch.pattern == "^READY");
    REQUIRE_FALSE(matcher.has_batch());
    matcher.finish();
    REQUIRE(matcher.take().lines == "READY again");
  }
}

TEST_CASE("a batch shows 20 lines and 2,000 characters at most and counts the rest") {
  auto matcher = matcher_of({"READY"});
  for (int i = 0; i < 10'000; ++i) matcher.feed("READY\n");
  const auto batch = matcher.take();
  CHECK(batch.matched == 10'000);
  CHECK(batch.shown == 20);
  CHECK(std::count(batch.lines.begin(), batch.lines.end(), '\n') == 19);
  matcher.feed("READY " + std::string(5'000, 'x') + "\n" + "READY 2\n");
  const auto wide = matcher.take();
  CHECK(wide.matched == 2);
  CHECK(wide.shown == 1);
  CHECK(wide.lines.size() == 2'000);
}

TEST_CASE("a very long line is matched in a bounded window and counts once") {
  auto matcher = matcher_of({"needle"});
  std::string line(1 << 20, 'x');
  for (std::size_t at = 1'000; at < line.size(); at += 100'000) line.replace(at, 6, "needle");
  line.replace(16 * 1024 - 3, 6, "needle");
  matcher.feed(line);
  matcher.feed("\n");
  CHECK(matcher.take().matched == 1);
  auto across = matcher_of({"needle"});
  std::string one(100'000, 'x');
  one.replace(16 * 1024 - 3, 6, "needle");
  across.feed(one + "\n");
  CHECK(across.take().matched == 1);
}

TEST_CASE("patterns are refused with the reason; plain text may be anything") {
  init_types();  // errors carry their text as a message
  const auto bad = watch_patterns::make({"ok", "(unclosed"}, false);
  REQUIRE_FALSE(bad);
  CHECK_THAT(error_text(bad.error()), ContainsSubstring("watch_patterns"));
  CHECK_THAT(error_text(bad.error()), ContainsSubstring("(unclosed"));
  CHECK_FALSE(watch_patterns::make({""}, false));
  auto plain = matcher_of({"(unclosed"}, true);
  plain.feed("an (unclosed one\n");
  CHECK(plain.take().matched == 1);
}

// -- heartbeats, kinds, the journal's JSON --------------------------------------------------------

TEST_CASE("heartbeats do not drift and are never more often than the minimum") {
  using clock = heartbeat_schedule::clock;
  CHECK(heartbeat_schedule::period_of(5, 60s) == 60s);
  CHECK(heartbeat_schedule::period_of(90, 60s) == 90s);
  const clock::time_point start{};
  const heartbeat_schedule schedule{60s, start};
  CHECK(schedule.until_next(start) == 60s);
  CHECK(schedule.until_next(start + 61s) == 59s);
  CHECK(schedule.until_next(start + 1'000s) == 20s);
}

TEST_CASE("the kind of a command is that of its first program") {
  CHECK(command_kind("git status") == "vcs");
  CHECK(command_kind("  FOO=1 sudo /usr/bin/make -j4") == "build");
  CHECK(command_kind("(cd x; ls)") == "other");
  CHECK(command_kind("") == "other");
  CHECK(command_kind("my-secret-tool --token=abc") == "other");
}

TEST_CASE("events survive the journal exactly, also what is no text") {
  event x = of("session \xff", "proc_1");
  x.sequence = 42;
  x.owner.turn = "t";
  x.owner.platform = "p\n\"";
  x.owner.chat = "c\xc3\xa4";
  x.owner.thread = std::string{"a\0b", 3};
  x.owner.message = "m";
  x.owner.user_id = "u";
  x.owner.user_name = "Zo\xc3\xab";
  x.command = "echo '\xff'";
  exit_info end;
  end.signal = 9;
  end.reason = finish_reason::killed;
  end.source = "process.kill";
  end.descendants = {1, 2};
  x.exit = end;
  x.duration = caf::timespan{123'456'789};
  x.output = "out";
  x.output_cut = 7;
  x.held_back = 3;
  x.note = "n";
  const auto back = decode_event(42, encode_event(x));
  REQUIRE(back);
  CHECK(*back == x);
  x.exit->signal = 0;
  x.exit->code = 137;
  CHECK(decode_event(42, encode_event(x)) == x);
  CHECK_FALSE(decode_event(1, "{\"kind\":\"nonsense\"}"));
  CHECK_FALSE(decode_event(1, "not json"));
  const auto mark = decode_mark(encode_mark({"s\xff", 17}));
  REQUIRE(mark);
  CHECK(mark->session == "s\xff");
  CHECK(mark->number == 17);
}

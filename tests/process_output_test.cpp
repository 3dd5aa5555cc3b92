// What is kept of the output, and how it is shown.
#include <fstream>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"
#include "troupe/text/utf8.hpp"

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

TEST_CASE("every byte is counted, the last 200,000 are kept") {
  host h;
  const auto started = h.start("seq 1 100000");
  h.wait(started.id);
  const auto polled = h.poll(started.id);
  CHECK(polled.total_bytes == 588'895);
  CHECK(polled.dropped_bytes == 588'895 - 200'000);
  CHECK_THAT(polled.process.output_preview, EndsWith("99999\n100000\n"));
  const auto whole = h.poll(started.id, {polled.dropped_bytes, output_view::raw, false});
  CHECK(whole.output->size() == 200'000);
  const auto from_start = h.poll(started.id, {std::uint64_t{0}, output_view::text, false});
  CHECK(from_start.gap == polled.dropped_bytes);
}

TEST_CASE("all of a pseudo terminal's output arrives, with CR LF") {
  host h;
  for (int i = 0; i < 5; ++i) {
    const auto started = h.start("seq 1 100000", [](spawn_request& r) { r.pty = true; });
    h.wait(started.id);
    CHECK(h.poll(started.id).total_bytes == 688'895);
  }
}

TEST_CASE("a cursor reads on where it was, without loss or repetition") {
  host h;
  const auto started = h.start(
      "for i in $(seq 1 200); do printf '%d-\\xe3\\x81\\x82-\\xf0\\x9f\\x98\\x80\\n' $i; done");
  std::string all;
  follow_options what;
  what.max_bytes = 7;
  for (;;) {
    const auto chunk = h.ask<output_chunk>(follow_atom_v, h.who, started.id, what);
    CHECK(text::is_valid_utf8(chunk.data));
    all += chunk.data;
    what.cursor = chunk.cursor;
    if (chunk.finished) break;
  }
  std::string expected;
  for (int i = 1; i <= 200; ++i) expected += std::to_string(i) + "-\u3042-\U0001F600\n";
  CHECK(all == expected);
  // A cursor inside a character gives valid text and the same total.
  for (std::uint64_t at = 0; at < 30; ++at) {
    const auto polled = h.poll(started.id, {at, output_view::text, false});
    CHECK(text::is_valid_utf8(*polled.output));
    CHECK(polled.total_bytes == expected.size());
    CHECK(polled.cursor == expected.size());
  }
}

TEST_CASE("characters are whole whatever the read boundaries are") {
  host h;
  const std::string line = "\u65e5\u672c\u8a9e\u306e\u884c\u3067\u3059";
  std::string bytes;
  for (const char c : line) {
    bytes += "printf '\\x" + std::string{"0123456789abcdef"[(c >> 4) & 15]} +
             std::string{"0123456789abcdef"[c & 15]} + "'; sleep 0.005; ";
  }
  const auto started = h.start(bytes + "echo");
  follow_options what;
  std::string all;
  for (;;) {
    const auto chunk = h.ask<output_chunk>(follow_atom_v, h.who, started.id, what);
    CHECK(text::is_valid_utf8(chunk.data));
    CHECK(chunk.data.find("\uFFFD") == std::string::npos);
    all += chunk.data;
    what.cursor = chunk.cursor;
    if (chunk.finished) break;
  }
  CHECK(all == line + "\n");
}

TEST_CASE("control sequences are removed from text, not from the bytes") {
  host h;
  const std::string command =
      R"(printf '\033[31mred\033[0m\033]0;title\007\033[6n\033]11;?\007ok\n'; printf '\033[3'; sleep 0.1; printf '1mX\n')";
  const auto started = h.start(command);
  const auto ended = h.wait(started.id);
  CHECK(ended.output == "redok\nX\n");
  const auto raw = h.poll(started.id, {std::uint64_t{0}, output_view::raw, false});
  CHECK(*raw.output == "\033[31mred\033[0m\033]0;title\007\033[6n\033]11;?\007ok\n\033[31mX\n");
  const auto pty = h.start(command, [](spawn_request& r) { r.pty = true; });
  CHECK(h.wait(pty.id).output == "redok\r\nX\r\n");
}

TEST_CASE("the last line survives the cut of a foreground result, and the counts are exact") {
  host h;
  const auto result = h.run(
      "for i in 1 2 3 4 5; do head -c 200000 /dev/zero | tr '\\0' a; echo; done; "
      "echo 'ERROR: real failure'; exit 1");
  CHECK(result.process.exit->code == 1);
  CHECK(result.truncated);
  CHECK_THAT(result.output, EndsWith("ERROR: real failure\n"));
  CHECK_THAT(result.output, ContainsSubstring("[OUTPUT TRUNCATED - "));
  CHECK(result.output_total_bytes == 5 * 200'001 + 20);
  CHECK(result.output_omitted_chars == 5 * 200'001 + 20 - 50'000);
  const auto exact = h.run("head -c 50000 /dev/zero | tr '\\0' b");
  CHECK_FALSE(exact.truncated);
  CHECK(exact.output == std::string(50'000, 'b'));
  const auto above = h.run("head -c 50001 /dev/zero | tr '\\0' b");
  CHECK(above.truncated);
  CHECK(above.output_omitted_chars == 1);
}

TEST_CASE("a flood costs no memory and disturbs nobody") {
  host h;
  h.run("true");
  const auto before = resident_kib();
  const auto flood = h.start("yes");
  for (int i = 0; i < 200; ++i) {
    h.poll(flood.id);
    h.run("true");
  }
  CHECK(resident_kib() - before < allowed_kib);
  CHECK(h.poll(flood.id).total_bytes > 1'000'000);
  const auto big = h.start("head -c 200000000 /dev/zero | tr '\\0' x");
  h.wait(big.id);
  CHECK(h.poll(big.id).total_bytes == 200'000'000);
  CHECK(resident_kib() - before < allowed_kib);
  const auto killed = h.kill(flood.id);
  CHECK(killed.status == kill_status::killed);
  CHECK(alive_with_marker(flood.id).empty());
}

TEST_CASE("log shows lines from either end, and searches") {
  host h;
  const auto started = h.start("seq 1 50");
  h.wait(started.id);
  auto log = h.log(started.id);
  CHECK(log.total_lines == 50);
  CHECK(log.shown_lines == 50);
  CHECK(log.reached_end);
  log_options what;
  what.offset = 10;
  what.limit = 5;
  log = h.log(started.id, what);
  CHECK(log.output == "11\n12\n13\n14\n15");
  CHECK_FALSE(log.reached_end);
  what.offset = 0;
  what.limit = 1;
  CHECK(h.log(started.id, what).output == "1");
  what.offset.reset();
  what.limit = 2;
  CHECK(h.log(started.id, what).output == "49\n50");
  what = {};
  what.search = "^4.$";
  log = h.log(started.id, what);
  CHECK(log.matches.size() == 10);
  CHECK(log.matches.front().line == 39);
  what.search = "(";
  CHECK(h.ask_error<log_result>(log_atom_v, h.who, started.id, what) == errc::bad_argument);
}

TEST_CASE("secrets are masked in text, the bytes stay") {
  host h;
  const std::string token = "ghp_" + std::string(36, 'a');
  const auto started = h.start("echo token " + token);
  const auto ended = h.wait(started.id);
  CHECK(ended.output.find(token) == std::string::npos);
  CHECK_THAT(*h.poll(started.id, {std::uint64_t{0}, output_view::raw, false}).output,
             ContainsSubstring(token));
}

TEST_CASE("a terminal program can be looked at as a screen") {
  host h;
  const auto started = h.start(R"(printf 'one\rtwo\n\033[5;3Hat five'; read x)",
                               [](spawn_request& r) { r.pty = true; });
  h.wait_until(started.id, "at five");
  const auto polled = h.poll(started.id, {std::nullopt, output_view::screen, false});
  CHECK_THAT(*polled.output, ContainsSubstring("two"));
  CHECK(polled.output->find("one") == std::string::npos);
  CHECK_THAT(*polled.output, ContainsSubstring("\n\n\n  at five"));
  CHECK(h.ask_error<poll_result>(poll_atom_v, h.who, h.start("sleep 60").id,
                                 poll_options{std::nullopt, output_view::screen, false}) ==
        errc::bad_state);
}

TEST_CASE("closing the output is not the end") {
  host h;
  const auto started = h.start("echo before; exec >&- 2>&-; sleep 0.3; exit 5");
  h.wait_until(started.id, "before");
  const auto ended = h.wait(started.id);
  CHECK(ended.process.exit->code == 5);
}

TEST_CASE("held output waits for its follower and loses nothing") {
  host h;
  const auto started =
      h.start("seq 1 300000; echo end", [](spawn_request& r) { r.hold_output = true; });
  follow_options what;
  what.view = output_view::raw;
  what.max_bytes = 100'000;
  std::string all;
  for (;;) {
    const auto chunk = h.ask<output_chunk>(follow_atom_v, h.who, started.id, what);
    REQUIRE(chunk.gap == 0);
    all += chunk.data;
    what.cursor = chunk.cursor;
    if (chunk.finished) break;
  }
  CHECK(all.size() == 1'988'895 + 4);
  CHECK_THAT(all, EndsWith("300000\nend\n"));
  // A kill does not wait for a reader.
  const auto stuck = h.start("yes", [](spawn_request& r) { r.hold_output = true; });
  CHECK(h.kill(stuck.id).status == kill_status::killed);
}

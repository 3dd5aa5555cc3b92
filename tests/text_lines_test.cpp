// Line splitting.
#include "troupe/tests/catch.hpp"
#include "troupe/text/lines.hpp"

#include <random>
#include <string>
#include <vector>

using namespace troupe::text;

namespace {

/// Lines as readable records: `+` marks a continuation, `…` a piece that is not the end of a line.
std::vector<std::string> lines_of(const std::string& text, size_t max_line, std::mt19937* random) {
  line_splitter splitter(max_line);
  std::vector<std::string> out;
  auto take = [&out](line_view line) {
    out.push_back((line.continuation ? "+" : "") + std::string(line.text) +
                  (line.complete ? "" : "…"));
  };
  for (size_t at = 0; at < text.size();) {
    const size_t n = random ? (*random)() % 7 : text.size();
    splitter.feed(std::string_view(text).substr(at, n), take);
    at += n;
  }
  splitter.finish(take);
  return out;
}

using list = std::vector<std::string>;

}  // namespace

TEST_CASE("lines come without line ends, an unfinished one at the end") {
  CHECK(lines_of("a\r\nb\n\nc", 100, nullptr) == list{"a", "b", "", "c…"});
  CHECK(lines_of("a\rb\r\r\n", 100, nullptr) == list{"a\rb\r"});
  CHECK(lines_of("a\n", 100, nullptr) == list{"a"});
  CHECK(lines_of("", 100, nullptr).empty());
}

TEST_CASE("a long line comes in bounded pieces") {
  CHECK(lines_of("0123456789\nx\n", 4, nullptr) == list{"0123…", "+4567…", "+89", "x"});
  CHECK(lines_of("0123\n", 4, nullptr) == list{"0123"});
  CHECK(lines_of("0123\r\n", 4, nullptr) == list{"0123"});
  CHECK(lines_of("01234567\r\n", 4, nullptr) == list{"0123…", "+4567"});
  CHECK(lines_of("abc\xe2\x82\xac\n", 4, nullptr) == list{"abc…", "+\xe2\x82\xac"});
}

TEST_CASE("lines do not depend on how the text is split") {
  std::mt19937 random(5);
  const std::string pool = "ab\r\n\n\xe2\x82\xac";
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (size_t n = random() % 60; n > 0; --n) text += pool[random() % pool.size()];
    CAPTURE(text);
    REQUIRE(lines_of(text, 5, &random) == lines_of(text, 5, nullptr));
    REQUIRE(lines_of(text, 100, &random) == lines_of(text, 100, nullptr));
  }
}

TEST_CASE("the splitter holds no more than its window") {
  line_splitter splitter(1000);
  size_t bytes = 0;
  for (int i = 0; i < 100; ++i) {
    splitter.feed(std::string(777, 'x'), [&](line_view line) { bytes += line.text.size(); });
    REQUIRE(splitter.pending() <= 1001);
  }
  splitter.finish([&](line_view line) { bytes += line.text.size(); });
  CHECK(bytes == 77'700);
}

TEST_CASE("split_lines") {
  CHECK(split_lines("a\r\n\nb\n") == std::vector<std::string_view>{"a", "", "b"});
  CHECK(split_lines("a\nb") == std::vector<std::string_view>{"a", "b"});
  CHECK(split_lines("\n") == std::vector<std::string_view>{""});
  CHECK(split_lines("").empty());
}

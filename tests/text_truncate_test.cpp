// Head and tail of long output.
#include "troupe/tests/catch.hpp"
#include "troupe/text/truncate.hpp"
#include "troupe/text/utf8.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace troupe::text;

namespace {

std::string render(std::string_view text, size_t cap, std::string_view suffix = {},
                   size_t step = 1000) {
  head_tail out(cap);
  while (!text.empty()) {
    const std::string_view part = first_chars(text, step);
    out.feed(part);
    text.remove_prefix(part.size());
  }
  return out.render(suffix);
}

std::string marker(const std::string& omitted, const std::string& total) {
  return "\n... [OUTPUT TRUNCATED - " + omitted + " chars omitted out of " + total +
         " total] ...\n";
}

}  // namespace

TEST_CASE("exactly at the cap nothing is cut, one above it the marker says so") {
  CHECK(render("0123456789", 10) == "0123456789");
  CHECK(render("0123456789x", 10) == "0123" + marker("1", "11") + "56789x");
  CHECK(render("", 10).empty());
  CHECK(render("abc", 0) == marker("3", "3"));
  CHECK(render("abc", 1) == marker("2", "3") + "c");
}

TEST_CASE("counts have thousands separators and add up") {
  const std::string text(67'890, 'x');
  CHECK(render(text, 55'545) ==
        std::string(22'218, 'x') + marker("12,345", "67,890") + std::string(33'327, 'x'));
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1000) == "1,000");
  CHECK(with_thousands(1234567890123) == "1,234,567,890,123");
}

TEST_CASE("characters are counted and never cut") {
  std::string text;
  for (int i = 0; i < 11; ++i) text += "\xf0\x9f\x98\x80";
  const std::string four = text.substr(0, 16);
  const std::string six = text.substr(0, 24);
  CHECK(render(text, 10) == four + marker("1", "11") + six);
  CHECK(render(text, 11) == text);
}

TEST_CASE("the render does not depend on the chunks and head, cut and tail make the whole") {
  std::mt19937 random(6);
  const std::vector<std::string> chars = {"a", "b", "\n", "\xc3\xa4", "\xe2\x82\xac"};
  for (int i = 0; i < 500; ++i) {
    std::string text;
    const size_t total = random() % 300;
    for (size_t n = 0; n < total; ++n) text += chars[random() % chars.size()];
    const size_t cap = random() % 120;
    const size_t head = cap * 2 / 5;
    std::string expected = text;
    if (total > cap) {
      expected = std::string(first_chars(text, head)) +
                 marker(std::to_string(total - cap), std::to_string(total)) +
                 std::string(last_chars(text, cap - head));
    }
    CAPTURE(total, cap);
    REQUIRE(render(text, cap, {}, 1) == expected);
    REQUIRE(render(text, cap, {}, 1 + random() % 50) == expected);
    REQUIRE(render(text, cap, {}, 1000) == expected);
  }
}

TEST_CASE("a suffix has its place inside the cap") {
  CHECK(render("01234567", 10, "##") == "01234567##");
  CHECK(render("012345678", 10, "##") == "012" + marker("1", "9") + "45678##");
  CHECK(render("0123456789abc", 10, "##") == "012" + marker("5", "13") + "89abc##");
  CHECK(render("0123", 2, "####") == marker("4", "4") + "####");
  head_tail out(10);
  out.feed("012345678");
  CHECK_FALSE(out.truncated());
  CHECK(out.truncated(2));
  CHECK(out.omitted_chars(2) == 1);
  CHECK(out.total_chars() == 9);
}

TEST_CASE("plain tails count what they cut") {
  const tail_cut cut = tail(
      "a\xe2\x82\xac"
      "bc",
      2);
  CHECK(cut.text == "bc");
  CHECK(cut.cut_chars == 2);
  CHECK(tail("abc", 3).cut_chars == 0);
  CHECK(tail("abc", 0).cut_chars == 3);
}

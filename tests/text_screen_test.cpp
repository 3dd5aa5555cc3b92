// The rendered screen.
#include "troupe/tests/catch.hpp"
#include "troupe/text/screen.hpp"
#include "troupe/text/utf8.hpp"

#include <random>
#include <string>

using namespace troupe::text;

TEST_CASE("text, movement and erasing are rendered") {
  screen s(5, 20);
  CHECK(s.render().empty());
  s.feed("hello\r\nworld\x1b[1;1HJ\x1b[2;3H\x1b[K");
  CHECK(s.render() == "Jello\nwo");
  CHECK(s.cursor().row == 1);
  CHECK(s.cursor().col == 2);
  s.feed("\x1b[4;1Hx");
  CHECK(s.render() == "Jello\nwo\n\nx");
}

TEST_CASE("wide and combining characters stay whole, also when they are split") {
  screen s(3, 20);
  const std::string text = "\xe6\xbc\xa2\xe5\xad\x97 e\xcc\x81 \xf0\x9f\x98\x80!";
  for (const char c : text) s.feed(std::string_view(&c, 1));
  CHECK(s.render() == text);
}

TEST_CASE("the alternate screen gives the old one back") {
  screen s(3, 20);
  s.feed("before\x1b[?1049h\x1b[2J\x1b[Hinside");
  CHECK(s.render() == "inside");
  s.feed("\x1b[?1049l");
  CHECK(s.render() == "before");
}

TEST_CASE("a screen can be resized and moved") {
  screen s(3, 20);
  s.feed("0123456789");
  s.resize(5, 40);
  CHECK(s.rows() == 5);
  CHECK(s.cols() == 40);
  CHECK(s.render() == "0123456789");
  const screen moved = std::move(s);
  CHECK(moved.render() == "0123456789");
}

TEST_CASE("any bytes may be fed and the render is valid") {
  std::mt19937 random(9);
  screen s(10, 30);
  for (int i = 0; i < 500; ++i) {
    std::string bytes;
    for (int n = 0; n < 50; ++n) {
      bytes += random() % 8 == 0 ? '\x1b' : static_cast<char>(random());
    }
    s.feed(bytes);
    if (i % 50 == 0)
      s.resize(static_cast<int>(1 + random() % 40), static_cast<int>(1 + random() % 90));
    REQUIRE(is_valid_utf8(s.render()));
  }
}

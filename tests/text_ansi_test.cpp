// Removal of control sequences, and text views.
#include "troupe/tests/catch.hpp"
#include "troupe/text/ansi.hpp"
#include "troupe/text/view.hpp"

#include <random>
#include <string>
#include <vector>

using namespace troupe::text;

namespace {

const std::vector<std::string> pieces = {"text",
                                         "\n",
                                         "\x1b",
                                         "[31m",
                                         "[",
                                         "]0;title",
                                         "\x07",
                                         "\x1b\\",
                                         "\xc2\x9b",
                                         "\xc2",
                                         "\x9c",
                                         "\xc2\x9d",
                                         "\xc2\xa0",
                                         "P",
                                         "\x18",
                                         "(B",
                                         "\xe2\x82\xac",
                                         "\x9b",
                                         "1;2",
                                         "m",
                                         "\x1b_",
                                         "\x1b[?25h",
                                         "\x7f",
                                         "\r",
                                         "\xc2\x85",
                                         "\xff",
                                         "\x1b]8;;http://x\x1b\\"};

template <class Stripper>
std::string in_pieces(const std::string& bytes, std::mt19937& random) {
  Stripper stripper;
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = random() % 4;
    stripper.feed(std::string_view(bytes).substr(at, n), out);
    at += n;
  }
  stripper.finish(out);
  return out;
}

}  // namespace

TEST_CASE("control sequences of every kind are removed") {
  struct row {
    std::string in, out;
  };
  const std::vector<row> rows = {
      {"a\x1b[31mb\x1b[0m", "ab"},
      {"\x1b[?2004hx\x1b[?25l", "x"},          // private modes
      {"\x1b[38:2::255:0:0mred", "red"},       // colons
      {"\x1b[4 q|\x1b[!p|\x1b[?1$p|", "|||"},  // intermediate bytes
      {"\x1b[>4;1m\x1b[=5u\x1b[<uz", "z"},
      {"\x1b]0;title\x07x", "x"},  // OSC with BEL and with ST
      {"\x1b]8;;http://h/\x1b\\link\x1b]8;;\x1b\\", "link"},
      {"\x1b]0;t\xc2\x9cx", "x"},
      {"\x1b]0;two\nlines\x07x", "x"},
      {"\x1b]0;two\nlines\x1b\\x", "x"},
      {"\x1bPq#0;2\x1b\\x\x1bXsos\x1b\\\x1b^pm\x1b\\\x1b_apc\x1b\\y", "xy"},
      {"\x1bPwith bell\x07 inside\x1b\\x", "x"},
      {"\x1b(B\x1b)0\x1b#8\x1b%Gx", "x"},  // intermediate bytes, two bytes
      {"\x1b"
       "7\x1b"
       "8\x1b=\x1b>\x1b"
       "cx\x1bM",
       "x"},
      {"\xc2\x9b"
       "31mx\xc2\x9b"
       "0m",
       "x"},  // C1 as characters
      {"\xc2\x9d"
       "0;t\x07x\xc2\x9d"
       "0;t\xc2\x9cy\xc2\x9d"
       "0;t\x1b\\z",
       "xyz"},
      {"a\xc2\x85"
       "b\xc2\x80"
       "c\xc2\x90"
       "d\xc2\x9f"
       "e",
       "abcde"},
      {"\xc2\xa0\xc2\xb0\xc3\x9b", "\xc2\xa0\xc2\xb0\xc3\x9b"},  // these are no controls
      {"\x9b"
       "31m",
       "\x9b"
       "31m"},  // nor is a lone byte
      {"\r\b\x07\t", "\r\b\x07\t"},
  };
  for (const row& r : rows) {
    CAPTURE(r.in);
    CHECK(strip_ansi(r.in) == r.out);
  }
}

TEST_CASE("broken and unfinished sequences") {
  CHECK(strip_ansi("\x1b]0;not ended\nline") == "0;not ended\nline");
  CHECK(strip_ansi("\x1bPnot ended") == "not ended");
  CHECK(strip_ansi("\xc2\x9dnot ended") == "not ended");
  CHECK(strip_ansi("x\x1b[31") == "x");
  CHECK(strip_ansi("x\x1b") == "x");
  CHECK(strip_ansi("x\xc2") == "x\xc2");
  CHECK(strip_ansi("\x1b[3\x18"
                   "1m") == "1m");  // CAN aborts
  CHECK(strip_ansi("\x1b[3\x1a"
                   "1m") == "1m");             // SUB aborts
  CHECK(strip_ansi("\x1b[3\x1b[1mx") == "x");  // a fresh ESC aborts
  CHECK(strip_ansi("\x1b]0;t\x1b[1mx") == "x");
  CHECK(strip_ansi("\x1b]0;t\nlost?\x1b[1mx") == "\nlost?x");
  CHECK(strip_ansi("\x1b[3\n1mx") == "\nx");  // C0 inside is executed
  CHECK(strip_ansi("\x1b[3\xe2\x82\xac") == "\xe2\x82\xac");
  CHECK(strip_ansi("\x1b\x1b[1mx") == "x");
}

TEST_CASE("text without escapes comes out byte-identical") {
  std::string text;
  for (int i = 0; i < 256; ++i) {
    if (i != 0x1b && i != 0xc2) text.push_back(static_cast<char>(i));
  }
  CHECK(strip_ansi(text) == text);
}

TEST_CASE("stripping does not depend on how the bytes are split") {
  std::mt19937 random(4);
  for (int i = 0; i < 5000; ++i) {
    std::string bytes;
    for (size_t n = random() % 12; n > 0; --n) bytes += pieces[random() % pieces.size()];
    CAPTURE(bytes);
    const std::string whole = strip_ansi(bytes);
    REQUIRE(in_pieces<ansi_stripper>(bytes, random) == whole);
    REQUIRE(in_pieces<stream_view>(bytes, random) == text_view(bytes, true));
    REQUIRE(is_valid_utf8(text_view(bytes, true)));
    REQUIRE(text_view(bytes, true).find('\x1b') == std::string::npos);
  }
}

TEST_CASE("a string that never ends is not held for ever") {
  ansi_stripper stripper;
  std::string out;
  const std::string block(4096, 'x');
  stripper.feed("\x1b]", out);
  for (int i = 0; i < 64; ++i) stripper.feed(block, out);
  CHECK(out.size() == 64 * block.size());
  CHECK_FALSE(stripper.inside_sequence());
}

TEST_CASE("a string at the limit is dropped, one byte more is shown, in one piece or in many") {
  for (const size_t size : {ansi_stripper::max_string, ansi_stripper::max_string + 1}) {
    const std::string text(size, 'x');
    const std::string bytes = "\x1b]" + text + "\x07";
    const std::string expected = size <= ansi_stripper::max_string ? "" : text + "\x07";
    CHECK(strip_ansi(bytes) == expected);
    ansi_stripper stripper;
    std::string out;
    for (const char c : bytes) stripper.feed(std::string_view(&c, 1), out);
    stripper.finish(out);
    CHECK(out == expected);
  }
}

TEST_CASE("a view decodes and strips, and shows loose ends only when they are final") {
  CHECK(text_view("a\x1b[1mb\xe2\x82", false) == "ab");
  CHECK(text_view("a\x1b[1mb\xe2\x82", true) == "ab\xef\xbf\xbd");
  CHECK(text_view("a\x1b]0;x", false) == "a");
  CHECK(text_view("a\x1b]0;x", true) == "a0;x");
  CHECK(text_view("\x9b"
                  "1m",
                  true) ==
        "\xef\xbf\xbd"
        "1m");
}

// UTF-8 decoding, boundaries and counts.
#include "troupe/tests/catch.hpp"
#include "troupe/text/utf8.hpp"

#include <random>
#include <string>
#include <vector>

using namespace troupe::text;

namespace {

const std::string bad = "\xef\xbf\xbd";

std::string times(int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += bad;
  return out;
}

std::string random_bytes(std::mt19937& random, size_t size) {
  // Bytes near the edges of the encoding, so that broken characters are frequent.
  static const std::string pool =
      "ab\n\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe2\xed\xef\xf0\xf4\xf5\xff";
  std::string out;
  for (size_t i = 0; i < size; ++i) out += pool[random() % pool.size()];
  return out;
}

std::string decode_in_pieces(const std::string& bytes, std::mt19937& random) {
  utf8_decoder decoder;
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = random() % 5;
    decoder.feed(std::string_view(bytes).substr(at, n), out);
    at += n;
  }
  decoder.finish(out);
  return out;
}

}  // namespace

TEST_CASE("each maximal invalid subpart becomes one replacement character") {
  struct row {
    std::string bytes, text;
  };
  const std::vector<row> rows = {
      {"plain", "plain"},
      {"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5",
       "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"},
      {std::string("\0", 1), std::string("\0", 1)},
      {"\xc2\x80", "\xc2\x80"},
      {"\xe0\xa0\x80", "\xe0\xa0\x80"},
      {"\xf0\x90\x80\x80", "\xf0\x90\x80\x80"},
      {"\xed\x9f\xbf", "\xed\x9f\xbf"},
      {"\xee\x80\x80", "\xee\x80\x80"},
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
      {"\xf4\x90\x80\x80", times(4)},  // above U+10FFFF
      {"\x80", times(1)},              // lone continuation bytes
      {"\x80\xbf\x80", times(3)},
      {"\xc0 ", times(1) + " "},  // lonely start bytes
      {"\xe0 \xf0 ", times(1) + " " + times(1) + " "},
      {"\xfe\xff", times(2)},
      {"\xc0\xaf", times(2)},  // overlong forms
      {"\xe0\x80\xaf", times(3)},
      {"\xf0\x80\x80\xaf", times(4)},
      {"\xf8\x88\x80\x80\x80", times(5)},
      {"\xed\xa0\x80", times(3)},  // surrogates
      {"\xed\xbf\xbf", times(3)},
      {"\xe2\x82", times(1)},  // cut off
      {"\xf0\x9f\x98", times(1)},
      {"\xe2\x82"
       "A",
       times(1) + "A"},
      {"\xf0\x9f\x98"
       "A",
       times(1) + "A"},
      {"\xf0\x9f\xe2\x82\xac", times(1) + "\xe2\x82\xac"},
      {"\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64",  // the example of the standard
       "a" + times(3) + "b" + times(1) + "c" + times(2) + "d"},
  };
  for (const row& r : rows) {
    CAPTURE(r.bytes);
    CHECK(to_valid_utf8(r.bytes) == r.text);
    CHECK(is_valid_utf8(r.bytes) == (r.bytes == r.text));
    CHECK(is_valid_utf8(to_valid_utf8(r.bytes)));
  }
}

TEST_CASE("decoding does not depend on how the bytes are split") {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    const std::string bytes = random_bytes(random, random() % 80);
    const std::string whole = to_valid_utf8(bytes);
    REQUIRE(decode_in_pieces(bytes, random) == whole);
    REQUIRE(is_valid_utf8(whole));
  }
}

TEST_CASE("every character split at every byte is put together again") {
  for (const std::string c : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    for (size_t cut = 1; cut < c.size(); ++cut) {
      utf8_decoder decoder;
      std::string out;
      decoder.feed(c.substr(0, cut), out);
      CHECK(out.empty());
      CHECK(decoder.pending() == cut);
      CHECK(incomplete_tail("x" + c.substr(0, cut)) == cut);
      decoder.feed(c.substr(cut), out);
      CHECK(out == c);
      CHECK(decoder.pending() == 0);
    }
    CHECK(incomplete_tail(c) == 0);
  }
}

TEST_CASE("a cut-off tail becomes exactly one replacement character and the decoder starts anew") {
  utf8_decoder decoder;
  std::string out;
  decoder.feed("x\xf0\x9f\x98", out);
  decoder.finish(out);
  CHECK(out == "x" + bad);
  decoder.feed("\x80y", out);
  decoder.finish(out);
  CHECK(out == "x" + bad + bad + "y");
}

TEST_CASE("cutting at a boundary does not change the decoded text") {
  std::mt19937 random(2);
  for (int i = 0; i < 3000; ++i) {
    const std::string bytes = random_bytes(random, 1 + random() % 20);
    const size_t pos = random() % (bytes.size() + 1);
    for (const size_t cut : {boundary_at_or_before(bytes, pos), boundary_at_or_after(bytes, pos)}) {
      REQUIRE(cut + 3 >= pos);
      REQUIRE(cut <= pos + 3);
      REQUIRE(to_valid_utf8(bytes.substr(0, cut)) + to_valid_utf8(bytes.substr(cut)) ==
              to_valid_utf8(bytes));
    }
  }
}

TEST_CASE("boundaries of whole characters and of garbage") {
  const std::string text =
      "a\xe2\x82\xac"
      "b";
  CHECK(boundary_at_or_before(text, 2) == 1);
  CHECK(boundary_at_or_after(text, 2) == 4);
  CHECK(boundary_at_or_before(text, 1) == 1);
  CHECK(boundary_at_or_after(text, 4) == 4);
  CHECK(boundary_at_or_before(text, 99) == text.size());
  CHECK(boundary_at_or_before("\x80\x80\x80\x80\x80\x80", 5) == 5);
  CHECK(boundary_at_or_after("\x80\x80\x80\x80\x80\x80", 2) == 2);
  CHECK(boundary_at_or_before("", 0) == 0);
}

TEST_CASE("counting and cutting by characters") {
  std::mt19937 random(3);
  const std::vector<std::string> chars = {"a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  std::vector<size_t> ends = {0};
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += chars[random() % chars.size()];
    ends.push_back(text.size());
  }
  CHECK(count_chars(text) == 5000);
  CHECK(count_chars("") == 0);
  for (const size_t n : {0, 1, 2, 15, 16, 17, 255, 256, 257, 1000, 2500, 4999, 5000, 6000}) {
    CAPTURE(n);
    const size_t kept = std::min<size_t>(n, 5000);
    CHECK(first_chars(text, n).size() == ends[kept]);
    CHECK(last_chars(text, n).size() == text.size() - ends[5000 - kept]);
  }
  CHECK(count_chars(std::string(1 << 20, 'x')) == 1 << 20);
}

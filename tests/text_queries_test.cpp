// Terminal status queries.
#include "troupe/tests/catch.hpp"
#include "troupe/text/terminal_queries.hpp"

#include <random>
#include <string>
#include <vector>

using namespace troupe::text;

namespace {

struct result {
  std::string out, answers;
  bool operator==(const result&) const = default;
};

result respond(const std::string& bytes, std::mt19937* random = nullptr) {
  query_responder responder(30, 120);
  result r;
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = random ? (*random)() % 4 : bytes.size();
    responder.feed(bytes.substr(at, n), r.out, r.answers);
    at += n;
  }
  responder.finish(r.out);
  return r;
}

}  // namespace

TEST_CASE("queries are removed and answered") {
  struct row {
    std::string query, answer;
  };
  const std::vector<row> rows = {
      {"\x1b[5n", "\x1b[0n"},
      {"\x1b[6n", "\x1b[1;1R"},
      {"\x1b[18t", "\x1b[8;30;120t"},
      {"\x1b[?2026$p", "\x1b[?2026;0$y"},
      {"\x1b[?1234567890$p", "\x1b[?1234567890;0$y"},
      {"\x1b[c", "\x1b[?62;22c"},
      {"\x1b[0c", "\x1b[?62;22c"},
      {"\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07"},
      {"\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
      {"\x1b]10;?\x07", "\x1b]10;rgb:ffff/ffff/ffff\x07"},
      {"\x1b]10;?\x1b\\", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"},
  };
  for (const row& r : rows) {
    CAPTURE(r.query);
    CHECK(respond("a" + r.query + "b") == result{"ab", r.answer});
    std::string out;
    std::string answers;
    query_responder responder;
    for (const char c : r.query) responder.feed(std::string_view(&c, 1), out, answers);
    CHECK(out.empty());
    CHECK(answers == r.answer);
  }
}

TEST_CASE("everything else passes unchanged and in order") {
  for (const std::string text :
       {"plain", "\x1b[31mred\x1b[0m", "\x1b[5m", "\x1b[16t", "\x1b[?25h", "\x1b[?12345678901$p",
        "\x1b[?$p", "\x1b]0;title\x07", "\x1b]11;#fff\x07", "\x1b", "\x1b[", "\x1b[?12", "\x1b\x1b",
        "\x1b]11;?", "\x1b[5\n", "\x1b[?1$x"}) {
    CAPTURE(text);
    CHECK(respond(text) == result{text, ""});
  }
}

TEST_CASE("a fresh ESC flushes the pending sequence and begins a new one") {
  CHECK(respond("\x1b[\x1b[6nx") == result{"\x1b[x", "\x1b[1;1R"});
  CHECK(respond("\x1b\x1b[5n") == result{"\x1b", "\x1b[0n"});
  CHECK(respond("\x1b]11;?\x1b[6n") == result{"\x1b]11;?", "\x1b[1;1R"});
}

TEST_CASE("a new size is told") {
  query_responder responder(1, 2);
  responder.resize(50, 100);
  std::string out;
  std::string answers;
  responder.feed("\x1b[18t", out, answers);
  CHECK(answers == "\x1b[8;50;100t");
}

TEST_CASE("answers do not depend on how the output is split") {
  std::mt19937 random(8);
  const std::string pool = "\x1b\x1b\x1b[[[]]?0156;8tncp$\x07\\x";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t n = random() % 24; n > 0; --n) text += pool[random() % pool.size()];
    REQUIRE(respond(text, &random) == respond(text));
  }
}

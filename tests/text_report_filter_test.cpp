// Reports of shells taken out of their output.
#include <string>

#include "troupe/tests/catch.hpp"
#include "troupe/text/report_filter.hpp"

using troupe::text::report_filter;

namespace {

const std::string number = "0123456789abcdef0123456789abcdef";
const std::string begin = "\036troupe:" + number + "{";
const std::string end = "\036troupe:" + number + "}";

std::string pair_of(const std::string& report, const std::string& probe = "\t\n") {
  return begin + probe + report + end;
}

struct outcome {
  std::string output;
  std::optional<std::string> report;
};

/// Fed in pieces of this size.
outcome filtered(const std::string& in, std::size_t piece, std::size_t limit = 1 << 20) {
  report_filter filter{number, limit};
  outcome result;
  for (std::size_t at = 0; at < in.size(); at += piece) {
    filter.feed(std::string_view{in}.substr(at, piece), result.output);
  }
  filter.finish(result.output);
  result.report = filter.take();
  CHECK_FALSE(filter.take());
  return result;
}

}  // namespace

TEST_CASE("a report is cut out of the output, wherever reads split it") {
  const std::string report{"a\0b\nc\036troupe:x{", 16};
  const auto in = "before" + pair_of(report) + "after";
  for (std::size_t piece = 1; piece <= in.size(); ++piece) {
    INFO(piece);
    const auto result = filtered(in, piece);
    CHECK(result.output == "beforeafter");
    CHECK(result.report == report);
  }
  CHECK(filtered(pair_of(""), 1).report == "");
}

TEST_CASE("two reads meet at every byte of the stream") {
  const auto in = "x" + pair_of("one") + "y\036" + pair_of("two") + "z";
  for (std::size_t at = 0; at <= in.size(); ++at) {
    report_filter filter{number};
    std::string out;
    filter.feed(std::string_view{in}.substr(0, at), out);
    filter.feed(std::string_view{in}.substr(at), out);
    filter.finish(out);
    CHECK(out == "xy\036z");
    CHECK(filter.take() == "two");
  }
}

TEST_CASE("what has another number, or no end, is output") {
  const std::string other =
      "\036troupe:" + std::string(32, 'f') + "{\t\nx\036troupe:" + std::string(32, 'f') + "}";
  for (const std::size_t piece : {1, 2, 7, 1000}) {
    CHECK(filtered(other, piece).output == other);
    CHECK_FALSE(filtered(other, piece).report);
    // Cut off anywhere.
    const auto whole = "out" + pair_of("report");
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto part = whole.substr(0, length);
      CHECK(filtered(part, piece).output == part);
      CHECK_FALSE(filtered(part, piece).report);
    }
    // An end alone, and a beginning that begins again.
    CHECK(filtered(end + "x", piece).output == end + "x");
    const auto again = filtered("a" + begin + "lost" + pair_of("kept") + "b", piece);
    CHECK(again.output == "a" + begin + "lostb");
    CHECK(again.report == "kept");
  }
}

TEST_CASE("what a terminal made of the report is undone, or the report is not believed") {
  for (const std::size_t piece : {1, 1000}) {
    CHECK(filtered(pair_of("a\r\nb\r\r\nc\rd\r", "\t\r\n"), piece).report == "a\nb\r\nc\rd\r");
    const auto expanded = filtered("x" + pair_of("a", "        \n") + "y", piece);
    CHECK(expanded.report == "");
    CHECK(expanded.output == "xy");
  }
}

TEST_CASE("a report that is too large is output, and the next one is found") {
  const std::string large(1001, 'x');
  for (const std::size_t piece : {1, 10, 500, 100'000}) {
    const auto in = pair_of(large, "") + "-" + pair_of(large.substr(0, 990)) + ".";
    const auto result = filtered(in, piece, 1000);
    CHECK(result.output == pair_of(large, "") + "-.");
    CHECK(result.report == large.substr(0, 990));
  }
  report_filter filter{number, 1000};
  std::string out;
  filter.feed(begin, out);
  for (int i = 0; i < 1000; ++i) filter.feed(large, out);
  CHECK(out.size() > 999'000);
}

// The cost of making output readable, per MB: escapes removed from colourful text, text in several
// scripts decoded, secrets masked in log lines, and the whole of it over plain lines. Raw: memcpy
// of the same bytes.
#include <cstring>
#include <stdexcept>

#include "troupe/bench/measure.hpp"
#include "troupe/bench/workloads.hpp"
#include "troupe/text/ansi.hpp"
#include "troupe/text/redact.hpp"
#include "troupe/text/utf8.hpp"
#include "troupe/text/view.hpp"

namespace troupe::bench {

namespace {

constexpr std::size_t mega = 1'000'000;

std::string repeat(std::string_view pattern) {
  std::string result;
  while (result.size() < mega) result += pattern;
  result.resize(mega);
  return result;
}

const char* const colourful =
    "\x1b[32m[ 42%]\x1b[0m Building CXX object \x1b[1msrc/a.cpp.o\x1b[0m\r\n"
    "\x1b]0;make\x07\x1b[2K\x1b[1G\x1b[38;5;208mwarning:\x1b[m unused variable\r\n";
const char* const scripts = "Grüße, 世界! Привет 🎉 plain words in between, naïve café\n";
const char* const plain = "[12:00:01] INFO worker-3 handled request /api/items in 12 ms\n";
// A token of an invented value, now and then.
const std::string secrets = [] {
  std::string block;
  for (int i = 0; i < 20; ++i) block += plain;
  return block + "GITHUB_TOKEN is ghp_" + std::string(36, 'A') + " in the log\n";
}();

/// Milliseconds per MB; the result is looked at, so that the work is done.
template <class Work>
double cost(const std::string& input, int passes, Work work) {
  std::size_t seen = 0;
  const auto start = now_ns();
  for (int i = 0; i < passes; ++i) seen += work(input);
  const auto result = seconds_since(start) * 1e3 / passes;
  if (seen == 0) throw std::runtime_error{"strip gave nothing"};
  return result;
}

double copy_cost(const std::string& input, int passes) {
  std::vector<char> target_bytes(input.size());
  return cost(input, passes, [&](const std::string& text) {
    std::memcpy(target_bytes.data(), text.data(), text.size());
    asm volatile("" : : "r"(target_bytes.data()) : "memory");
    return text.size();
  });
}

template <class Work>
result measure(context& ctx, const char* name, const std::string& input, Work work) {
  const int passes = ctx.pick(50, 10);
  const auto [ours, raw] = interleave(
      ctx.pick(9, 5), [&] { return cost(input, passes, work); },
      [&] { return copy_cost(input, passes); });
  const auto rate = std::to_string(static_cast<int>(1e3 / ours)) + " MB/s";
  return {name, ours, "ms/MB", raw, {}, rate};
}

}  // namespace

results run_strip(context& ctx) {
  const auto lines = repeat(plain);
  return {
      measure(ctx, "strip/ansi", repeat(colourful),
              [](const std::string& in) { return text::strip_ansi(in).size(); }),
      measure(ctx, "strip/utf8", repeat(scripts),
              [](const std::string& in) { return text::to_valid_utf8(in).size(); }),
      measure(ctx, "strip/redact", repeat(secrets),
              [](const std::string& in) { return text::redact(in).size(); }),
      measure(ctx, "strip/plain", lines,
              [](const std::string& in) { return text::redact(text::text_view(in, true)).size(); }),
  };
}

}  // namespace troupe::bench

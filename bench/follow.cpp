// From a printed line to the answered follower. The child prints the monotonic clock every few
// milliseconds. Raw: read of the pipe of the same child.
#include <unistd.h>

#include <cstdlib>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

/// Of the last whole line in `text`.
void add_latency(const std::string& text, std::int64_t seen, std::vector<double>& latencies) {
  if (text.size() < 2 || text.back() != '\n') return;
  const auto before = text.rfind('\n', text.size() - 2);
  const char* begin = text.c_str() + (before == std::string::npos ? 0 : before + 1);
  latencies.push_back(static_cast<double>(seen - std::strtoll(begin, nullptr, 10)) / 1e6);
}

/// text: the command. Gives milliseconds each.
std::vector<double> raw_follow(const raw_args& args) {
  raw_options with;
  with.pipe_output = true;
  const auto child = raw_spawn(args.text, with);
  std::vector<double> result;
  for (;;) {
    const auto line = raw_read(child.output, true);
    const auto seen = now_ns();
    if (line.empty()) break;
    add_latency(line, seen, result);
  }
  raw_wait(child.pid);
  ::close(child.output);
  return result;
}

}  // namespace

results run_follow(context& ctx) {
  core host;
  const auto command = "exec " + ctx.self + " __ticks 200 2";
  std::vector<double> ours;
  std::vector<double> raw;
  for (int round = 0; round < ctx.pick(10, 2); ++round) {
    const auto some = ctx.raw.call(raw_follow, raw_args::make(0, 0, command));
    raw.insert(raw.end(), some.begin(), some.end());
    const auto id = host.start(command);
    follow_options what;
    for (bool finished = false; !finished;) {
      const auto chunk = host.ask<output_chunk>(follow_atom_v, host.who(), id, what);
      const auto seen = now_ns();
      add_latency(chunk.data, seen, ours);
      what.cursor = chunk.cursor;
      finished = chunk.finished;
    }
    host.wait(id);
  }
  return {
      {"follow/p50", median(ours), "ms", median(raw), {}, {}},
      {"follow/p99", percentile(ours, 0.99), "ms", percentile(raw, 0.99), {}, {}},
  };
}

}  // namespace troupe::bench

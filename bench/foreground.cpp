// Latency of a foreground `true`: from the request to the answered `run`, asked by a thread. Raw:
// posix_spawn of `bash -c true` with a pipe, read to the end, waitid.
#include <unistd.h>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

/// a: how many. Gives milliseconds each.
std::vector<double> raw_foreground(const raw_args& args) {
  std::vector<double> result;
  for (double i = 0; i < args.a; ++i) {
    const auto start = now_ns();
    raw_options with;
    with.pipe_output = true;
    const auto child = raw_spawn("true", with);
    raw_read(child.output);
    raw_wait(child.pid);
    result.push_back(seconds_since(start) * 1e3);
    ::close(child.output);
  }
  return result;
}

void foreground(core& host, int count, std::vector<double>& latencies) {
  for (int i = 0; i < count; ++i) {
    const auto start = now_ns();
    const auto answer = host.ask<run_result>(run_atom_v, host.who(), background("true"));
    latencies.push_back(seconds_since(start) * 1e3);
    if (answer.status != run_status::finished) throw std::runtime_error{"run did not finish"};
  }
}

}  // namespace

results run_foreground(context& ctx) {
  core host;
  std::vector<double> ours;
  std::vector<double> raw;
  foreground(host, 20, ours);
  ours.clear();
  for (int round = 0; round < ctx.pick(20, 5); ++round) {
    const auto some = ctx.raw.call(raw_foreground, raw_args::make(100));
    raw.insert(raw.end(), some.begin(), some.end());
    foreground(host, 100, ours);
  }
  return {
      {"foreground/true", median(ours), "ms", median(raw), target{target::kind::max_ratio, 1.5},
       "p50"},
      {"foreground/true_p99", percentile(ours, 0.99), "ms", percentile(raw, 0.99), {}, "p99"},
  };
}

}  // namespace troupe::bench

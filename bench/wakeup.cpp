// From the exit of a process to its answered waiter. The child is this program again (see
// stamp.hpp): it prints the monotonic clock and ends at once; the waiter looks at the same clock
// when `wait` is answered. Raw: poll of a pidfd of the same child.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

double milliseconds_between(const std::string& stamp, std::int64_t seen) {
  const auto printed = std::strtoll(stamp.c_str(), nullptr, 10);
  if (printed == 0) throw std::runtime_error{"the child printed no time stamp: " + stamp};
  return static_cast<double>(seen - printed) / 1e6;
}

/// a: how many, text: the command. Gives milliseconds each.
std::vector<double> raw_wakeup(const raw_args& args) {
  std::vector<double> result;
  for (double i = 0; i < args.a; ++i) {
    raw_options with;
    with.pipe_output = true;
    const auto child = raw_spawn(args.text, with);
    const int handle = static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0));
    if (handle < 0) throw std::runtime_error{"pidfd_open failed"};
    pollfd ready{handle, POLLIN, 0};
    while (::poll(&ready, 1, -1) < 1) {
    }
    const auto seen = now_ns();
    raw_wait(child.pid);
    result.push_back(milliseconds_between(raw_read(child.output), seen));
    ::close(handle);
    ::close(child.output);
  }
  return result;
}

}  // namespace

results run_wakeup(context& ctx) {
  core host;
  const auto command = "exec " + ctx.self + " __stamp 3";
  std::vector<double> ours;
  std::vector<double> raw;
  constexpr int some = 50;
  for (int round = 0; round < ctx.pick(40, 6); ++round) {
    const auto those = ctx.raw.call(raw_wakeup, raw_args::make(some, 0, command));
    raw.insert(raw.end(), those.begin(), those.end());
    for (int i = 0; i < some; ++i) {
      const auto answer = host.wait(host.start(command));
      const auto seen = now_ns();
      ours.push_back(milliseconds_between(answer.output, seen));
    }
  }
  return {
      {"wakeup/p50", median(ours), "ms", median(raw), {}, {}},
      {"wakeup/p99",
       percentile(ours, 0.99),
       "ms",
       percentile(raw, 0.99),
       target{target::kind::max_value, 2},
       {}},
  };
}

}  // namespace troupe::bench

// `true` from start to finished, per second. A host's actor starts a process, waits for it, and
// counts it when the wait is answered. Raw: posix_spawn of the same `bash -c true` + waitid, with
// as many children outstanding.
#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

/// a: how many, b: in flight. Gives the rate.
std::vector<double> raw_spawn_rate(const raw_args& args) {
  const auto start = now_ns();
  double open = 0;
  for (double i = 0; i < args.a; ++i) {
    if (open >= args.b) {
      raw_wait_any();
      --open;
    }
    raw_spawn("true");
    ++open;
  }
  for (; open > 0; --open) raw_wait_any();
  return {args.a / seconds_since(start)};
}

double spawn_rate(core& host, std::size_t count, std::size_t in_flight) {
  many what;
  what.count = count;
  what.in_flight = in_flight;
  what.request = [](std::size_t) { return background("true"); };
  what.wait = wait_options{};
  const auto start = now_ns();
  host.start_many(std::move(what));
  return static_cast<double>(count) / seconds_since(start);
}

}  // namespace

results run_spawn(context& ctx) {
  core host;
  spawn_rate(host, 50, 8);
  ctx.raw.call(raw_spawn_rate, raw_args::make(50, 8));
  results all;
  for (const std::size_t in_flight : {1, 8}) {
    const std::size_t count = ctx.pick<std::size_t>(1'000, 200) * (in_flight == 1 ? 1 : 2);
    const int rounds = ctx.pick(9, 5);
    double cpu = 0;
    const auto [ours, raw] = interleave(
        rounds,
        [&] {
          const auto before = cpu_seconds();
          const auto rate = spawn_rate(host, count, in_flight);
          cpu += cpu_seconds() - before;
          return rate;
        },
        [&] {
          const auto args =
              raw_args::make(static_cast<double>(count), static_cast<double>(in_flight));
          return ctx.raw.call(raw_spawn_rate, args).at(0);
        });
    const auto micros = cpu * 1e6 / static_cast<double>(count) / rounds;
    result one{"spawn/" + std::to_string(in_flight), ours, "1/s", raw, {}, {}};
    one.note = std::to_string(static_cast<int>(micros)) + " us CPU of ours each";
    if (in_flight == 8) one.goal = target{target::kind::min_ratio, 0.7};
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace troupe::bench

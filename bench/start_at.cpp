// Starts of `true` through the keeper, 8 in flight, while few and while many others run. Raw: the same
// starts in a process with as many idle children of its own.
#include <signal.h>

#include <algorithm>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/spawn.hpp"
#include "troupe/bench/state_dir.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

constexpr std::size_t few = 10;
constexpr std::size_t in_flight = 8;
/// Of the rate with few running, both as a ratio to raw.
constexpr double wanted = 0.9;

/// In the raw process only.
std::vector<pid_t>& idle_children() {
  static std::vector<pid_t> pids;
  return pids;
}

/// a: how many.
std::vector<double> raw_begin_idle(const raw_args& args) {
  for (double i = 0; i < args.a; ++i) idle_children().push_back(raw_spawn("sleep 3600").pid);
  return {};
}

std::vector<double> raw_end_idle(const raw_args&) {
  for (const auto pid : idle_children()) ::kill(pid, SIGKILL);
  for (const auto pid : idle_children()) raw_wait(pid);
  idle_children().clear();
  return {};
}

result measure(context& ctx, std::size_t running) {
  const auto name = "start_at/" + std::to_string(running);
  progress(name);
  const state_dir dir;
  auto opts = dir.kept_options(true);
  opts.running_per_session = running + 100;
  opts.running_per_node = running + 100;
  core host{std::move(opts)};
  many idle;
  idle.count = running;
  idle.in_flight = in_flight;
  idle.request = [](std::size_t) { return background("sleep 3600"); };
  host.start_many(std::move(idle));
  ctx.raw.call(raw_begin_idle, raw_args::make(static_cast<double>(running)));
  keeper_cpu_seconds();  // there is one
  spawn_rate(host, 50, in_flight);
  const std::size_t count = ctx.pick<std::size_t>(2'000, 400);
  double cpu = 0;
  const auto rounds = ctx.pick(9, 5);
  const auto [ours, raw] = interleave(
      rounds,
      [&] {
        const auto before = cpu_seconds() + keeper_cpu_seconds();
        const auto rate = spawn_rate(host, count, in_flight);
        cpu += cpu_seconds() + keeper_cpu_seconds() - before;
        return rate;
      },
      [&] {
        const auto args = raw_args::make(static_cast<double>(count), in_flight);
        return ctx.raw.call(raw_spawn_rate, args).at(0);
      });
  ctx.raw.call(raw_end_idle, {});
  host.kill_all();
  result one{name, ours, "1/s", raw, {}, {}};
  const auto micros = cpu * 1e6 / static_cast<double>(count) / rounds;
  one.note = std::to_string(static_cast<int>(micros)) + " us CPU of ours each";
  return one;
}

}  // namespace

results run_start_at(context& ctx) {
  results all;
  all.push_back(measure(ctx, few));
  all.push_back(measure(ctx, ctx.pick<std::size_t>(5'000, 500)));
  auto& last = all.back();
  last.goal = target{target::kind::min_ratio, wanted * all.front().ratio().value_or(0)};
  // The ratio alone flatters: raw slows down too (README.md).
  const auto percent = static_cast<int>(100 * last.value / all.front().value);
  last.note += ", " + std::to_string(percent) + " % of the rate beside 10";
  return all;
}

}  // namespace troupe::bench

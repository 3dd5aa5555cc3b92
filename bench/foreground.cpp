// Latency of a foreground `true`: from the request to the answered `run`, asked by a thread. Raw:
// posix_spawn of `bash -c true` with a pipe, read to the end, waitid. One after the other without a
// pause (`true`), without warm shells (`cold`), and with pauses in which the pool of warm shells
// fills again (`warm`; raw has the same pauses, and none is counted). `true` can leave nothing behind in
// its shell; the same for a command that is asked what it has left. And 1 GB of output.
#include <unistd.h>

#include <optional>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/state_dir.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

/// Long enough for two shells to start and to read the state; nobody can be asked whether they have.
constexpr double warm_pause_ms = 25;

constexpr double large_bytes = 1e9;

void pause_ms(double ms) {
  if (ms > 0) ::usleep(static_cast<useconds_t>(ms * 1e3));
}

/// a: how many, b: milliseconds between them. Gives milliseconds each.
std::vector<double> raw_foreground(const raw_args& args) {
  std::vector<double> result;
  for (double i = 0; i < args.a; ++i) {
    pause_ms(args.b);
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

void foreground(core& host, const std::string& command, int count, double pause,
                std::vector<double>& latencies) {
  for (int i = 0; i < count; ++i) {
    pause_ms(pause);
    const auto start = now_ns();
    const auto answer = host.ask<run_result>(run_atom_v, host.who(), background(command));
    latencies.push_back(seconds_since(start) * 1e3);
    if (answer.status != run_status::finished) throw std::runtime_error{"run did not finish"};
  }
}

options with_warm_shells(std::size_t count, options result = core::default_options()) {
  result.environments.emplace_back().warm_shells = count;
  return result;
}

struct latency_case {
  std::string name;
  std::size_t warm_shells;
  double pause;
  int rounds;
  int per_round;
  std::optional<double> p50_ratio;
  std::string command = "true";  ///< raw is always `true`
};

void measure(context& ctx, const latency_case& what, core& host, results& all) {
  progress(what.name);
  std::vector<double> ours;
  std::vector<double> raw;
  foreground(host, what.command, 20, what.pause, ours);
  ours.clear();
  for (int round = 0; round < what.rounds; ++round) {
    const auto some = ctx.raw.call(raw_foreground, raw_args::make(what.per_round, what.pause));
    raw.insert(raw.end(), some.begin(), some.end());
    foreground(host, what.command, what.per_round, what.pause, ours);
  }
  const auto p50 = median(ours);
  all.push_back({what.name, p50, "ms", median(raw), {}, "p50"});
  if (what.p50_ratio) all.back().goal = target{target::kind::max_ratio, *what.p50_ratio};
  all.push_back({what.name + "_p99", percentile(ours, 0.99), "ms", percentile(raw, 0.99),
                 target{target::kind::max_value, 3 * p50}, "p99, at most 3 x p50"});
}

void measure(context& ctx, const latency_case& what, results& all) {
  core host{with_warm_shells(what.warm_shells)};
  measure(ctx, what, host, all);
}

std::string large_command() {
  return "head -c " + std::to_string(static_cast<long long>(large_bytes)) + " /dev/zero";
}

/// Gives seconds.
std::vector<double> raw_large(const raw_args&) {
  const auto start = now_ns();
  raw_wait(raw_spawn(large_command() + " | cat >/dev/null").pid);
  return {seconds_since(start)};
}

void measure_large(context& ctx, results& all) {
  progress("foreground/1GB");
  core host;
  double growth = 0;
  const auto ours = [&] {
    memory_peak memory;
    const auto start = now_ns();
    const auto answer = host.ask<run_result>(run_atom_v, host.who(), background(large_command()));
    const auto seconds = seconds_since(start);
    growth = std::max(growth, memory.growth_mib());
    if (static_cast<double>(answer.output_total_bytes) != large_bytes || !answer.truncated) {
      throw std::runtime_error{"a result of 1 GB counted " +
                               std::to_string(answer.output_total_bytes) + " bytes"};
    }
    return seconds;
  };
  ours();
  growth = 0;
  const auto [value, raw] =
      interleave(ctx.pick(7, 3), ours, [&] { return ctx.raw.call(raw_large, {}).at(0); });
  all.push_back({"foreground/1GB", value, "s", raw, target{target::kind::max_ratio, 1.5}, {}});
  all.push_back({"foreground/1GB_memory",
                 growth,
                 "MiB",
                 {},
                 target{target::kind::max_value, 16},
                 "largest round"});
}

}  // namespace

results run_foreground(context& ctx) {
  results all;
  const auto rounds = ctx.pick(20, 5);
  measure(ctx, {"foreground/true", defaults::warm_shells, 0, rounds, 100, 1.5}, all);
  measure(ctx, {"foreground/cold", 0, 0, rounds, 100, 1.5}, all);
  measure(ctx, {"foreground/warm", defaults::warm_shells, warm_pause_ms, rounds, 50, 0.6}, all);
  const std::string asked = "export BENCH=1";
  measure(ctx, {"foreground/asked_cold", 0, 0, rounds, 100, std::nullopt, asked}, all);
  measure(ctx,
          {"foreground/asked_warm", defaults::warm_shells, warm_pause_ms, rounds, 50, std::nullopt,
           asked},
          all);
  measure_large(ctx, all);
  return all;
}

results run_foreground_keeper(context& ctx) {
  const state_dir dir;
  core host{with_warm_shells(defaults::warm_shells, dir.kept_options(true))};
  results all;
  measure(ctx,
          {"foreground_keeper/true", defaults::warm_shells, 0, ctx.pick(20, 5), 100, std::nullopt},
          host, all);
  keeper_cpu_seconds();  // there was one
  return all;
}

}  // namespace troupe::bench

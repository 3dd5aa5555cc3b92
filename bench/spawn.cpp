// `true` from start to finished, per second. A host's actor starts a process, waits for it, and
// counts it when the wait is answered. Raw: posix_spawn of the same `bash -c true` + waitid, with
// as many children outstanding. The same again with a state directory, with the keeper, and with 2 GB
// of memory in use.
#include "troupe/bench/spawn.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <system_error>
#include <vector>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/state_dir.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

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

namespace {

/// CPU of whom is counted, in seconds so far.
using cpu_clock = std::function<double()>;

void measure(context& ctx, core& host, const std::string& name, std::size_t in_flight,
             const cpu_clock& used, results& all) {
  const std::size_t count = ctx.pick<std::size_t>(1'000, 200) * (in_flight == 1 ? 1 : 2);
  const int rounds = ctx.pick(9, 5);
  double cpu = 0;
  const auto [ours, raw] = interleave(
      rounds,
      [&] {
        const auto before = used();
        const auto rate = spawn_rate(host, count, in_flight);
        cpu += used() - before;
        return rate;
      },
      [&] {
        const auto args =
            raw_args::make(static_cast<double>(count), static_cast<double>(in_flight));
        return ctx.raw.call(raw_spawn_rate, args).at(0);
      });
  const auto micros = cpu * 1e6 / static_cast<double>(count) / rounds;
  result one{name + "/" + std::to_string(in_flight), ours, "1/s", raw, {}, {}};
  one.note = std::to_string(static_cast<int>(micros)) + " us CPU of ours each";
  if (in_flight == 8) one.goal = target{target::kind::min_ratio, 0.7};
  all.push_back(std::move(one));
}

void warm_up(context& ctx, core& host) {
  spawn_rate(host, 50, 8);
  ctx.raw.call(raw_spawn_rate, raw_args::make(50, 8));
}

/// Ours and that of the keeper.
double cpu_with_keeper() {
  return cpu_seconds() + keeper_cpu_seconds();
}

results measure_keeper(context& ctx, const std::string& name,
                       const std::vector<std::size_t>& in_flight) {
  const state_dir dir;
  core host{dir.kept_options(true)};
  warm_up(ctx, host);
  results all;
  for (const auto n : in_flight) measure(ctx, host, name, n, cpu_with_keeper, all);
  return all;
}

/// Memory that is in use: every page has been written to.
class ballast {
 public:
  explicit ballast(std::size_t bytes)
      : bytes_(bytes),
        at_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) {
      throw std::system_error{errno, std::generic_category(), "memory for the ballast"};
    }
    std::memset(at_, 1, bytes);
  }
  ~ballast() { ::munmap(at_, bytes_); }
  ballast(const ballast&) = delete;
  ballast& operator=(const ballast&) = delete;

 private:
  std::size_t bytes_;
  void* at_;
};

}  // namespace

results run_spawn(context& ctx) {
  core host;
  warm_up(ctx, host);
  results all;
  for (const std::size_t n : {1, 8}) measure(ctx, host, "spawn", n, cpu_seconds, all);
  return all;
}

results run_spawn_state(context& ctx) {
  const state_dir dir;
  core host{dir.kept_options(false)};
  warm_up(ctx, host);
  results all;
  measure(ctx, host, "spawn_state", 8, cpu_seconds, all);
  all.back().goal.reset();
  return all;
}

results run_spawn_keeper(context& ctx) {
  return measure_keeper(ctx, "spawn_keeper", {1, 8});
}

results run_spawn_keeper_2gb(context& ctx) {
  const ballast memory{std::size_t{2} << 30};
  return measure_keeper(ctx, "spawn_keeper_2GB", {8});
}

}  // namespace troupe::bench

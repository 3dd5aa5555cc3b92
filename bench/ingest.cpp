// Output swallowed: 1 GB of zeros from a background process through its pipe, until it is finished.
// Raw: the same bytes into `cat >/dev/null`. Memory: growth of our resident memory at its peak
// meanwhile. The same through the keeper, with the whole output on disk up to 1 MiB and up to the default.
// The PTY case reads 50 MB; raw reads the master of a terminal with 64 KiB reads.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/state_dir.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

std::string zeros(double bytes) {
  return "head -c " + std::to_string(static_cast<long long>(bytes)) + " /dev/zero";
}

/// a: bytes. Gives MB/s.
std::vector<double> raw_pipe(const raw_args& args) {
  const auto start = now_ns();
  raw_wait(raw_spawn(zeros(args.a) + " | cat >/dev/null").pid);
  return {args.a / 1e6 / seconds_since(start)};
}

/// a: bytes. Gives MB/s.
std::vector<double> raw_pty(const raw_args& args) {
  const auto start = now_ns();
  const auto child = raw_spawn_pty(zeros(args.a));
  std::vector<char> buffer(64 * 1024);
  for (;;) {
    const auto n = ::read(child.output, buffer.data(), buffer.size());
    if (n == 0 || (n < 0 && errno != EINTR)) break;  // EIO: the other side is closed
  }
  raw_wait(child.pid);
  ::close(child.output);
  return {args.a / 1e6 / seconds_since(start)};
}

double ingest(core& host, double bytes, bool pty) {
  auto request = background(zeros(bytes));
  request.pty = pty;
  const auto start = now_ns();
  const auto id = host.start(std::move(request));
  host.wait(id);
  const auto rate = bytes / 1e6 / seconds_since(start);
  const auto seen = host.ask<poll_result>(poll_atom_v, host.who(), id, poll_options{});
  if (static_cast<double>(seen.total_bytes) != bytes) {
    throw std::runtime_error{"ingest saw " + std::to_string(seen.total_bytes) + " bytes"};
  }
  return rate;
}

}  // namespace

results run_ingest(context& ctx) {
  core host;
  ingest(host, 1e6, false);
  double growth = 0;
  const auto rounds = ctx.pick(7, 3);
  const auto [ours, raw] = interleave(
      rounds,
      [&] {
        memory_peak memory;
        const auto rate = ingest(host, 1e9, false);
        growth = std::max(growth, memory.growth_mib());
        return rate;
      },
      [&] { return ctx.raw.call(raw_pipe, raw_args::make(1e9)).at(0); });
  const auto [ours_pty, raw_pty_rate] = interleave(
      rounds, [&] { return ingest(host, 5e7, true); },
      [&] { return ctx.raw.call(raw_pty, raw_args::make(5e7)).at(0); });
  return {
      {"ingest/pipe", ours, "MB/s", raw, target{target::kind::min_ratio, 0.7}, {}},
      {"ingest/memory", growth, "MiB", {}, target{target::kind::max_value, 16}, "largest round"},
      {"ingest/pty", ours_pty, "MB/s", raw_pty_rate, {}, {}},
  };
}

results run_ingest_keeper(context& ctx) {
  results all;
  // What is archived is small here, so that the way of the output is compared and not the disk.
  constexpr std::uint64_t archived = 1 << 20;
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"ingest_keeper/pipe", archived}, {"ingest_keeper/archived", defaults::full_output_bytes}};
  for (const auto& [name, full_output_bytes] : cases) {
    progress(name);
    const state_dir dir;
    auto opts = dir.kept_options(true);
    opts.full_output_bytes = full_output_bytes;
    core host{std::move(opts)};
    core direct;
    ingest(host, 1e6, false);
    ingest(direct, 1e6, false);
    keeper_cpu_seconds();  // there is one
    std::vector<double> without;
    const auto [ours, raw] = interleave(
        ctx.pick(7, 3), [&] { return ingest(host, 1e9, false); },
        [&] {
          without.push_back(ingest(direct, 1e9, false));
          return ctx.raw.call(raw_pipe, raw_args::make(1e9)).at(0);
        });
    result one{name, ours, "MB/s", raw, {}, {}};
    one.note = "without keeper " + std::to_string(static_cast<int>(median(without))) + " MB/s";
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace troupe::bench

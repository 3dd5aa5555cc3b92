// Poll latency with 1, 100 and 1,000 running processes that have printed 100 lines each; the
// process polled is another one each time. p99, asked by a thread. Raw: fstat and pread of the last
// 1,000 bytes of one of as many files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

constexpr const char* chatty =
    "printf 'line %s of the output of a process\\n' {1..100}; echo ready; exec sleep 600";

/// a: files, b: reads. Gives milliseconds each.
std::vector<double> raw_tail(const raw_args& args) {
  const std::string content(4'000, 'x');
  std::vector<int> files;
  for (double i = 0; i < args.a; ++i) {
    char name[] = "/tmp/troupe-bench-XXXXXX";
    const int file = ::mkostemp(name, O_CLOEXEC);
    if (file < 0 || ::write(file, content.data(), content.size()) < 0) {
      throw std::runtime_error{"a file in /tmp could not be made"};
    }
    ::unlink(name);
    files.push_back(file);
  }
  std::minstd_rand random{1};
  std::vector<double> result;
  char buffer[1'000];
  for (double i = 0; i < args.b; ++i) {
    const int file = files[random() % files.size()];
    const auto start = now_ns();
    struct stat info {};
    if (::fstat(file, &info) != 0 ||
        ::pread(file, buffer, sizeof buffer, info.st_size - ssize_t{sizeof buffer}) < 0) {
      throw std::runtime_error{"pread failed"};
    }
    result.push_back(seconds_since(start) * 1e3);
  }
  for (const int file : files) ::close(file);
  return result;
}

}  // namespace

results run_tail(context& ctx) {
  core host;
  results all;
  std::vector<std::string> ids;
  for (const std::size_t running : {1, 100, 1'000}) {
    progress("tail: " + std::to_string(running) + " running");
    many what;
    what.count = running - ids.size();
    what.in_flight = 16;
    what.request = [](std::size_t) { return background(chatty); };
    what.wait = wait_options{};
    what.wait->until = "ready";
    what.expected = wait_status::matched;
    for (auto& one : host.start_many(std::move(what))) ids.push_back(std::move(one.id));
    const int polls = ctx.pick(10'000, 2'000);
    std::minstd_rand random{1};
    const auto [ours, raw] = interleave(
        ctx.pick(5, 3),
        [&] {
          std::vector<double> latencies;
          for (int i = 0; i < polls; ++i) {
            const auto& id = ids[random() % ids.size()];
            const auto start = now_ns();
            host.ask<poll_result>(poll_atom_v, host.who(), id, poll_options{});
            latencies.push_back(seconds_since(start) * 1e3);
          }
          return percentile(std::move(latencies), 0.99);
        },
        [&] {
          const auto args = raw_args::make(static_cast<double>(running), polls);
          return percentile(ctx.raw.call(raw_tail, args), 0.99);
        });
    result one{"tail/" + std::to_string(running), ours, "ms", raw, {}, "p99"};
    if (running == 1'000) one.goal = target{target::kind::max_value, 1};
    all.push_back(std::move(one));
  }
  host.kill_all();
  return all;
}

}  // namespace troupe::bench

// 500 foreground commands asked for at once in one environment: seconds until all are answered, each
// with its own output. Raw: 500 of the same commands started one after the other by posix_spawn
// without waiting, then all pipes read to their end and all waited for.
#include <unistd.h>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

constexpr int count = 500;

std::string command_of(int number) {
  return "echo number " + std::to_string(number);
}

std::string output_of(int number) {
  return "number " + std::to_string(number) + "\n";
}

/// Gives seconds.
std::vector<double> raw_parallel(const raw_args&) {
  const auto start = now_ns();
  raw_options with;
  with.pipe_output = true;
  std::vector<raw_child> children;
  children.reserve(count);
  for (int i = 0; i < count; ++i) children.push_back(raw_spawn(command_of(i), with));
  for (int i = 0; i < count; ++i) {
    const auto& child = children[static_cast<std::size_t>(i)];
    if (raw_read(child.output) != output_of(i)) throw std::runtime_error{"wrong output"};
    raw_wait(child.pid);
    ::close(child.output);
  }
  return {seconds_since(start)};
}

double parallel(core& host) {
  const auto start = now_ns();
  std::vector<std::function<run_result()>> answers;
  answers.reserve(count);
  for (int i = 0; i < count; ++i) {
    answers.push_back(host.begin_run(host.who(), background(command_of(i))));
  }
  for (int i = 0; i < count; ++i) {
    const auto answer = answers[static_cast<std::size_t>(i)]();
    if (answer.status != run_status::finished || answer.output != output_of(i)) {
      throw std::runtime_error{"command " + std::to_string(i) + " answered: " + answer.output};
    }
  }
  return seconds_since(start);
}

}  // namespace

results run_parallel(context& ctx) {
  core host;
  parallel(host);
  const auto [ours, raw] = interleave(
      ctx.pick(7, 3), [&] { return parallel(host); },
      [&] { return ctx.raw.call(raw_parallel, {}).at(0); });
  return {{"parallel/500", ours, "s", raw, {}, "all answered, each with its output"}};
}

}  // namespace troupe::bench

// What 1,000 × `sleep 600` cost us while they do nothing: private memory of this process per child,
// and CPU of this process. There is no raw counterpart.
#include <thread>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

results run_idle(context& ctx) {
  constexpr std::size_t count = 1'000;
  core host;
  many what;
  what.count = 20;
  what.in_flight = 8;
  what.request = [](std::size_t) { return background("true"); };
  what.wait = wait_options{};
  host.start_many(what);  // what is paid once is paid before
  const auto before = private_kib();
  what.count = count;
  what.request = [](std::size_t) { return background("sleep 600"); };
  what.wait.reset();
  progress("idle: starting 1,000");
  const auto started = host.start_many(what);
  std::this_thread::sleep_for(std::chrono::seconds{1});
  const auto memory = (private_kib() - before) / static_cast<double>(count);

  progress("idle: doing nothing");
  const auto cpu = cpu_seconds();
  const auto start = now_ns();
  std::this_thread::sleep_for(std::chrono::seconds{ctx.pick(10, 3)});
  const auto share = (cpu_seconds() - cpu) / seconds_since(start) * 100;
  host.kill_all();
  return {
      {"idle/memory", memory, "KiB", {}, target{target::kind::max_value, 12}, "per process"},
      {"idle/cpu", share, "%", {}, target{target::kind::max_value, 0.1}, "of a core, 1,000 idle"},
  };
}

}  // namespace troupe::bench

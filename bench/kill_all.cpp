// 200 processes ended by one `kill_all`: obedient ones (`sleep 600`) and stubborn ones that ignore
// SIGTERM. Seconds until it is answered and no process is left. Raw: kill(-group, SIGKILL) and
// waitid of 200 children that run the same.
#include <signal.h>
#include <unistd.h>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

constexpr std::size_t count = 200;
constexpr const char* obedient = "echo armed; exec sleep 600";
constexpr const char* stubborn = "trap '' TERM; echo armed; while :; do sleep 1; done";

/// text: the command. Gives seconds.
std::vector<double> raw_kill(const raw_args& args) {
  std::vector<raw_child> children;
  raw_options with;
  with.pipe_output = true;
  with.own_group = true;
  for (std::size_t i = 0; i < count; ++i) children.push_back(raw_spawn(args.text, with));
  for (const auto& child : children) raw_read(child.output, true);
  const auto start = now_ns();
  for (const auto& child : children) ::kill(-child.pid, SIGKILL);
  for (const auto& child : children) raw_wait(child.pid);
  const auto result = seconds_since(start);
  for (const auto& child : children) ::close(child.output);
  return {result};
}

/// `note`: what kill_all said, if that is not the truth.
double kill_seconds(core& host, const char* command, std::string& note) {
  many what;
  what.count = count;
  what.in_flight = 8;
  what.request = [command](std::size_t) { return background(command); };
  what.wait = wait_options{};
  what.wait->until = "armed";
  what.expected = wait_status::matched;
  const auto started = host.start_many(std::move(what));
  const auto start = now_ns();
  const auto answer = host.kill_all();
  for (const auto& one : started) {
    while (::kill(one.pid, 0) == 0) ::usleep(1'000);
  }
  const auto result = seconds_since(start);
  if (answer.killed != count) {
    note = "all gone, but kill_all counted " + std::to_string(answer.killed);
  }
  return result;
}

}  // namespace

results run_kill_all(context& ctx) {
  core host;
  results all;
  const auto measure = [&](const char* name, const char* command, int rounds, double limit) {
    progress(std::string{name});
    std::string note;
    const auto [ours, raw] = interleave(
        rounds, [&] { return kill_seconds(host, command, note); },
        [&] { return ctx.raw.call(raw_kill, raw_args::make(0, 0, command)).at(0); });
    all.push_back({name, ours, "s", raw, target{target::kind::max_value, limit}, note});
  };
  const auto grace = std::chrono::duration<double>(core::default_options().grace).count();
  measure("kill_all/obedient", obedient, ctx.pick(7, 3), 0.5);
  measure("kill_all/stubborn", stubborn, ctx.pick(3, 1), grace + 1);
  return all;
}

}  // namespace troupe::bench

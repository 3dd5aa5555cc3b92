// The interrupt of one turn while 200 foreground commands of 20 sessions run: from the request until
// the `run` of that turn is answered. Another command takes its place each time. Raw: 200 of the
// same, SIGTERM to the group of one, its pipe read to the end, waitid.
#include <signal.h>
#include <unistd.h>

#include <deque>
#include <set>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

constexpr std::size_t running = 200;
constexpr std::size_t sessions = 20;
constexpr const char* obedient = "echo armed; sleep 600";
/// Not a simple command, so that raw's shell waits for its sleep too instead of becoming it.
constexpr const char* raw_obedient = "echo armed; sleep 600; :";

/// a: how many. Gives milliseconds each.
std::vector<double> raw_interrupts(const raw_args& args) {
  raw_options with;
  with.pipe_output = true;
  with.own_group = true;
  const auto begin = [&with] { return raw_spawn(raw_obedient, with); };
  std::deque<raw_child> children;
  for (std::size_t i = 0; i < running; ++i) children.push_back(begin());
  for (const auto& child : children) raw_read(child.output, true);
  std::vector<double> result;
  for (double i = 0; i < args.a; ++i) {
    const auto child = children.front();
    children.pop_front();
    const auto start = now_ns();
    ::kill(-child.pid, SIGTERM);
    raw_read(child.output);
    raw_wait(child.pid);
    result.push_back(seconds_since(start) * 1e3);
    ::close(child.output);
    children.push_back(begin());
    raw_read(children.back().output, true);
  }
  for (const auto& child : children) ::kill(-child.pid, SIGKILL);
  for (const auto& child : children) {
    raw_wait(child.pid);
    ::close(child.output);
  }
  return result;
}

struct waiting_turn {
  caller who;
  std::function<run_result()> answer;
};

class crowd {
 public:
  explicit crowd(core& host) : host_(host) {
    for (std::size_t i = 0; i < running; ++i) {
      begin();
      // The first of a session asks a login shell; all at once would be another workload.
      if (i < sessions) armed(turns_.back().who);
    }
    for (const auto& turn : turns_) armed(turn.who);
  }

  ~crowd() {
    try {
      while (!turns_.empty()) end();
    } catch (const std::exception&) {  // the core ends what is left
    }
  }
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;

  double interrupt_one() {
    const auto start = now_ns();
    end();
    const auto result = seconds_since(start) * 1e3;
    begin();
    armed(turns_.back().who);
    return result;
  }

 private:
  void begin() {
    waiting_turn turn;
    turn.who.session = "session " + std::to_string(next_ % sessions);
    turn.who.turn = "turn " + std::to_string(next_++);
    turn.answer = host_.begin_run(turn.who, background(obedient));
    turns_.push_back(std::move(turn));
  }

  void end() {
    const auto turn = std::move(turns_.front());
    turns_.pop_front();
    host_.ask<std::uint32_t>(interrupt_atom_v, turn.who);
    if (turn.answer().status != run_status::interrupted) {
      throw std::runtime_error{"an interrupted run was not answered so"};
    }
  }

  /// Until all commands of this session have said so; each is asked once.
  void armed(const caller& who) {
    for (const auto& one : host_.ask<std::vector<process_summary>>(list_atom_v, who)) {
      if (!armed_.insert(one.id).second) continue;
      wait_options until;
      until.until = "armed";
      host_.ask<wait_result>(wait_atom_v, who, one.id, until);
    }
  }

  core& host_;
  std::deque<waiting_turn> turns_;
  std::set<std::string> armed_;
  std::size_t next_ = 0;
};

}  // namespace

results run_interrupt(context& ctx) {
  std::vector<double> ours;
  std::vector<double> raw;
  core host;
  crowd turns{host};
  for (int round = 0; round < ctx.pick(10, 3); ++round) {
    const auto some = ctx.raw.call(raw_interrupts, raw_args::make(60));
    raw.insert(raw.end(), some.begin(), some.end());
    for (int i = 0; i < 60; ++i) ours.push_back(turns.interrupt_one());
  }
  return {
      {"interrupt/p50", median(ours), "ms", median(raw), {}, "200 running"},
      {"interrupt/p99", percentile(ours, 0.99), "ms", percentile(raw, 0.99),
       target{target::kind::max_value, 10}, "200 running"},
  };
}

}  // namespace troupe::bench

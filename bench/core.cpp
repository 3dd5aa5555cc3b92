#include "troupe/bench/core.hpp"

#include <future>
#include <memory>

#include <caf/event_based_actor.hpp>

namespace troupe::bench {

namespace {

/// What the driver actor works on; one handler at a time touches it.
struct drive : std::enable_shared_from_this<drive> {
  many what;
  registry_actor registry;
  caller who;
  std::vector<start_result> started;
  std::size_t next = 0;
  std::size_t open = 0;
  std::string failure;
  std::promise<void> done;

  void fill(caf::event_based_actor* self) {
    while (open < what.in_flight && next < what.count && failure.empty()) begin(self, next++);
    if (open == 0) done.set_value();
  }

  void begin(caf::event_based_actor* self, std::size_t index) {
    stop_point();
    ++open;
    auto keep = shared_from_this();
    compat::request(self, registry, start_atom_v, who, what.request(index))
        .then([keep, self, index](start_result& answer) { keep->on_started(self, index, answer); },
              [keep, self](const caf::error& error) { keep->fail(self, error_text(error)); });
  }

  void on_started(caf::event_based_actor* self, std::size_t index, start_result& answer) {
    started[index] = std::move(answer);
    if (started[index].failure) return fail(self, started[index].failure->text);
    if (!what.wait) return end(self);
    auto keep = shared_from_this();
    compat::request(self, registry, wait_atom_v, who, started[index].id, *what.wait)
        .then(
            [keep, self](const wait_result& waited) {
              if (waited.status == keep->what.expected) return keep->end(self);
              keep->fail(self, "a wait ended as " + to_string(waited.status));
            },
            [keep, self](const caf::error& error) { keep->fail(self, error_text(error)); });
  }

  void fail(caf::event_based_actor* self, std::string why) {
    if (failure.empty()) failure = std::move(why);
    end(self);
  }

  void end(caf::event_based_actor* self) {
    --open;
    fill(self);
  }
};

}  // namespace

options core::default_options() {
  options result;
  result.running_per_session = 2'000;
  result.running_per_node = 4'000;
  result.adopt_orphans = true;
  return result;
}

core::core(options opts) : system_(config_), runtime_(system_, std::move(opts)), self_(system_) {
  who_.session = "bench";
  who_.turn = "1";
}

std::string core::start(spawn_request request) {
  auto answer = ask<start_result>(start_atom_v, who_, std::move(request));
  if (answer.failure) throw std::runtime_error{"start failed: " + answer.failure->text};
  return answer.id;
}

std::string core::start(std::string command) {
  return start(background(std::move(command)));
}

wait_result core::wait(const std::string& id, wait_options what) {
  return ask<wait_result>(wait_atom_v, who_, id, std::move(what));
}

std::vector<start_result> core::start_many(many what) {
  auto state = std::make_shared<drive>();
  state->started.resize(what.count);
  state->what = std::move(what);
  state->registry = registry();
  state->who = who_;
  auto done = state->done.get_future();
  system_.spawn([state](caf::event_based_actor* self) { state->fill(self); });
  done.wait();
  if (!state->failure.empty()) throw std::runtime_error{"starting many: " + state->failure};
  return std::move(state->started);
}

kill_all_result core::kill_all() {
  auto answer = ask<kill_all_result>(kill_all_atom_v, who_, kill_all_options{});
  if (!answer.failed.empty()) {
    throw std::runtime_error{"kill_all left " + std::to_string(answer.failed.size())};
  }
  return answer;
}

std::function<run_result()> core::begin_run(const caller& whose, spawn_request request) {
  stop_point();
  auto asked = compat::request_within(self_.ptr(), std::chrono::minutes{5}, registry(), run_atom_v,
                                      whose, std::move(request));
  return [handle = std::make_shared<decltype(asked)>(std::move(asked))] {
    std::optional<run_result> answer;
    std::string failure;
    handle->receive([&](run_result& what) { answer = std::move(what); },
                    [&](const caf::error& error) { failure = error_text(error); });
    if (!answer) throw std::runtime_error{"the registry refused: " + failure};
    return std::move(*answer);
  };
}

spawn_request background(std::string command) {
  spawn_request result;
  result.command = std::move(command);
  return result;
}

}  // namespace troupe::bench

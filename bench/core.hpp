// The core under test, as a host embeds it: an actor system, the runtime and a thread that asks
// through a scoped actor. Each workload has one of its own. Everything throws std::runtime_error
// with what was asked and what came back.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include "troupe/actors/runtime.hpp"
#include "troupe/bench/cleanup.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/messages/errors.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe::bench {

/// Many processes through the registry, started by an actor with `in_flight` of them on their way.
struct many {
  std::size_t count = 0;
  std::size_t in_flight = 1;
  std::function<spawn_request(std::size_t)> request;
  /// A process is on its way until this wait is answered; without it, until it has started.
  std::optional<wait_options> wait;
  wait_status expected = wait_status::exited;
};

class core {
 public:
  /// The default options with limits that allow 2,000 processes, and orphans adopted.
  static options default_options();

  explicit core(options opts = default_options());
  core(const core&) = delete;
  core& operator=(const core&) = delete;

  const registry_actor& registry() const { return runtime_.registry(); }
  const caller& who() const { return who_; }

  /// A request of the registry that is answered with a `Result`; five minutes at most.
  template <class Result, class... Args>
  Result ask(Args&&... args) {
    stop_point();
    std::optional<Result> answer;
    std::string failure;
    compat::request_within(self_.ptr(), std::chrono::minutes{5}, registry(),
                           std::forward<Args>(args)...)
        .receive([&](Result& what) { answer = std::move(what); },
                 [&](const caf::error& error) { failure = error_text(error); });
    if (!answer) throw std::runtime_error{"the registry refused: " + failure};
    return std::move(*answer);
  }

  /// Starts a background process; its id.
  std::string start(spawn_request request);
  std::string start(std::string command);

  /// Waits for the end.
  wait_result wait(const std::string& id, wait_options what = {});

  /// Answers to the starts, in the order of the indices.
  std::vector<start_result> start_many(many what);

  kill_all_result kill_all();

  /// Asks for a foreground command of `whose` and does not wait; what it gives waits for the answer.
  std::function<run_result()> begin_run(const caller& whose, spawn_request request);

 private:
  node_config config_;
  caf::actor_system system_;
  runtime runtime_;
  caf::scoped_actor self_;
  caller who_;
};

/// A background process that runs `command`.
spawn_request background(std::string command);

}  // namespace troupe::bench

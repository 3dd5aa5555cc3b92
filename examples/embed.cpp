// A complete small host: an actor system with Troupe in it, one command in the foreground, one in the
// background. docs/embedding.md explains it; README.md quotes the lines between the markers
// (scripts/lib/check_readme.sh compares them). CTest builds and runs it against an installed copy.
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include "troupe/actors/runtime.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/messages/errors.hpp"
#include "troupe/messages/interfaces.hpp"

namespace {

/// Asks the registry from a thread that may block. Throws what it says instead of an answer.
template <class Result, class... Message>
Result ask(caf::scoped_actor& self, const troupe::runtime& node, Message... message) {
  std::optional<Result> answer;
  caf::error error;
  troupe::compat::request(self.ptr(), node.registry(), std::move(message)...)
      .receive([&](Result& x) { answer = std::move(x); },
               [&](caf::error& x) { error = std::move(x); });
  if (!answer) throw std::runtime_error{troupe::error_text(error)};
  return std::move(*answer);
}

void host() {
  // [readme]
  troupe::node_config config;
  caf::actor_system system{config};
  troupe::runtime node{system, config.troupe_options};
  caf::scoped_actor self{system};
  const troupe::caller me{.session = "my host", .turn = "1"};

  const troupe::spawn_request job{.command = "echo hello; exit 7"};
  const auto ran = ask<troupe::run_result>(self, node, troupe::run_atom_v, me, job);
  std::printf("%s-> exit code %d\n", ran.output.c_str(), *ran.process.exit->shell_code());

  const troupe::spawn_request server{.command = "echo ready; exec sleep 60"};
  const auto up = ask<troupe::start_result>(self, node, troupe::start_atom_v, me, server);
  const troupe::wait_options ready{.timeout = std::chrono::seconds{10}, .until = "^ready"};
  const auto seen = ask<troupe::wait_result>(self, node, troupe::wait_atom_v, me, up.id, ready);
  std::printf("%s said '%s'\n", up.id.c_str(), seen.match.c_str());
  // [readme]
  // What still runs ends with `node`, its descendants included.
}

}  // namespace

int main() try {
  troupe::init_types();
  host();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "embed: %s\n", error.what());
  return 1;
}

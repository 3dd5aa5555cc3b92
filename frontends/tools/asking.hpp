// One request to the registry on behalf of a tool call: a short-lived actor that asks, hands the
// answer on and is gone. No timeout; the registry answers every request, and if it dies the request
// fails. Internal to the tools.
#pragma once

#include <functional>
#include <tuple>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>

#include "troupe/messages/interfaces.hpp"

namespace troupe::tools {

using on_error = std::function<void(const caf::error&)>;

/// Sends `what` to the registry; exactly one of `ok` and `failed` is called, on an actor thread.
template <class Result, class Ok, class... What>
void ask(caf::actor_system& system, const registry_actor& registry, Ok ok, on_error failed,
         What... what) {
  system.spawn([=](caf::event_based_actor* self) {
    compat::request(self, registry, what...)
        .then([ok](const Result& result) { ok(result); },
              [failed](const caf::error& error) { failed(error); });
  });
}

/// The same for requests without a result.
template <class Ok, class... What>
void ask_void(caf::actor_system& system, const registry_actor& registry, Ok ok, on_error failed,
              What... what) {
  system.spawn([=](caf::event_based_actor* self) {
    compat::request(self, registry, what...)
        .then([ok] { ok(); }, [failed](const caf::error& error) { failed(error); });
  });
}

}  // namespace troupe::tools

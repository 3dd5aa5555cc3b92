#include "troupe/messages/event_listener.hpp"

#include <utility>

#include <caf/actor_system.hpp>
#include <caf/typed_event_based_actor.hpp>

namespace troupe {

namespace {

event_handler_actor::behavior_type listener(event_handler_actor::pointer,
                                            const std::function<void(const event&)>& on_event) {
  return {[on_event](const std::vector<event>& list) {
    for (const auto& x : list) on_event(x);
  }};
}

}  // namespace

event_handler_actor make_event_listener(caf::actor_system& system,
                                        std::function<void(const event&)> on_event) {
  return system.spawn(listener, std::move(on_event));
}

}  // namespace troupe

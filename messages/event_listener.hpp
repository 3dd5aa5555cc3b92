// For hosts: a function as the receiver of a subscription.
#pragma once

#include <functional>

#include <caf/fwd.hpp>

#include "troupe/messages/interfaces.hpp"

namespace troupe {

/// An actor that calls `on_event` for every event, in order, on an actor thread, and acknowledges a
/// list of events when the function has returned for all of them. The function must not block for
/// long; if it throws, the list is not acknowledged and the subscription ends. Pass the actor to
/// `subscribe_atom`; send it an exit message to end the subscription.
event_handler_actor make_event_listener(caf::actor_system& system,
                                        std::function<void(const event&)> on_event);

}  // namespace troupe

// The registry as remote hosts reach it: an actor of the host-facing interface that hands every
// request on. What the registry's own family says to it (started, finished, shutdown …) is no part
// of this interface, so a peer that sends it to the published actor gets an error.
#pragma once

#include <caf/fwd.hpp>

#include "troupe/messages/interfaces.hpp"

namespace troupe::cli {

/// Answers come straight from where the registry had them made; the gate keeps nothing.
registry_actor spawn_registry_gate(caf::actor_system& system, registry_actor registry);

}  // namespace troupe::cli

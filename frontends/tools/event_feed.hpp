// The subscription behind `tool_set::listen`. Internal to the tools.
#pragma once

#include "troupe/frontends/tools/tool_set.hpp"

namespace troupe::tools {

std::shared_ptr<event_feed> make_event_feed(caf::actor_system& system,
                                            const registry_actor& registry,
                                            const std::string& session,
                                            std::function<void(const std::vector<event>&)> on_list);

}  // namespace troupe::tools

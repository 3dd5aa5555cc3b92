// Calls of the `process` tool as messages to the registry. Internal to the tools.
#pragma once

#include "troupe/frontends/tools/tool_set.hpp"

namespace troupe::tools {

/// One checked call. `then` is called exactly once.
void call_process(caf::actor_system& system, const registry_actor& registry, const options& opts,
                  const arguments& args, const troupe::caller& who, tool_set::done then);

}  // namespace troupe::tools

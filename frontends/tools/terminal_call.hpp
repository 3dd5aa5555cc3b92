// Calls of the `terminal` tool as messages to the registry. Internal to the tools.
#pragma once

#include "troupe/frontends/tools/terminal_plan.hpp"
#include "troupe/frontends/tools/tool_set.hpp"

namespace troupe::tools {

/// One planned call. `then` is called exactly once, after the last `context.on_output`.
void call_terminal(caf::actor_system& system, const registry_actor& registry, const options& opts,
                   terminal_plan plan, const call_context& context, tool_set::done then);

}  // namespace troupe::tools

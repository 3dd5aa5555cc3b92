// What the programs do by default so that work outlives them: a state directory and a keeper.
#pragma once

#include <string>

#include "troupe/config/options.hpp"
#include "troupe/frontends/cli/commands.hpp"

namespace troupe::cli {

/// Fills in what neither the command line nor troupe.conf has said. `owner_death`: the default of this
/// program. Returns why nothing will outlive it; empty if all is well.
std::string let_work_outlive(options& opts, const program_settings& program,
                             const std::string& owner_death);

}  // namespace troupe::cli

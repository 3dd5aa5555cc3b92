// Where the programs keep what outlives them (docs/state.md).
#pragma once

#include <string>

namespace troupe {

/// `$TROUPE_HOME`, else `$XDG_STATE_HOME/troupe`, else `~/.local/state/troupe`; created with mode 0700
/// if it is not there. Empty if it cannot be used, with the reason in `problem`: then the program works
/// without memory.
std::string usable_state_dir(std::string& problem);

}  // namespace troupe

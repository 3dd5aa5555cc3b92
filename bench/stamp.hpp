// The children that this program is itself, for latencies: hidden subcommands that print the
// monotonic clock in nanoseconds.
#pragma once

#include <optional>

namespace troupe::bench {

/// `__stamp MS`: sleeps, prints one stamp and ends at once. `__ticks COUNT MS`: prints COUNT
/// stamps, one a line, each after a sleep. Nothing for any other command line.
std::optional<int> run_as_child(int argc, char** argv);

}  // namespace troupe::bench

// Rates of starts of `true`, ours and raw.
#pragma once

#include <cstddef>
#include <vector>

#include "troupe/bench/core.hpp"
#include "troupe/bench/raw_server.hpp"

namespace troupe::bench {

/// Starts `true` so many times with so many in flight, each until it is finished; per second.
double spawn_rate(core& host, std::size_t count, std::size_t in_flight);

/// a: how many, b: in flight. Gives the rate.
std::vector<double> raw_spawn_rate(const raw_args& args);

}  // namespace troupe::bench

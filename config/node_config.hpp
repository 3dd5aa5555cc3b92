// The CAF side of the configuration: an actor system configuration with the scheduler settings we
// measured (design 10) and no log output of CAF's own. Programs and embedding hosts that have none
// of their own start from it.
#pragma once

#include <caf/actor_system_config.hpp>

#include "troupe/config/options.hpp"

namespace troupe {

class node_config : public caf::actor_system_config {
 public:
  node_config();

  /// What the registry is spawned with.
  troupe::options troupe_options;
};

}  // namespace troupe

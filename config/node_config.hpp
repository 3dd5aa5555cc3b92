// The CAF side of the configuration: an actor system configuration with the scheduler settings we
// measured (design 10) and no log output of CAF's own. Programs and embedding hosts that have none
// of their own start from it.
#pragma once

#include <string>

#include <caf/actor_system_config.hpp>

#include "troupe/config/options.hpp"

namespace troupe {

class node_config : public caf::actor_system_config {
 public:
  node_config();

  /// Reads `file`; if it is empty, the default one if there is one (config/config_file.hpp). Throws
  /// std::runtime_error with a sentence that names file and key.
  void read(const std::string& file);

  /// What the registry is spawned with.
  troupe::options troupe_options;
};

}  // namespace troupe

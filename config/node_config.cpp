#include "troupe/config/node_config.hpp"

namespace troupe {

node_config::node_config() {
  // The stealing policy burns a third of a core at 100 messages a second and wakes up eight times
  // slower than sharing; without a throughput limit one flooded actor holds its worker for a
  // second (both measured, see docs/performance.md).
  set("caf.scheduler.policy", "sharing");
  set("caf.scheduler.max-throughput", defaults::max_throughput);
  set("caf.logger.console.verbosity", "quiet");
  set("caf.logger.file.verbosity", "quiet");
}

}  // namespace troupe

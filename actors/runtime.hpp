// Everything a host needs to embed Troupe in its actor system: the io loop, the backends and the
// registry, started together and ended in order. One per actor system.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <caf/fwd.hpp>

#include "troupe/config/options.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe {

/// Registers the types of CAF and of Troupe. Call once, before the first actor system.
void init_types();

class runtime {
 public:
  /// Starts the io loop's thread and spawns the registry. Throws std::system_error if the loop or
  /// the memory for the rings cannot be had, std::runtime_error if there is a state directory that
  /// cannot be used.
  runtime(caf::actor_system& system, options opts);
  /// Calls `shutdown` if nobody has.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  const registry_actor& registry() const noexcept { return registry_; }

  /// What could not be read of the event journal of an earlier life, in words; empty: nothing was
  /// lost.
  std::vector<std::string> journal_losses() const;

  /// Ordered and bounded (design 10): starts nothing any more, ends every process (SIGTERM, grace,
  /// SIGKILL), then the registry. Blocks the calling thread for at most about two graces and the
  /// settle time. Idempotent; not thread-safe.
  void shutdown();

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  registry_actor registry_;
};

}  // namespace troupe

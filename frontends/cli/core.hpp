// The core as the subcommands need it. The program hands in how one is made, so that the front ends
// know messages only and not the actors behind them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/fwd.hpp>

#include "troupe/config/options.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe::cli {

/// A running core. Ends its processes in order when it is shut down or destroyed.
class core {
 public:
  virtual ~core() = default;
  virtual const registry_actor& registry() const = 0;
  /// What of an earlier life could not be read, in words.
  virtual std::vector<std::string> losses() const = 0;
  /// Ordered and bounded; idempotent.
  virtual void shutdown() = 0;
};

/// Starts a core. Throws std::exception with a text for people.
using core_factory = std::function<std::unique_ptr<core>(caf::actor_system&, const options&)>;

}  // namespace troupe::cli

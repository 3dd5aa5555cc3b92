#include "troupe/frontends/cli/registry_gate.hpp"

#include <utility>

#include <caf/actor_system.hpp>
#include <caf/result.hpp>
#include <caf/typed_event_based_actor.hpp>

namespace troupe::cli {

namespace {

class registry_gate_state {
 public:
  registry_gate_state(registry_actor::pointer self, registry_actor registry)
      : self_{self}, registry_{std::move(registry)} {}

  registry_actor::behavior_type make_behavior() {
    return forward_all(static_cast<registry_actor::signatures*>(nullptr));
  }

  static constexpr const char* name = "troupe.registry-gate";

 private:
  /// One handler per message of the interface, made from its signature: none can be forgotten.
  template <template <class...> class List, class... Signatures>
  registry_actor::behavior_type forward_all(List<Signatures...>*) {
    return {forward(static_cast<Signatures*>(nullptr))...};
  }

  template <class Result, class... Args>
  auto forward(Result (*)(Args...)) {
    return [this](Args... args) -> Result {
      return compat::delegate(self_, registry_, std::move(args)...);
    };
  }

  registry_actor::pointer self_;
  registry_actor registry_;
};

}  // namespace

registry_actor spawn_registry_gate(caf::actor_system& system, registry_actor registry) {
  return system.spawn<registry_actor::stateful_impl<registry_gate_state>>(std::move(registry));
}

}  // namespace troupe::cli

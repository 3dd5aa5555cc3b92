#include <utility>

#include <caf/actor_system.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include "troupe/frontends/tools/event_feed.hpp"

namespace troupe::tools {

namespace {

using feed_actor = event_handler_actor::extend<caf::result<void>(close_atom)>;

/// Answers a list when its reader says so.
class feed_state {
 public:
  feed_state(feed_actor::pointer self, std::function<void(const std::vector<event>&)> on_list)
      : self_(self), on_list_(std::move(on_list)) {}

  feed_actor::behavior_type make_behavior() {
    return {[this](const std::vector<event>& list) -> caf::result<void> {
              held_ = self_->make_response_promise<void>();
              auto promise = held_;
              on_list_(list);
              return promise;
            },
            [this](close_atom) {
              if (held_.pending()) held_.deliver();
            }};
  }

 private:
  feed_actor::pointer self_;
  std::function<void(const std::vector<event>&)> on_list_;
  caf::typed_response_promise<void> held_;
};

class feed final : public event_feed {
 public:
  explicit feed(feed_actor actor) : actor_(std::move(actor)) {}
  ~feed() override { compat::anon_send_exit(actor_, caf::exit_reason::user_shutdown); }
  void told() override { compat::anon_send(actor_, close_atom_v); }

 private:
  feed_actor actor_;
};

}  // namespace

std::shared_ptr<event_feed> make_event_feed(
    caf::actor_system& system, const registry_actor& registry, const std::string& session,
    std::function<void(const std::vector<event>&)> on_list) {
  auto actor = system.spawn<feed_actor::stateful_impl<feed_state>>(std::move(on_list));
  compat::anon_send(registry, subscribe_atom_v, subscription{session, std::nullopt},
                    caf::actor_cast<event_handler_actor>(actor));
  return std::make_shared<feed>(std::move(actor));
}

}  // namespace troupe::tools

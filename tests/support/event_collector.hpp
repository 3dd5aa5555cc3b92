// A subscriber for tests: collects the events of one session and lets the test wait for them.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "troupe/messages/event_listener.hpp"
#include "troupe/tests/support/host.hpp"

namespace troupe::testing {

class event_collector {
 public:
  explicit event_collector(host& h, std::string session = "test",
                           std::optional<std::uint64_t> after = {}) {
    // The listener may outlive the collector by a message.
    auto state = state_;
    listener_ = make_event_listener(h.system(), [state](const event& x) {
      std::lock_guard guard{state->mutex};
      state->events.push_back(x);
      state->changed.notify_all();
    });
    h.ask<std::uint64_t>(subscribe_atom_v, subscription{std::move(session), after}, listener_);
  }
  ~event_collector() { leave(); }
  event_collector(const event_collector&) = delete;
  event_collector& operator=(const event_collector&) = delete;

  void leave() {
    if (listener_) compat::anon_send_exit(listener_, caf::exit_reason::user_shutdown);
    listener_ = nullptr;
  }

  /// Everything so far, once it satisfies `enough`; what there is after the limit.
  std::vector<event> when(const std::function<bool(const std::vector<event>&)>& enough,
                          std::chrono::milliseconds limit = generous) {
    std::unique_lock lock{state_->mutex};
    state_->changed.wait_for(lock, limit, [&] { return enough(state_->events); });
    return state_->events;
  }
  std::vector<event> when_count(std::size_t count) {
    return when([count](const std::vector<event>& list) { return list.size() >= count; });
  }
  std::vector<event> now() {
    std::lock_guard guard{state_->mutex};
    return state_->events;
  }

 private:
  struct shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<event> events;
  };
  std::shared_ptr<shared> state_ = std::make_shared<shared>();
  event_handler_actor listener_;
};

}  // namespace troupe::testing

// The watcher actor: one per process with watch patterns. It gets matching lines in batches (one at a
// time, see `watch_matcher`), and decides with `watch_policy` and the node's breaker which are told.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include "troupe/actors/watch_policy.hpp"
#include "troupe/config/options.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe {

/// What the events of one process have in common.
struct event_origin {
  caller owner;
  std::string process;
  std::string command;  ///< redacted
  caf::timestamp started_at;

  event make(event_kind kind) const;
};

class watcher_state {
 public:
  watcher_state(watcher_actor::pointer self, std::shared_ptr<const options> opts,
                events_actor events, event_origin origin, watch_summary before);

  watcher_actor::behavior_type make_behavior();

  static constexpr const char* name = "troupe.watcher";

 private:
  struct waiting_batch {
    watch_batch what;
    caf::typed_response_promise<watch_summary> promise;
  };

  caf::result<watch_summary> on_batch(watch_batch batch);
  caf::result<watch_summary> on_close();
  void work();
  void tell(const watch_batch& batch);
  void tell_disabled();
  void settle();
  watch_summary summary() const;

  watcher_actor::pointer self_;
  events_actor events_;
  event_origin origin_;
  watch_policy policy_;
  std::deque<waiting_batch> queue_;
  bool telling_ = false;
  caf::typed_response_promise<watch_summary> closing_;
};

}  // namespace troupe

#include "troupe/actors/watcher.hpp"

namespace troupe {

event event_origin::make(event_kind kind) const {
  event x;
  x.kind = kind;
  x.at = caf::make_timestamp();
  x.owner = owner;
  x.process = process;
  x.command = command;
  x.duration = x.at - started_at;
  return x;
}

watcher_state::watcher_state(watcher_actor::pointer self, std::shared_ptr<const options> opts,
                             events_actor events, event_origin origin, watch_summary before)
    : self_(self),
      events_(std::move(events)),
      origin_(std::move(origin)),
      policy_({opts->watch_cooldown, opts->watch_strikes, opts->watch_hits_max}) {
  policy_.restore(before.delivered, before.disabled);
}

watcher_actor::behavior_type watcher_state::make_behavior() {
  return {
      [this](watch_atom, watch_batch& batch) { return on_batch(std::move(batch)); },
      [this](handoff_atom, const caller& owner) { origin_.owner = owner; },
      [this](close_atom) { return on_close(); },
  };
}

caf::result<watch_summary> watcher_state::on_batch(watch_batch batch) {
  // The process sends one at a time, and at its end one more.
  auto promise = self_->make_response_promise<watch_summary>();
  queue_.push_back({std::move(batch), promise});
  work();
  return promise;
}

void watcher_state::work() {
  while (!telling_ && !queue_.empty()) {
    const auto before = policy_.disabled();
    switch (policy_.match(queue_.front().what.matched, watch_clock::now())) {
      case watch_policy::verdict::deliver:
        telling_ = true;
        tell(queue_.front().what);
        return;
      case watch_policy::verdict::hold:
        break;
      case watch_policy::verdict::disable:
        if (!before) tell_disabled();
        break;
    }
    settle();
  }
  if (!telling_ && queue_.empty() && closing_.pending()) closing_.deliver(summary());
}

void watcher_state::tell(const watch_batch& batch) {
  auto x = origin_.make(event_kind::watch_match);
  x.pattern = batch.pattern;
  x.output = batch.lines;
  x.held_back = policy_.held_back() + batch.matched - batch.shown;
  compat::request(self_, events_, watch_atom_v, std::move(x))
      .then(
          [this](caf::timespan pause) {
            const auto matched = queue_.front().what.matched;
            const auto now = watch_clock::now();
            if (pause > caf::timespan::zero()) {
              policy_.refused(matched, pause, now);
            } else if (policy_.delivered(0, now)) {
              tell_disabled();
            }
            telling_ = false;
            settle();
            work();
          },
          [this](const caf::error&) {
            telling_ = false;
            settle();
            work();
          });
}

void watcher_state::tell_disabled() {
  auto x = origin_.make(event_kind::watch_disabled);
  x.held_back = policy_.held_back();
  x.note = policy_.held_back() > 0
               ? "the patterns match too often; watching has ended, its end will be told"
               : "as many matches were told as one process may have; watching has ended, its end "
                 "will be told";
  compat::send(self_, events_, publish_atom_v, std::move(x), false);
}

void watcher_state::settle() {
  auto promise = std::move(queue_.front().promise);
  queue_.pop_front();
  promise.deliver(summary());
}

caf::result<watch_summary> watcher_state::on_close() {
  if (!telling_ && queue_.empty()) return summary();
  closing_ = self_->make_response_promise<watch_summary>();
  return closing_;
}

watch_summary watcher_state::summary() const {
  return {policy_.held_back(), policy_.hits(), policy_.disabled()};
}

}  // namespace troupe

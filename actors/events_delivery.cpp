// Who is told what happened: subscriptions, fetching, lingering, acknowledgement.
#include <algorithm>
#include <functional>
#include <utility>

#include "troupe/actors/event_codec.hpp"
#include "troupe/actors/events.hpp"

namespace troupe {

caf::result<std::uint64_t> events_state::on_subscribe(const subscription& what,
                                                      event_handler_actor handler) {
  if (what.session.empty()) {
    return make_error(errc::bad_argument, "session: events without an owner belong to nobody");
  }
  if (!handler) return make_error(errc::bad_argument, "handler: there is none");
  expire_old();
  for (auto it = subscribers_.begin(); it != subscribers_.end(); ++it) {
    if (it->second.handler == handler && it->second.session == what.session) {
      subscribers_.erase(it);
      break;
    }
  }
  const auto token = next_token_++;
  auto& entry = subscribers_[token];
  entry.session = what.session;
  entry.handler = std::move(handler);
  // A number that we never gave is of another life: it says nothing about what is here.
  if (what.after && *what.after <= index_.last()) entry.position = *what.after;
  caf::actor_cast<caf::actor>(entry.handler)
      ->attach_functor([token, me = caf::actor_cast<events_actor>(self_)] {
        compat::anon_send(me, lost_atom_v, token);
      });
  const auto position = entry.position;
  if (position > 0) acknowledged(what.session, position);
  pump(token);
  return position;
}

void events_state::pump(std::uint64_t token) {
  const auto it = subscribers_.find(token);
  if (it == subscribers_.end() || it->second.busy) return;
  auto& entry = it->second;
  auto list = index_.next(entry.session, entry.position, journalled_, defaults::event_batch);
  if (list.empty()) return;
  entry.busy = true;
  const auto last = list.back().sequence;
  const auto count = list.size();
  compat::request(self_, entry.handler, std::move(list))
      .then(
          [this, token, last, count] {
            const auto known = subscribers_.find(token);
            if (known == subscribers_.end()) return;
            known->second.busy = false;
            known->second.position = last;
            numbers_.events_delivered(count);
            const auto session = known->second.session;
            acknowledged(session, last);
            pump(token);
          },
          // It does not take them: what it has not acknowledged is kept for its next subscription.
          [this, token](const caf::error&) { on_lost(token); });
}

/// Somebody of this session has everything up to `upto`: what all of them have is dead. True if
/// that was news.
bool events_state::acknowledged(const std::string& session, std::uint64_t upto) {
  for (const auto& [token, entry] : subscribers_) {
    if (entry.session == session) upto = std::min(upto, entry.position);
  }
  const auto before = index_.size();
  index_.acknowledge(session, upto);
  if (index_.size() == before) return false;
  mark(journal_kind::acknowledged, session, upto);
  session_changed(session);
  return true;
}

void events_state::on_lost(std::uint64_t token) {
  const auto it = subscribers_.find(token);
  if (it == subscribers_.end()) return;
  const auto session = it->second.session;
  subscribers_.erase(it);
  // It may have been the slowest.
  std::uint64_t lowest = 0;
  for (const auto& [other, entry] : subscribers_) {
    if (entry.session != session) continue;
    lowest = lowest == 0 ? entry.position : std::min(lowest, entry.position);
  }
  if (lowest > 0) acknowledged(session, lowest);
}

caf::result<drain_result> events_state::on_drain(drain_request what) {
  const auto session = what.from.session;
  if (session.empty()) {
    return make_error(errc::bad_argument, "session: events without an owner belong to nobody");
  }
  if (what.from.after && *what.from.after > index_.last()) what.from.after.reset();
  if (what.from.after) {
    const auto before = index_.undelivered(session);
    const bool news = acknowledged(session, *what.from.after);
    numbers_.events_delivered(before - std::min(before, index_.undelivered(session)));
    if (news && store_ && what.limit == 0) {
      // An acknowledgement alone is answered when it is durable: records keep their order.
      auto promise = self_->make_response_promise<drain_result>();
      const std::function<void()> done = [promise, last = *what.from.after]() mutable {
        promise.deliver(drain_result{{}, last, false});
      };
      compat::request(self_, store_, append_atom_v,
                      static_cast<std::uint8_t>(journal_kind::acknowledged), std::uint64_t{0},
                      encode_mark({session, *what.from.after}), index_.keep_from())
          .then(done, [done](const caf::error&) { done(); });
      return promise;
    }
  }
  auto result = drained(session, what);
  if (!result.events.empty() || what.limit == 0 || what.wait <= caf::timespan::zero()) {
    return result;
  }
  if (drains_.size() >= defaults::waiters_per_process) {
    return make_error(errc::limit_reached, "too many requests wait for events");
  }
  const auto token = next_token_++;
  auto& entry = drains_[token];
  entry.session = session;
  entry.promise = self_->make_response_promise<drain_result>();
  entry.timer = arm(token, what.wait);
  entry.what = std::move(what);
  return entry.promise;
}

drain_result events_state::drained(const std::string& session, const drain_request& what) const {
  drain_result result;
  const auto after = what.from.after.value_or(0);
  result.events = index_.next(session, after, journalled_, std::size_t{what.limit} + 1);
  if (result.events.size() > what.limit) {
    result.more = true;
    result.events.resize(what.limit);
  }
  result.last = result.events.empty() ? after : result.events.back().sequence;
  return result;
}

linger_result events_state::expected_of(const std::string& session) const {
  linger_result result;
  result.undelivered = index_.undelivered(session);
  if (const auto it = promised_of_.find(session); it != promised_of_.end()) {
    result.promised = it->second;
  }
  return result;
}

caf::result<linger_result> events_state::on_linger(const caller& who, caf::timespan limit) {
  auto now = expected_of(who.session);
  if ((now.undelivered == 0 && now.promised == 0) || limit <= caf::timespan::zero()) return now;
  if (lingers_.size() >= defaults::waiters_per_process) {
    return make_error(errc::limit_reached, "too many requests wait for completions");
  }
  const auto token = next_token_++;
  auto& entry = lingers_[token];
  entry.session = who.session;
  entry.promise = self_->make_response_promise<linger_result>();
  entry.timer = arm(token, limit);
  return entry.promise;
}

void events_state::session_changed(const std::string& session) {
  for (auto it = subscribers_.begin(); it != subscribers_.end();) {
    const auto token = it->first;
    const bool mine = it->second.session == session;
    ++it;
    if (mine) pump(token);
  }
  for (auto it = drains_.begin(); it != drains_.end();) {
    auto result =
        it->second.session == session ? drained(session, it->second.what) : drain_result{};
    if (result.events.empty()) {
      ++it;
      continue;
    }
    loop_->cancel(it->second.timer);
    it->second.promise.deliver(std::move(result));
    it = drains_.erase(it);
  }
  for (auto it = lingers_.begin(); it != lingers_.end();) {
    const auto now = expected_of(it->second.session);
    if (it->second.session != session || now.undelivered > 0 || now.promised > 0) {
      ++it;
      continue;
    }
    loop_->cancel(it->second.timer);
    it->second.promise.deliver(now);
    it = lingers_.erase(it);
  }
}

}  // namespace troupe

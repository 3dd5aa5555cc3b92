#include "troupe/actors/events.hpp"

#include <algorithm>
#include <utility>

#include "troupe/actors/event_codec.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t breaker_token = 0;

std::uint64_t microseconds_now() {
  const auto now = caf::make_timestamp().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace

events_state::events_state(events_actor::pointer self, std::shared_ptr<const options> opts,
                           std::shared_ptr<backends::io_loop> loop, store_actor store,
                           std::vector<persistence::journal_record> known, metrics numbers)
    : self_(self),
      opts_(std::move(opts)),
      loop_(std::move(loop)),
      store_(std::move(store)),
      numbers_(numbers),
      index_({opts_->events_per_session, opts_->event_bytes}),
      breaker_({opts_->breaker_matches, opts_->breaker_window, opts_->breaker_pause}) {
  restore(known);
}

events_state::~events_state() {
  if (breaker_timer_ != 0) loop_->cancel(breaker_timer_);
  for (const auto& [token, entry] : drains_) loop_->cancel(entry.timer);
  for (const auto& [token, entry] : lingers_) loop_->cancel(entry.timer);
}

events_actor::behavior_type events_state::make_behavior() {
  return {
      [this](publish_atom, event& x, bool consumed) { return on_publish(std::move(x), consumed); },
      [this](watch_atom, event& x) { return on_watch(std::move(x)); },
      [this](consume_atom, const std::string& session, const std::string& process) {
        on_consume(session, process);
      },
      [this](promise_atom, const std::string& process, const std::string& session) {
        on_promise(process, session);
      },
      [this](subscribe_atom, const subscription& what, event_handler_actor& handler) {
        return on_subscribe(what, std::move(handler));
      },
      [this](drain_atom, drain_request& what) { return on_drain(std::move(what)); },
      [this](linger_atom, const caller& who, caf::timespan limit) { return on_linger(who, limit); },
      [this](deadline_atom, std::uint64_t token) { on_deadline(token); },
      [this](lost_atom, std::uint64_t token) { on_lost(token); },
  };
}

// -- the journal ----------------------------------------------------------------------------------

void events_state::restore(const std::vector<persistence::journal_record>& known) {
  for (const auto& record : known) {
    index_.number_after(record.number);
    if (record.kind == static_cast<std::uint8_t>(journal_kind::event)) {
      if (auto x = decode_event(record.number, record.payload)) index_.restore(std::move(*x));
      continue;
    }
    const auto mark = decode_mark(record.payload);
    if (!mark) continue;
    index_.number_after(mark->number);
    switch (static_cast<journal_kind>(record.kind)) {
      case journal_kind::acknowledged:
        index_.acknowledge(mark->session, mark->number);
        break;
      case journal_kind::consumed:
        index_.consume_number(mark->session, mark->number);
        break;
      case journal_kind::expired:
        index_.expire(mark->session, mark->number);
        break;
      case journal_kind::event:
        break;
    }
  }
  // Numbers grow also over a journal that was lost: nobody outruns a million events a second.
  index_.number_after(microseconds_now());
  journalled_ = index_.last();
  expire_old();
}

void events_state::expire_old() {
  const auto oldest = caf::make_timestamp() - caf::timespan{opts_->event_retention};
  for (const auto& one : index_.expire_before(oldest)) {
    mark(journal_kind::expired, one.session, one.upto);
  }
}

void events_state::mark(journal_kind kind, const std::string& session, std::uint64_t number) {
  if (!store_) return;
  compat::send(self_, store_, append_atom_v, static_cast<std::uint8_t>(kind), std::uint64_t{0},
               encode_mark({session, number}), index_.keep_from());
}

template <class Then>
void events_state::journal(event x, bool consumed, Then then) {
  std::vector<event_index::expiry> expired;
  const auto kept = index_.add(std::move(x), consumed, expired);
  const auto number = kept->sequence;
  for (const auto& one : expired) mark(journal_kind::expired, one.session, one.upto);
  if (!store_) {
    journalled(kept->owner.session, number);
    return then();
  }
  auto done = [this, session = kept->owner.session, number, then]() mutable {
    journalled(session, number);
    then();
  };
  // What cannot be written at the moment is told all the same; the store tries again.
  compat::request(self_, store_, append_atom_v, static_cast<std::uint8_t>(journal_kind::event),
                  number, encode_event(*kept), index_.keep_from())
      .then(done, [done](const caf::error&) mutable { done(); });
  if (consumed) mark(journal_kind::consumed, kept->owner.session, number);
}

void events_state::journalled(const std::string& session, std::uint64_t number) {
  journalled_ = std::max(journalled_, number);
  session_changed(session);
}

// -- what happens ---------------------------------------------------------------------------------

caf::result<void> events_state::on_publish(event x, bool consumed) {
  std::string kept_promise;
  if (x.kind == event_kind::completion) {
    kept_promise = x.process;
    if (x.held_back > 0) numbers_.events_held_back(x.held_back);
  }
  auto promise = self_->make_response_promise<void>();
  journal(std::move(x), consumed, [promise]() mutable { promise.deliver(); });
  // Not before: who lingers must find either the promise or the event.
  if (!kept_promise.empty()) end_promise(kept_promise);
  return promise;
}

caf::result<caf::timespan> events_state::on_watch(event x) {
  const auto lines =
      1 + static_cast<std::uint64_t>(std::count(x.output.begin(), x.output.end(), '\n'));
  const auto how = breaker_.match(x.owner.session, lines, watch_clock::now());
  if (!how.admitted) {
    if (how.tripped) breaker_timer_ = arm(breaker_token, opts_->breaker_pause);
    if (how.announce) {
      announce(x.owner.session, 0,
               "too many matches of watch patterns in a short time: further ones are held back");
    }
    return caf::timespan{how.pause};
  }
  if (x.held_back > 0) numbers_.events_held_back(x.held_back);
  auto promise = self_->make_response_promise<caf::timespan>();
  journal(std::move(x), false, [promise]() mutable { promise.deliver(caf::timespan::zero()); });
  return promise;
}

void events_state::announce(const std::string& session, std::uint64_t lines, std::string note) {
  event x;
  x.kind = event_kind::watch_overflow;
  x.at = caf::make_timestamp();
  x.owner.session = session;
  x.held_back = lines;
  x.note = std::move(note);
  journal(std::move(x), false, [] {});
}

void events_state::on_consume(const std::string& session, const std::string& process) {
  if (const auto number = index_.consume(session, process)) {
    mark(journal_kind::consumed, session, *number);
    session_changed(session);
  }
}

void events_state::on_promise(const std::string& process, const std::string& session) {
  end_promise(process);
  if (session.empty()) return;
  promised_[process] = session;
  ++promised_of_[session];
}

void events_state::end_promise(const std::string& process) {
  const auto it = promised_.find(process);
  if (it == promised_.end()) return;
  const auto session = std::move(it->second);
  promised_.erase(it);
  if (const auto count = promised_of_.find(session);
      count != promised_of_.end() && --count->second == 0) {
    promised_of_.erase(count);
  }
  session_changed(session);
}

// -- who is told ----------------------------------------------------------------------------------

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
      auto done = [promise, last = *what.from.after]() mutable {
        promise.deliver(drain_result{{}, last, false});
      };
      compat::request(self_, store_, append_atom_v,
                      static_cast<std::uint8_t>(journal_kind::acknowledged), std::uint64_t{0},
                      encode_mark({session, *what.from.after}), index_.keep_from())
          .then(done, [done](const caf::error&) mutable { done(); });
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

// -- timers ---------------------------------------------------------------------------------------

std::uint64_t events_state::arm(std::uint64_t token, caf::timespan delay) {
  return loop_->after(delay, [token, me = caf::actor_cast<events_actor>(self_)] {
    compat::anon_send(me, deadline_atom_v, token);
  });
}

void events_state::on_deadline(std::uint64_t token) {
  if (token == breaker_token) {
    breaker_timer_ = 0;
    for (const auto& one : breaker_.reset()) {
      announce(one.session, one.lines,
               "matches of watch patterns are told again; this many lines were held back");
    }
    return;
  }
  if (const auto it = drains_.find(token); it != drains_.end()) {
    it->second.promise.deliver(drained(it->second.session, it->second.what));
    drains_.erase(it);
  } else if (const auto entry = lingers_.find(token); entry != lingers_.end()) {
    entry->second.promise.deliver(expected_of(entry->second.session));
    lingers_.erase(entry);
  }
}

}  // namespace troupe

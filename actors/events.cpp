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

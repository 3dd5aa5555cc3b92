// The events actor: one per node. It numbers what happens, has it journalled by the store, and tells
// every subscriber what it should see, once and in order (design 8). Rules and memory are in
// `event_index`; this is the part that sends messages.
//
// Files: events.cpp (what happens), events_delivery.cpp (who is told).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include "troupe/actors/event_index.hpp"
#include "troupe/actors/metrics.hpp"
#include "troupe/actors/store.hpp"
#include "troupe/actors/watch_policy.hpp"
#include "troupe/backends/io_loop.hpp"
#include "troupe/config/options.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe {

class events_state {
 public:
  /// `store` may be null: then nothing outlives the node. `known`: records of an earlier life.
  events_state(events_actor::pointer self, std::shared_ptr<const options> opts,
               std::shared_ptr<backends::io_loop> loop, store_actor store,
               std::vector<persistence::journal_record> known, metrics numbers);
  ~events_state();
  events_state(const events_state&) = delete;
  events_state& operator=(const events_state&) = delete;

  events_actor::behavior_type make_behavior();

  static constexpr const char* name = "troupe.events";

 private:
  struct subscriber {
    std::string session;
    event_handler_actor handler;
    std::uint64_t position = 0;  ///< has everything up to here
    bool busy = false;           ///< a list is on its way
  };
  struct waiting_drain {
    std::string session;
    drain_request what;
    caf::typed_response_promise<drain_result> promise;
    std::uint64_t timer = 0;
  };
  struct waiting_linger {
    std::string session;
    caf::typed_response_promise<linger_result> promise;
    std::uint64_t timer = 0;
  };

  caf::result<void> on_publish(event x, bool consumed);
  caf::result<caf::timespan> on_watch(event x);
  void on_consume(const std::string& session, const std::string& process);
  void on_promise(const std::string& process, const std::string& session);
  caf::result<std::uint64_t> on_subscribe(const subscription& what, event_handler_actor handler);
  caf::result<drain_result> on_drain(drain_request what);
  caf::result<linger_result> on_linger(const caller& who, caf::timespan limit);
  void on_deadline(std::uint64_t token);
  void on_lost(std::uint64_t token);

  void restore(const std::vector<persistence::journal_record>& known);
  /// Numbers and journals an event; `then` is called when it is journalled.
  template <class Then>
  void journal(event x, bool consumed, Then then);
  void mark(journal_kind kind, const std::string& session, std::uint64_t number);
  void expire_old();
  void journalled(const std::string& session, std::uint64_t number);
  void pump(std::uint64_t token);
  bool acknowledged(const std::string& session, std::uint64_t upto);
  void session_changed(const std::string& session);
  drain_result drained(const std::string& session, const drain_request& what) const;
  linger_result expected_of(const std::string& session) const;
  void end_promise(const std::string& process);
  std::uint64_t arm(std::uint64_t token, caf::timespan delay);
  void announce(const std::string& session, std::uint64_t lines, std::string note);

  events_actor::pointer self_;
  std::shared_ptr<const options> opts_;
  std::shared_ptr<backends::io_loop> loop_;
  store_actor store_;
  metrics numbers_;
  event_index index_;
  watch_breaker breaker_;
  std::uint64_t breaker_timer_ = 0;
  /// Events up to this number are journalled and may be delivered.
  std::uint64_t journalled_ = 0;

  std::uint64_t next_token_ = 1;  // 0: the breaker
  std::map<std::uint64_t, subscriber> subscribers_;
  std::map<std::uint64_t, waiting_drain> drains_;
  std::map<std::uint64_t, waiting_linger> lingers_;
  std::unordered_map<std::string, std::string> promised_;       // process → session
  std::unordered_map<std::string, std::uint64_t> promised_of_;  // session → how many
};

}  // namespace troupe

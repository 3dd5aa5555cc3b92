// The heartbeat actor: one per process with a heartbeat. At every tick it asks the process what it
// printed since the last one (by cursor, so nothing is told twice or left out) and tells it if there
// is anything.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include "troupe/actors/watcher.hpp"
#include "troupe/backends/io_loop.hpp"
#include "troupe/config/options.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe {

/// When the next heartbeat is due: at whole multiples of the period, so that they do not drift; ticks
/// that were missed are left out. The clock is a parameter.
class heartbeat_schedule {
 public:
  using clock = std::chrono::steady_clock;

  heartbeat_schedule(clock::duration period, clock::time_point start)
      : period_(std::max(period, clock::duration{1})), start_(start) {}

  /// max(`seconds`, `shortest`).
  static clock::duration period_of(std::uint32_t seconds, clock::duration shortest) {
    return std::max<clock::duration>(std::chrono::seconds{seconds}, shortest);
  }

  clock::duration until_next(clock::time_point now) const {
    const auto elapsed = std::max(now - start_, clock::duration::zero());
    return period_ - elapsed % period_;
  }

 private:
  clock::duration period_;
  clock::time_point start_;
};

class heartbeat_state {
 public:
  heartbeat_state(heartbeat_actor::pointer self, std::shared_ptr<backends::io_loop> loop,
                  events_actor events, process_actor process, event_origin origin,
                  heartbeat_schedule::clock::duration period, std::uint64_t cursor);
  ~heartbeat_state();
  heartbeat_state(const heartbeat_state&) = delete;
  heartbeat_state& operator=(const heartbeat_state&) = delete;

  heartbeat_actor::behavior_type make_behavior();

  static constexpr const char* name = "troupe.heartbeat";

 private:
  void on_tick();
  void arm();

  heartbeat_actor::pointer self_;
  std::shared_ptr<backends::io_loop> loop_;
  events_actor events_;
  process_actor process_;
  event_origin origin_;
  heartbeat_schedule schedule_;
  std::uint64_t timer_ = 0;
  std::uint64_t cursor_ = 0;
  bool closed_ = false;
};

}  // namespace troupe

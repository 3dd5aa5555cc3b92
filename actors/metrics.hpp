// The counters of a node (behaviour 7), in the metric registry of its actor system. A handle on them:
// copied freely, used from any actor. Command text is never exported, only its kind.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <caf/fwd.hpp>
#include <caf/telemetry/counter.hpp>
#include <caf/telemetry/gauge.hpp>
#include <caf/telemetry/histogram.hpp>

#include "troupe/messages/records.hpp"

namespace troupe {

/// What kind of program a command begins with: `vcs`, `build`, `python` …, or `other`. A look-up of
/// its first program word; assignments, `sudo` and `env` before it are skipped.
std::string_view command_kind(std::string_view command);

class metrics {
 public:
  explicit metrics(caf::actor_system& system);

  void started(caf::timespan took) const;
  void finished(std::uint64_t output_bytes, std::uint64_t dropped_bytes) const;
  void killed(caf::timespan took) const;
  /// A foreground command has ended.
  void outcome(std::string_view backend, std::string_view command, const exit_info& end) const;
  /// A request that a backend was asked for: `served` is `ok` or `failed`.
  void backend_call(std::string_view backend, bool served) const;
  void events_delivered(std::uint64_t count) const;
  void events_held_back(std::uint64_t lines) const;

 private:
  caf::actor_system* system_;
  caf::telemetry::int_gauge* processes_running_;
  caf::telemetry::int_counter* processes_started_;
  caf::telemetry::int_counter* output_bytes_;
  caf::telemetry::int_counter* output_dropped_bytes_;
  caf::telemetry::int_counter* events_delivered_;
  caf::telemetry::int_counter* events_held_back_;
  caf::telemetry::dbl_histogram* spawn_seconds_;
  caf::telemetry::dbl_histogram* kill_seconds_;
};

}  // namespace troupe

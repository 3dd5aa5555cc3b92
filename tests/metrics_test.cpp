// The counters of a node, as a monitoring system sees them; no command text among them.
#include <caf/telemetry/collector/prometheus.hpp>
#include <caf/telemetry/metric_registry.hpp>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("what happened is counted, by kind and outcome, without command text") {
  host h;
  h.run("true secret-argument");
  h.run("test 1 = 2");
  h.run("sleep 60", [](spawn_request& r) { r.timeout = std::chrono::milliseconds{50}; });
  const auto started = h.start("my-own-tool; echo 12345");
  h.wait(started.id);
  h.kill(started.id);
  caf::telemetry::collector::prometheus collector;
  const auto view = collector.collect_from(h.system().metrics());
  const std::string text{view.begin(), view.end()};
  for (const auto* part :
       {"troupe_terminal_outcome_total{backend=\"local\",command_kind=\"shell\",outcome=\"ok\"} 1",
        "command_kind=\"shell\",outcome=\"nonzero\"} 1",
        "command_kind=\"shell\",outcome=\"timeout\"} 1",
        "troupe_backend_calls_total{backend=\"local\",served=\"ok\"} 4",
        "troupe_processes_running 0", "troupe_processes_started_total 4",
        "troupe_output_bytes_total", "troupe_output_dropped_bytes_total",
        "troupe_events_delivered_total", "troupe_events_held_back_total",
        "troupe_spawn_seconds_count 4", "troupe_kill_seconds_count"}) {
    CHECK_THAT(text, ContainsSubstring(part));
  }
  CHECK(text.find("secret") == text.npos);
  CHECK(text.find("my-own-tool") == text.npos);
}

// What a host is told without asking (design 8): events, and how it subscribes to them. Plain
// records like those of records.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "troupe/messages/records.hpp"

namespace troupe {

enum class event_kind : std::uint8_t {
  completion = 0,      ///< a process that asked for it has ended
  watch_match = 1,     ///< output matched a watch pattern
  watch_disabled = 2,  ///< watching was given up for a process; it will be told by its completion
  watch_overflow = 3,  ///< matches of all processes together were too many; and the end of that
  heartbeat = 4,       ///< what a process printed since the last one
  environment = 5,     ///< something happened to an environment
  gap = 6,             ///< events were thrown away before this subscriber got them
};

std::string to_string(event_kind x);
bool from_string(compat::string_view text, event_kind& x);
bool from_integer(std::uint8_t value, event_kind& x);
template <class Inspector>
bool inspect(Inspector& f, event_kind& x) {
  return caf::default_enum_inspect(f, x);
}

struct event {
  /// Grows from event to event of a node, also over restarts; not without holes. In a gap: the
  /// number of the last event that is missing.
  std::uint64_t sequence = 0;
  event_kind kind = event_kind::completion;
  caf::timestamp at;
  /// The caller that started the process, exactly as it was given.
  caller owner;
  /// Id of the process; empty if it is not about one.
  std::string process;
  std::string command;
  /// Completions only.
  std::optional<exit_info> exit;
  /// From the start of the process to this event.
  caf::timespan duration{};
  /// Completion: the last characters. Match: the lines. Heartbeat: what is new. Redacted text.
  std::string output;
  /// Characters that belong before (a match: behind) `output` and were left out.
  std::uint64_t output_cut = 0;
  /// The pattern that matched first.
  std::string pattern;
  /// Matching lines (watch events, completions) that were not told, or events (gap).
  std::uint64_t held_back = 0;
  /// One line for people where the rest does not say it.
  std::string note;

  friend bool operator==(const event&, const event&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, event& x) {
  return f.object(x).fields(
      f.field("sequence", x.sequence), f.field("kind", x.kind), f.field("at", x.at),
      f.field("owner", x.owner), f.field("process", x.process), f.field("command", x.command),
      f.field("exit", x.exit), f.field("duration", x.duration), f.field("output", x.output),
      f.field("output_cut", x.output_cut), f.field("pattern", x.pattern),
      f.field("held_back", x.held_back), f.field("note", x.note));
}

/// Whose events, and what is known of them already.
struct subscription {
  /// Must not be empty: events without a known owner belong to nobody.
  std::string session;
  /// The subscriber has everything up to this number; empty: what nobody has acknowledged.
  std::optional<std::uint64_t> after;

  friend bool operator==(const subscription&, const subscription&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, subscription& x) {
  return f.object(x).fields(f.field("session", x.session), f.field("after", x.after));
}

/// Fetching events instead of subscribing. `from.after` acknowledges what an earlier answer gave.
struct drain_request {
  subscription from;
  /// Most events in one answer; 0: acknowledge only.
  std::uint32_t limit = 64;
  /// Answer when there is something or after this time; 0: at once.
  caf::timespan wait{};

  friend bool operator==(const drain_request&, const drain_request&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, drain_request& x) {
  return f.object(x).fields(f.field("from", x.from), f.field("limit", x.limit),
                            f.field("wait", x.wait));
}

struct drain_result {
  std::vector<event> events;
  /// What to acknowledge with the next call.
  std::uint64_t last = 0;
  /// More are there already.
  bool more = false;

  friend bool operator==(const drain_result&, const drain_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, drain_result& x) {
  return f.object(x).fields(f.field("events", x.events), f.field("last", x.last),
                            f.field("more", x.more));
}

/// What a session still has to expect.
struct linger_result {
  /// Events that were not delivered yet.
  std::uint64_t undelivered = 0;
  /// Running processes that promised a completion.
  std::uint64_t promised = 0;

  friend bool operator==(const linger_result&, const linger_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, linger_result& x) {
  return f.object(x).fields(f.field("undelivered", x.undelivered), f.field("promised", x.promised));
}

/// Waiting for several processes at once.
struct wait_many_options {
  std::vector<std::string> ids;
  /// True: until all have ended (or matched, or opened the port); false: the first.
  bool all = false;
  wait_options each;

  friend bool operator==(const wait_many_options&, const wait_many_options&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, wait_many_options& x) {
  return f.object(x).fields(f.field("ids", x.ids), f.field("all", x.all), f.field("each", x.each));
}

/// One entry per id, in the order in which they were asked for. Those whose condition was not met
/// have the status `timeout`, `interrupted` or `yielded`.
struct wait_many_result {
  std::vector<wait_result> results;

  friend bool operator==(const wait_many_result&, const wait_many_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, wait_many_result& x) {
  return f.object(x).fields(f.field("results", x.results));
}

/// Matching lines of one process, on their way from its output to its watcher.
struct watch_batch {
  std::string pattern;
  /// Up to 20 lines and 2,000 characters.
  std::string lines;
  std::uint64_t shown = 0;
  /// All matching lines, those that are not shown included.
  std::uint64_t matched = 0;

  friend bool operator==(const watch_batch&, const watch_batch&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, watch_batch& x) {
  return f.object(x).fields(f.field("pattern", x.pattern), f.field("lines", x.lines),
                            f.field("shown", x.shown), f.field("matched", x.matched));
}

/// Output for a heartbeat.
struct heartbeat_text {
  std::string text;
  std::uint64_t left_out = 0;  ///< characters
  std::uint64_t cursor = 0;
  caf::timespan uptime{};
  bool finished = false;

  friend bool operator==(const heartbeat_text&, const heartbeat_text&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, heartbeat_text& x) {
  return f.object(x).fields(f.field("text", x.text), f.field("left_out", x.left_out),
                            f.field("cursor", x.cursor), f.field("uptime", x.uptime),
                            f.field("finished", x.finished));
}

/// How watching ended for a process.
struct watch_summary {
  /// Matching lines that no event told.
  std::uint64_t held_back = 0;
  std::uint64_t delivered = 0;
  bool disabled = false;

  friend bool operator==(const watch_summary&, const watch_summary&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, watch_summary& x) {
  return f.object(x).fields(f.field("held_back", x.held_back), f.field("delivered", x.delivered),
                            f.field("disabled", x.disabled));
}

}  // namespace troupe

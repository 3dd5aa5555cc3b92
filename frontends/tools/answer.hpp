// What the tools answer, as JSON: records of the registry turned into objects with the field names of
// docs/behaviour.md. Pure functions over records; the only thing they add is shortening and the
// redaction of commands (the process actor has redacted output already).
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <caf/fwd.hpp>

#include "troupe/config/options.hpp"
#include "troupe/messages/events.hpp"
#include "troupe/messages/records.hpp"
#include "troupe/text/redact.hpp"

namespace troupe::tools {

/// What a tool call gives back. `structured` goes to the client as it is and as text.
struct tool_answer {
  boost::json::object structured;
  /// True: the call itself failed (a command that ran and failed is no failed call).
  bool is_error = false;
};

/// ISO 8601 in UTC with milliseconds: `2026-01-31T12:00:00.123Z`.
std::string iso8601(caf::timestamp time);

/// An error answer: `{"status":"error","error":text}`.
tool_answer error_answer(std::string text, std::string_view status = "error");

/// An error of the registry: `not_found`, `already_exited`, `would_block` … or `error`.
tool_answer error_answer(const caf::error& error);

/// Renders the answers of the `process` tool.
class process_answers {
 public:
  explicit process_answers(const options& opts);

  tool_answer list(const std::vector<process_summary>& rows) const;
  tool_answer poll(const poll_result& x, output_view view) const;
  tool_answer log(const log_result& x, output_view view) const;
  /// `asked` and `limit`: the timeout asked for and the one that was used, in seconds.
  tool_answer wait(const wait_result& x, double asked, double limit, std::uint16_t port) const;
  /// Several processes: one entry each under `results`, and whose condition was met.
  tool_answer wait_many(const wait_many_result& x, bool all, double asked, double limit,
                        std::uint16_t port) const;
  tool_answer kill(const kill_result& x) const;
  tool_answer write(const std::string& id, const write_result& x, bool closed) const;
  /// A row and what was done: signal, detach, handoff, resize.
  tool_answer done(const process_summary& x, std::string_view status) const;

  boost::json::object row(const process_summary& x) const;

 private:
  boost::json::object head(const process_summary& x) const;
  std::string command(const process_summary& x) const;

  options options_;
  text::redactor redactor_;
};

/// Code, signal, reason and source of an end; nothing that is not known is invented.
void add_exit(boost::json::object& out, const exit_info& exit);

/// Renders the answers of the `terminal` tool.
class terminal_answers {
 public:
  explicit terminal_answers(const options& opts);

  /// A foreground command that ended, in whatever way. `timeout` in seconds.
  tool_answer run(const spawn_request& request, const run_result& x) const;
  /// A background process that was started, or failed to.
  tool_answer started(const spawn_request& request, const start_result& x) const;
  /// The call was wrong or refused: nothing ran.
  tool_answer refused(std::string text) const;
  tool_answer failed(const caf::error& error) const;

 private:
  tool_answer start_failed(const start_failure& failure, bool foreground) const;

  options options_;
  text::redactor redactor_;
};

}  // namespace troupe::tools

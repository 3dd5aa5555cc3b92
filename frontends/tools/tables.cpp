// The tables of the two tools, and the shapes of what they answer. Field names are those that agent
// hosts already use.
#include <boost/json/array.hpp>

#include "troupe/frontends/tools/schema.hpp"

namespace troupe::tools {

namespace json = boost::json;

namespace {

constexpr double seconds_max = 1e9;
constexpr double cursor_max = 9e15;
constexpr std::size_t frame_bytes = 16 << 20;

json::object typed(const char* type, std::string_view description = {}) {
  json::object out{{"type", type}};
  if (!description.empty()) out["description"] = description;
  return out;
}

json::object nullable(const char* type, std::string_view description = {}) {
  json::object out{{"anyOf", json::array{typed(type), typed("null")}}};
  if (!description.empty()) out["description"] = description;
  return out;
}

json::object list_of(json::object item) {
  return {{"type", "array"}, {"items", std::move(item)}};
}

/// What every row of a list and the head of most answers may have.
void add_summary(json::object& p) {
  p["session_id"] = typed("string", "Id of the process");
  p["command"] = typed("string");
  p["cwd"] = typed("string");
  p["pid"] = typed("integer");
  p["environment"] = typed("string");
  p["started_at"] = typed("string", "ISO 8601, UTC");
  p["exited_at"] = typed("string", "ISO 8601, UTC");
  p["uptime_seconds"] = typed("number");
  p["status"] = typed("string");
  p["output_preview"] = typed("string", "The last characters of the output");
  p["exit_code"] = nullable("integer", "128 + number if a signal ended it");
  p["signal"] = typed("integer", "Number of the signal that ended it");
  p["signal_name"] = typed("string");
  p["core_dumped"] = typed("boolean");
  p["completion_reason"] =
      typed("string", "exited, killed, timed_out, interrupted, failed_to_start or lost");
  p["termination_source"] = typed("string", "Who asked for the end");
  p["descendants"] = list_of(typed("integer"));
  p["notify_on_complete"] = typed("boolean");
  p["watch_patterns"] = list_of(typed("string"));
  p["watch_hits"] = typed("integer");
  p["heartbeat_seconds"] = typed("integer");
  p["persist_on_release"] = typed("boolean");
  p["foreground"] = typed("boolean");
  p["pty"] = typed("boolean");
  p["detached"] = typed("boolean");
  p["retained"] = typed("boolean");
  p["handoff_note"] = typed("string");
}

json::object object_schema(json::object properties) {
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"type", "object"},
          {"properties", std::move(properties)}};
}

json::object process_output() {
  json::object row;
  add_summary(row);
  json::object p;
  add_summary(p);
  p["processes"] = list_of({{"type", "object"}, {"properties", std::move(row)}});
  p["error"] = typed("string", "What went wrong; only if something did");
  p["cursor"] = typed("integer", "Where the next poll goes on");
  p["total_bytes"] = typed("integer");
  p["dropped_bytes"] = typed("integer");
  p["gap"] = typed("integer", "Bytes after the cursor that are gone");
  p["output"] = typed("string");
  p["output_cut"] = typed("integer", "Characters before `output` that are kept but not shown");
  p["encoding"] = typed("string", "base64 for the raw view");
  p["rusage"] = typed("object");
  p["tree"] = list_of(typed("object"));
  p["awaiting_input"] = typed("boolean", "It is blocked reading its terminal");
  p["total_lines"] = typed("integer");
  p["first_line"] = typed("integer");
  p["showing"] = typed("string");
  p["cut"] = typed("boolean", "A byte limit cut the answer");
  p["matches"] = list_of(typed("object"));
  p["match"] = typed("string", "The line that matched `until`");
  p["port"] = typed("integer");
  p["process_running"] = typed("boolean");
  p["timeout_note"] = typed("string");
  p["note"] = typed("string");
  p["survivors"] = list_of(typed("integer"));
  p["bytes_written"] = typed("integer");
  p["bytes_queued"] = typed("integer");
  p["ready"] = typed("integer", "How many of `ids` are there");
  p["results"] = list_of(typed("object", "One entry per id, as of a single wait"));
  p["notices"] = list_of(typed("object", "What happened and was not told yet"));
  p["rows"] = typed("integer");
  p["cols"] = typed("integer");
  return object_schema(std::move(p));
}

json::object terminal_output() {
  json::object p;
  p["output"] = typed("string");
  p["exit_code"] = nullable("integer", "Null while it goes on in the background");
  p["error"] = nullable("string");
  p["status"] = typed("string");
  p["session_id"] = typed("string", "For the process tool, if it runs in the background");
  p["pid"] = typed("integer");
  for (const char* name : {"signal", "output_total_bytes", "requested_timeout",
                           "foreground_timeout_max", "heartbeat_seconds"}) {
    p[name] = typed("integer");
  }
  p["requested_timeout"] = typed("number");
  for (const char* name :
       {"signal_name", "cwd", "cwd_note", "exit_code_meaning", "hint", "full_output_path",
        "truncation_note", "note", "notify_unsupported", "promoted_from_foreground",
        "heartbeat_note", "stage", "errno", "completion_reason"}) {
    p[name] = typed("string");
  }
  for (const char* name : {"timed_out", "interrupted", "core_dumped", "environment_recreated",
                           "notify_on_complete", "persist_on_release", "pty"}) {
    p[name] = typed("boolean");
  }
  p["timeout"] = typed("number");
  p["descendants"] = list_of(typed("integer"));
  p["pipestatus"] = list_of(typed("integer"));
  p["watch_patterns"] = list_of(typed("string"));
  p["notices"] = list_of(typed("object", "What happened and was not told yet"));
  return object_schema(std::move(p));
}

tool_spec make_process_tool() {
  tool_spec t;
  t.name = "process";
  t.title = "Background processes";
  t.description =
      "Look after the processes started with the terminal tool (background=true). Actions: list "
      "(all of this session), poll (state and new output; give the cursor of the last answer to "
      "get "
      "only what came after), log (lines of the output, with offset/limit or search), wait (until "
      "it "
      "ends, until a regular expression appears in new output, until a port is open, or until the "
      "timeout, which is not an error), kill (TERM, then KILL, with all descendants), signal (one "
      "signal), write (raw text to stdin), submit (text and a line feed), close (end of stdin), "
      "resize (its terminal), detach (a running foreground command becomes a background process), "
      "handoff (another session becomes its owner).";
  t.output_schema = process_output;
  t.open_world = false;
  t.fields = {
      {.name = "action",
       .description = "What to do",
       .required = true,
       .choices = {"list", "poll", "log", "wait", "kill", "write", "submit", "close", "signal",
                   "resize", "detach", "handoff"}},
      {.name = "session_id",
       .type = field_type::process_id,
       .description = "Id of the process, or a unique prefix of at least 4 hex digits. Needed for "
                      "everything but list.",
       .required_for = {"poll", "log", "kill", "write", "submit", "close", "signal", "resize",
                        "detach", "handoff"},
       .max_bytes = 256},
      {.name = "ids",
       .type = field_type::string_list,
       .description = "wait: several processes at once, instead of session_id",
       .actions = {"wait"},
       .max_bytes = 256},
      {.name = "mode",
       .description = "wait with ids: any (the first one, default) or all",
       .choices = {"any", "all"},
       .actions = {"wait"}},
      {.name = "cursor",
       .type = field_type::integer,
       .description = "poll: byte position from an earlier answer; only newer output is returned",
       .minimum = 0,
       .maximum = cursor_max,
       .actions = {"poll"}},
      {.name = "view",
       .description =
           "poll, log: text (escapes removed, default), raw (base64), screen (a terminal's "
           "screen)",
       .choices = {"text", "raw", "screen"},
       .actions = {"poll", "log"}},
      {.name = "tree",
       .type = field_type::boolean,
       .description = "poll: also the live descendants",
       .actions = {"poll"}},
      {.name = "offset",
       .type = field_type::integer,
       .description = "log: first line, from 0; without it the last lines",
       .minimum = 0,
       .maximum = cursor_max,
       .actions = {"log"}},
      {.name = "limit",
       .type = field_type::integer,
       .description = "log: number of lines (200)",
       .minimum = 1,
       .maximum = 1e6,
       .actions = {"log"}},
      {.name = "search",
       .description = "log: regular expression (RE2); only matching lines, with their numbers",
       .actions = {"log"},
       .max_bytes = 4096,
       .no_nul = false},
      {.name = "timeout",
       .type = field_type::number,
       .description = "wait: seconds, at most 180",
       .maximum = seconds_max,
       .actions = {"wait"}},
      {.name = "until",
       .description = "wait: regular expression (RE2) that new output must match",
       .actions = {"wait"},
       .max_bytes = 4096,
       .no_nul = false},
      {.name = "port",
       .type = field_type::integer,
       .description = "wait: local TCP port that must accept a connection",
       .minimum = 1,
       .maximum = 65535,
       .actions = {"wait"}},
      {.name = "signal",
       .type = field_type::signal,
       .description = "kill: first signal (TERM); signal: the one to send. A name or a number.",
       .actions = {"kill", "signal"},
       .required_for = {"signal"}},
      {.name = "grace",
       .type = field_type::number,
       .description = "kill: seconds between the steps (2)",
       .minimum = 0,
       .maximum = 3600,
       .actions = {"kill"}},
      {.name = "data",
       .description = "write, submit: the text",
       .actions = {"write", "submit"},
       .required_for = {"write", "submit"},
       .max_bytes = frame_bytes,
       .no_nul = false},
      {.name = "rows",
       .type = field_type::integer,
       .description = "resize: rows of the terminal",
       .minimum = 1,
       .maximum = 65535,
       .actions = {"resize"},
       .required_for = {"resize"}},
      {.name = "cols",
       .type = field_type::integer,
       .description = "resize: columns of the terminal",
       .minimum = 1,
       .maximum = 65535,
       .actions = {"resize"},
       .required_for = {"resize"}},
      {.name = "to_session",
       .description = "handoff: the session that becomes the owner",
       .actions = {"handoff"},
       .required_for = {"handoff"},
       .max_bytes = 256},
      {.name = "purpose",
       .description = "handoff: one line, what the process is for",
       .actions = {"handoff"},
       .required_for = {"handoff"},
       .max_bytes = 2000},
  };
  return t;
}

tool_spec make_terminal_tool() {
  tool_spec t;
  t.name = "terminal";
  t.title = "Run a command";
  t.description =
      "Run a shell command (bash). In the foreground (default) the answer comes when it has ended: "
      "output, exit_code and why. For servers, watchers and long jobs use background=true: the "
      "answer comes at once with a session_id for the process tool. Commands are run verbatim; "
      "stdin is empty unless given.";
  t.output_schema = terminal_output;
  t.fields = {
      {.name = "command",
       .description = "The command, run verbatim by the shell",
       .required = true},
      {.name = "background",
       .type = field_type::boolean,
       .description = "Start it and answer at once"},
      {.name = "timeout",
       .type = field_type::number,
       .description =
           "Seconds. Foreground: 180 unless given; above 600 it is run in the background "
           "instead. Background: no limit unless given.",
       .maximum = seconds_max},
      {.name = "workdir", .description = "Working directory", .max_bytes = 4096},
      {.name = "environment",
       .description = "Name of the environment it runs in (local)",
       .max_bytes = 256},
      {.name = "pty",
       .type = field_type::boolean,
       .description = "Background only: give it a terminal"},
      {.name = "stdin",
       .type = field_type::stdin_data,
       .description = "Text given to the command; or true: keep stdin open for write, submit and "
                      "close (background only)",
       .max_bytes = frame_bytes,
       .no_nul = false},
      {.name = "notify",
       .type = field_type::boolean,
       .description = "Background only: report when it has ended"},
      {.name = "watch_patterns",
       .type = field_type::string_list,
       .description = "Background only: report output lines that match one of these regular "
                      "expressions",
       .max_bytes = 4096,
       .no_nul = false},
      {.name = "heartbeat",
       .type = field_type::integer,
       .description = "Background only: report new output every so many seconds (0: never, else at "
                      "least 60); implies notify",
       .minimum = 0,
       .maximum = 4e9},
      {.name = "persist_on_release",
       .type = field_type::boolean,
       .description = "Background only: sweeps at the end of a turn or session leave it alone; an "
                      "explicit kill and the end of the server do not"},
      {.name = "pipefail",
       .type = field_type::boolean,
       .description = "A pipeline fails if any of its commands fails"},
  };
  return t;
}

}  // namespace

const tool_spec& process_tool() {
  static const tool_spec tool = make_process_tool();
  return tool;
}

const tool_spec& terminal_tool() {
  static const tool_spec tool = make_terminal_tool();
  return tool;
}

}  // namespace troupe::tools

// What actors say to each other and to hosts: plain records, all serializable, all comparable by
// value. A host in another process sees exactly these. Times are `caf::timestamp` (nanoseconds since
// the epoch, UTC) and `caf::timespan` (nanoseconds); sizes are bytes unless a name says otherwise.
// Strings that end in front of a person or a model are valid UTF-8; `raw` views are bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <caf/default_enum_inspect.hpp>
#include <caf/timespan.hpp>
#include <caf/timestamp.hpp>

#include "troupe/messages/caf_compat.hpp"

namespace troupe {

// -- enumerations ---------------------------------------------------------------------------------

/// Why a process is finished. The first cause wins (design 3.3).
enum class finish_reason : std::uint8_t {
  exited = 0,           ///< it ended by itself, with a code or a signal
  killed = 1,           ///< a kill was requested before its end was observed
  timed_out = 2,        ///< its deadline passed
  interrupted = 3,      ///< the turn that waited for it was interrupted
  failed_to_start = 4,  ///< nothing ran
  lost = 5,             ///< it is gone and nobody can know how it ended
};

/// What a host sees of the life of a process.
enum class process_status : std::uint8_t { starting = 0, running = 1, draining = 2, finished = 3 };

/// The step of a start that failed.
enum class start_stage : std::uint8_t {
  none = 0,
  resolve = 1,  ///< the program or the environment was not found
  chdir = 2,    ///< the working directory is not usable
  limits = 3,   ///< a limit of ours or of the system (descriptors, terminals, memory)
  fork = 4,     ///< the system refused another process
  exec = 5,     ///< the system refused to run the program
};

/// How output is shown (behaviour 1).
enum class output_view : std::uint8_t {
  text = 0,    ///< decoded, escapes removed, secrets redacted
  raw = 1,     ///< the bytes as they came
  screen = 2,  ///< PTY only: the screen as a terminal shows it
};

/// How a wait ended.
enum class wait_status : std::uint8_t {
  exited = 0,
  timeout = 1,
  matched = 2,
  port_open = 3,
  interrupted = 4,
  yielded = 5,
};

/// How a foreground command ended for its caller.
enum class run_status : std::uint8_t {
  finished = 0,
  timed_out = 1,
  interrupted = 2,
  yielded = 3,
  failed_to_start = 4,
};

/// What a kill found.
enum class kill_status : std::uint8_t { killed = 0, already_exited = 1, survivors = 2 };

std::string to_string(finish_reason x);
std::string to_string(process_status x);
std::string to_string(start_stage x);
std::string to_string(output_view x);
std::string to_string(wait_status x);
std::string to_string(run_status x);
std::string to_string(kill_status x);

#define TROUPE_DECLARE_ENUM(type)                      \
  bool from_string(compat::string_view text, type& x); \
  bool from_integer(std::uint8_t value, type& x);      \
  template <class Inspector>                           \
  bool inspect(Inspector& f, type& x) {                \
    return caf::default_enum_inspect(f, x);            \
  }
TROUPE_DECLARE_ENUM(finish_reason)
TROUPE_DECLARE_ENUM(process_status)
TROUPE_DECLARE_ENUM(start_stage)
TROUPE_DECLARE_ENUM(output_view)
TROUPE_DECLARE_ENUM(wait_status)
TROUPE_DECLARE_ENUM(run_status)
TROUPE_DECLARE_ENUM(kill_status)
#undef TROUPE_DECLARE_ENUM

// -- who asks -------------------------------------------------------------------------------------

/// Who asks. `session` owns what is started; `turn` is one bounded piece of the caller's work, the
/// unit of `interrupt`. The rest are routing facts that only travel along.
struct caller {
  std::string session;
  std::string turn;
  std::string platform;
  std::string chat;
  std::string thread;
  std::string message;
  std::string user_id;
  std::string user_name;

  friend bool operator==(const caller&, const caller&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, caller& x) {
  return f.object(x).fields(f.field("session", x.session), f.field("turn", x.turn),
                            f.field("platform", x.platform), f.field("chat", x.chat),
                            f.field("thread", x.thread), f.field("message", x.message),
                            f.field("user_id", x.user_id), f.field("user_name", x.user_name));
}

// -- starting -------------------------------------------------------------------------------------

/// A command to run. Everything that decides what happens at its end (notify, patterns, heartbeat)
/// is part of the request, so that it exists before the child does (design 3.5).
struct spawn_request {
  /// Identity of the new process; empty: the registry makes one. A host may choose it (see
  /// `make_process_id`) to be able to follow a foreground command from its first instant.
  std::string id;
  /// Run verbatim by the shell of the environment.
  std::string command;
  /// Key of the environment; empty means `local`.
  std::string environment;
  /// Working directory; empty: where the environment is.
  std::string workdir;
  /// `NAME=value` entries on top of the environment's own variables.
  std::vector<std::string> env;
  /// True: `run` waits for it. False: it is a background process from the start.
  bool foreground = false;
  bool pty = false;
  std::uint16_t rows = 30;
  std::uint16_t cols = 120;
  /// Keep a pipe open as stdin; otherwise stdin is /dev/null (ignored with a PTY).
  bool stdin_pipe = false;
  /// Bytes given to stdin at the start; with `stdin_close` EOF follows them.
  std::string stdin_data;
  bool stdin_close = false;
  /// Deadline counted from the start; empty: none for a background process, the default of the
  /// configuration for a foreground one.
  std::optional<caf::timespan> timeout;
  bool notify = false;
  std::vector<std::string> watch_patterns;
  std::uint32_t heartbeat_seconds = 0;
  bool persist_on_release = false;
  bool pipefail = false;
  /// Characters of output that completion events and waits carry.
  std::uint32_t completion_chars = 2000;
  /// Watch patterns are plain text, not regular expressions.
  bool watch_plain = false;
  /// Lose nothing to a slow reader: bytes are kept until `follow` has given them out, and when the
  /// buffer is full the process waits. Without a follower it stops at a full buffer.
  bool hold_output = false;
  /// What becomes of it when the node dies or ends: "keep" or "end"; empty: as the node's options
  /// say. A foreground command is always ended.
  std::string owner_death;

  friend bool operator==(const spawn_request&, const spawn_request&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, spawn_request& x) {
  return f.object(x).fields(
      f.field("id", x.id), f.field("command", x.command), f.field("environment", x.environment),
      f.field("workdir", x.workdir), f.field("env", x.env), f.field("foreground", x.foreground),
      f.field("pty", x.pty), f.field("rows", x.rows), f.field("cols", x.cols),
      f.field("stdin_pipe", x.stdin_pipe), f.field("stdin_data", x.stdin_data),
      f.field("stdin_close", x.stdin_close), f.field("timeout", x.timeout),
      f.field("notify", x.notify), f.field("watch_patterns", x.watch_patterns),
      f.field("heartbeat_seconds", x.heartbeat_seconds),
      f.field("persist_on_release", x.persist_on_release), f.field("pipefail", x.pipefail),
      f.field("completion_chars", x.completion_chars), f.field("watch_plain", x.watch_plain),
      f.field("hold_output", x.hold_output), f.field("owner_death", x.owner_death));
}

/// Why nothing was started: the stage, the errno and a text that names the thing.
struct start_failure {
  start_stage stage = start_stage::none;
  std::int32_t error_number = 0;
  /// For example `ENOENT`; empty where no system call was involved.
  std::string error_name;
  /// For example `ENOENT: no such directory: /nope`.
  std::string text;

  friend bool operator==(const start_failure&, const start_failure&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, start_failure& x) {
  return f.object(x).fields(f.field("stage", x.stage), f.field("error_number", x.error_number),
                            f.field("error_name", x.error_name), f.field("text", x.text));
}

/// Answer to `start`: either a running process or a failure, never both.
struct start_result {
  std::string id;
  std::int32_t pid = 0;
  std::optional<start_failure> failure;

  friend bool operator==(const start_result&, const start_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, start_result& x) {
  return f.object(x).fields(f.field("id", x.id), f.field("pid", x.pid),
                            f.field("failure", x.failure));
}

// -- the end of a process -------------------------------------------------------------------------

/// What `wait4` says a process used. Times in microseconds, memory in KiB.
struct resource_usage {
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t max_rss_kib = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;

  friend bool operator==(const resource_usage&, const resource_usage&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, resource_usage& x) {
  return f.object(x).fields(
      f.field("user_us", x.user_us), f.field("system_us", x.system_us),
      f.field("max_rss_kib", x.max_rss_kib), f.field("minor_faults", x.minor_faults),
      f.field("major_faults", x.major_faults), f.field("voluntary_switches", x.voluntary_switches),
      f.field("involuntary_switches", x.involuntary_switches));
}

/// How a process ended. Code and signal are kept apart: exactly one of them is meaningful.
struct exit_info {
  finish_reason reason = finish_reason::exited;
  /// The code given to exit(2); empty when a signal ended it, when it never ran, or when nobody
  /// knows.
  std::optional<std::int32_t> code;
  /// The signal that ended it, 0 if none.
  std::int32_t signal = 0;
  bool core_dumped = false;
  /// Who asked for the end (`process.kill`, `kill_all`, `timeout`, `interrupt` …); empty if nobody.
  std::string source;
  std::optional<resource_usage> usage;
  std::optional<start_failure> failure;
  /// Live descendants that still held the output when it was finished.
  std::vector<std::int32_t> descendants;

  friend bool operator==(const exit_info&, const exit_info&) = default;

  /// The code a shell would show: the exit code, or 128 + signal, or nothing.
  std::optional<std::int32_t> shell_code() const {
    if (signal != 0) return 128 + signal;
    return code;
  }
};

template <class Inspector>
bool inspect(Inspector& f, exit_info& x) {
  return f.object(x).fields(f.field("reason", x.reason), f.field("code", x.code),
                            f.field("signal", x.signal), f.field("core_dumped", x.core_dumped),
                            f.field("source", x.source), f.field("usage", x.usage),
                            f.field("failure", x.failure), f.field("descendants", x.descendants));
}

// -- looking --------------------------------------------------------------------------------------

/// One row of `list`, and the head of most other answers.
struct process_summary {
  std::string id;
  std::string session;
  std::string command;  ///< whole; front ends shorten it
  std::string cwd;
  std::int32_t pid = 0;
  std::string environment;
  caf::timestamp started_at;
  caf::timespan uptime{};  ///< stops at the end
  process_status status = process_status::starting;
  std::string output_preview;
  std::optional<exit_info> exit;
  std::optional<caf::timestamp> exited_at;
  bool notify = false;
  std::vector<std::string> watch_patterns;
  std::uint64_t watch_hits = 0;
  std::uint32_t heartbeat_seconds = 0;
  bool persist_on_release = false;
  bool foreground = false;
  bool pty = false;
  bool detached = false;  ///< found again after a crash, without its output
  bool retained = false;  ///< only its receipt is left
  std::string handoff_note;

  friend bool operator==(const process_summary&, const process_summary&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, process_summary& x) {
  return f.object(x).fields(
      f.field("id", x.id), f.field("session", x.session), f.field("command", x.command),
      f.field("cwd", x.cwd), f.field("pid", x.pid), f.field("environment", x.environment),
      f.field("started_at", x.started_at), f.field("uptime", x.uptime), f.field("status", x.status),
      f.field("output_preview", x.output_preview), f.field("exit", x.exit),
      f.field("exited_at", x.exited_at), f.field("notify", x.notify),
      f.field("watch_patterns", x.watch_patterns), f.field("watch_hits", x.watch_hits),
      f.field("heartbeat_seconds", x.heartbeat_seconds),
      f.field("persist_on_release", x.persist_on_release), f.field("foreground", x.foreground),
      f.field("pty", x.pty), f.field("detached", x.detached), f.field("retained", x.retained),
      f.field("handoff_note", x.handoff_note));
}

struct poll_options {
  /// Byte position in the whole output, from an earlier answer; empty: a preview of the end.
  std::optional<std::uint64_t> cursor;
  output_view view = output_view::text;
  /// Also the live descendants.
  bool tree = false;

  friend bool operator==(const poll_options&, const poll_options&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, poll_options& x) {
  return f.object(x).fields(f.field("cursor", x.cursor), f.field("view", x.view),
                            f.field("tree", x.tree));
}

/// One live descendant of a process.
struct tree_entry {
  std::int32_t pid = 0;
  std::int32_t parent = 0;
  std::string command;
  /// The state letter of /proc (R, S, D, T, Z …).
  std::string state;

  friend bool operator==(const tree_entry&, const tree_entry&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, tree_entry& x) {
  return f.object(x).fields(f.field("pid", x.pid), f.field("parent", x.parent),
                            f.field("command", x.command), f.field("state", x.state));
}

/// A piece of output by cursor. `cursor` is where the next read goes on; it never moves backwards
/// and never points into a character.
struct output_chunk {
  std::string data;
  std::uint64_t cursor = 0;
  /// Bytes between the asked cursor and the first byte of `data` that are gone.
  std::uint64_t gap = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t dropped_bytes = 0;
  /// True when the process is finished and `cursor` is at the end: nothing will follow.
  bool finished = false;

  friend bool operator==(const output_chunk&, const output_chunk&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, output_chunk& x) {
  return f.object(x).fields(f.field("data", x.data), f.field("cursor", x.cursor),
                            f.field("gap", x.gap), f.field("total_bytes", x.total_bytes),
                            f.field("dropped_bytes", x.dropped_bytes),
                            f.field("finished", x.finished));
}

struct poll_result {
  process_summary process;
  std::uint64_t cursor = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t dropped_bytes = 0;
  /// With a cursor, or with the views raw and screen: what was asked for.
  std::optional<std::string> output;
  std::uint64_t gap = 0;
  std::optional<std::vector<tree_entry>> tree;
  bool awaiting_input = false;

  friend bool operator==(const poll_result&, const poll_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, poll_result& x) {
  return f.object(x).fields(f.field("process", x.process), f.field("cursor", x.cursor),
                            f.field("total_bytes", x.total_bytes),
                            f.field("dropped_bytes", x.dropped_bytes), f.field("output", x.output),
                            f.field("gap", x.gap), f.field("tree", x.tree),
                            f.field("awaiting_input", x.awaiting_input));
}

struct log_options {
  /// First line, from 0; empty: the last `limit` lines.
  std::optional<std::uint64_t> offset;
  std::uint64_t limit = 200;
  /// Regular expression (RE2): only matching lines, with their numbers.
  std::string search;
  output_view view = output_view::text;

  friend bool operator==(const log_options&, const log_options&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, log_options& x) {
  return f.object(x).fields(f.field("offset", x.offset), f.field("limit", x.limit),
                            f.field("search", x.search), f.field("view", x.view));
}

struct log_match {
  std::uint64_t line = 0;  ///< number of the line, from 0, as `offset` counts
  std::string text;

  friend bool operator==(const log_match&, const log_match&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, log_match& x) {
  return f.object(x).fields(f.field("line", x.line), f.field("text", x.text));
}

struct log_result {
  process_summary process;
  std::string output;
  std::uint64_t total_lines = 0;
  std::uint64_t first_line = 0;
  std::uint64_t shown_lines = 0;
  /// The byte cap cut the answer; the rest can be had with a larger offset.
  bool cut = false;
  /// The answer reached the last line.
  bool reached_end = false;
  /// Bytes at the start of the output that are gone (lines are counted from what is kept).
  std::uint64_t dropped_bytes = 0;
  std::vector<log_match> matches;

  friend bool operator==(const log_result&, const log_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, log_result& x) {
  return f.object(x).fields(
      f.field("process", x.process), f.field("output", x.output),
      f.field("total_lines", x.total_lines), f.field("first_line", x.first_line),
      f.field("shown_lines", x.shown_lines), f.field("cut", x.cut),
      f.field("reached_end", x.reached_end), f.field("dropped_bytes", x.dropped_bytes),
      f.field("matches", x.matches));
}

/// Long poll for live output: answered as soon as there is anything after `cursor`, or at the end.
struct follow_options {
  std::uint64_t cursor = 0;
  /// `text` or `raw`.
  output_view view = output_view::text;
  std::uint32_t max_bytes = 65536;
  /// Answer with an empty chunk after this time.
  caf::timespan limit = std::chrono::seconds{60};

  friend bool operator==(const follow_options&, const follow_options&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, follow_options& x) {
  return f.object(x).fields(f.field("cursor", x.cursor), f.field("view", x.view),
                            f.field("max_bytes", x.max_bytes), f.field("limit", x.limit));
}

// -- waiting --------------------------------------------------------------------------------------

struct wait_options {
  /// Longest wait; more than the configured maximum is clamped by the front end.
  caf::timespan timeout = std::chrono::seconds{180};
  /// Regular expression (RE2) in new output; empty: none. New is what no poll, log or wait has shown
  /// yet, so that a line printed between the start and the wait is not missed.
  std::string until;
  /// TCP port on the loopback interface that must accept a connection; 0: none.
  std::uint16_t port = 0;
  /// Names a wait for several processes, so that the rest can be ended when one is enough. For the
  /// registry; 0: none.
  std::uint64_t group = 0;

  friend bool operator==(const wait_options&, const wait_options&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, wait_options& x) {
  return f.object(x).fields(f.field("timeout", x.timeout), f.field("until", x.until),
                            f.field("port", x.port), f.field("group", x.group));
}

struct wait_result {
  wait_status status = wait_status::exited;
  process_summary process;
  /// The last characters of the output, and how many characters of what is kept are not in it.
  std::string output;
  std::uint64_t output_cut = 0;
  /// The line that matched `until`.
  std::string match;

  friend bool operator==(const wait_result&, const wait_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, wait_result& x) {
  return f.object(x).fields(f.field("status", x.status), f.field("process", x.process),
                            f.field("output", x.output), f.field("output_cut", x.output_cut),
                            f.field("match", x.match));
}

/// What a foreground command gave its caller.
struct run_result {
  run_status status = run_status::finished;
  process_summary process;
  /// Head and tail of the whole output with a marker between them; final markers included.
  std::string output;
  bool truncated = false;
  std::uint64_t output_total_bytes = 0;
  std::uint64_t output_omitted_chars = 0;
  /// Where the whole output is, when it was truncated and could be kept.
  std::string full_output_path;
  /// cwd after the command, only if the command changed it.
  std::optional<std::string> cwd;
  std::string cwd_note;
  std::vector<std::int32_t> pipestatus;
  bool environment_recreated = false;

  friend bool operator==(const run_result&, const run_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, run_result& x) {
  return f.object(x).fields(f.field("status", x.status), f.field("process", x.process),
                            f.field("output", x.output), f.field("truncated", x.truncated),
                            f.field("output_total_bytes", x.output_total_bytes),
                            f.field("output_omitted_chars", x.output_omitted_chars),
                            f.field("full_output_path", x.full_output_path), f.field("cwd", x.cwd),
                            f.field("cwd_note", x.cwd_note), f.field("pipestatus", x.pipestatus),
                            f.field("environment_recreated", x.environment_recreated));
}

// -- acting ---------------------------------------------------------------------------------------

struct kill_options {
  /// First signal of the ladder; 0: SIGTERM.
  std::int32_t signal = 0;
  /// Time between the steps; empty: the configured one.
  std::optional<caf::timespan> grace;
  std::string source = "process.kill";
  finish_reason reason = finish_reason::killed;

  friend bool operator==(const kill_options&, const kill_options&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, kill_options& x) {
  return f.object(x).fields(f.field("signal", x.signal), f.field("grace", x.grace),
                            f.field("source", x.source), f.field("reason", x.reason));
}

struct kill_result {
  kill_status status = kill_status::killed;
  process_summary process;
  std::string output;
  std::uint64_t output_cut = 0;
  std::vector<std::int32_t> survivors;

  friend bool operator==(const kill_result&, const kill_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, kill_result& x) {
  return f.object(x).fields(f.field("status", x.status), f.field("process", x.process),
                            f.field("output", x.output), f.field("output_cut", x.output_cut),
                            f.field("survivors", x.survivors));
}

/// Data for stdin, EOF, or both (EOF is queued behind the data).
struct write_request {
  std::string data;
  bool eof = false;

  friend bool operator==(const write_request&, const write_request&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, write_request& x) {
  return f.object(x).fields(f.field("data", x.data), f.field("eof", x.eof));
}

struct write_result {
  std::uint64_t bytes_written = 0;  ///< bytes accepted into the queue
  std::uint64_t bytes_queued = 0;   ///< bytes the child has not read yet

  friend bool operator==(const write_result&, const write_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, write_result& x) {
  return f.object(x).fields(f.field("bytes_written", x.bytes_written),
                            f.field("bytes_queued", x.bytes_queued));
}

/// Which processes of the caller's session `kill_all` reaches.
struct kill_all_options {
  /// Ids that are spared (the baseline of "started since").
  std::vector<std::string> except;
  /// True: a lifecycle sweep, which leaves `persist_on_release` alone.
  bool sweep = true;
  std::optional<caf::timespan> grace;
  std::string source = "kill_all";

  friend bool operator==(const kill_all_options&, const kill_all_options&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, kill_all_options& x) {
  return f.object(x).fields(f.field("except", x.except), f.field("sweep", x.sweep),
                            f.field("grace", x.grace), f.field("source", x.source));
}

struct kill_all_result {
  std::uint32_t killed = 0;
  /// Ids of processes with survivors, and the surviving pids.
  std::vector<std::string> failed;
  std::vector<std::int32_t> survivors;

  friend bool operator==(const kill_all_result&, const kill_all_result&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, kill_all_result& x) {
  return f.object(x).fields(f.field("killed", x.killed), f.field("failed", x.failed),
                            f.field("survivors", x.survivors));
}

/// Numbers of a node, for operators.
struct node_status {
  std::string version;
  std::uint64_t running = 0;
  std::uint64_t finished_kept = 0;
  std::uint64_t sessions = 0;
  std::uint64_t started_total = 0;
  std::uint64_t output_bytes_total = 0;
  bool shutting_down = false;

  friend bool operator==(const node_status&, const node_status&) = default;
};

template <class Inspector>
bool inspect(Inspector& f, node_status& x) {
  return f.object(x).fields(f.field("version", x.version), f.field("running", x.running),
                            f.field("finished_kept", x.finished_kept),
                            f.field("sessions", x.sessions),
                            f.field("started_total", x.started_total),
                            f.field("output_bytes_total", x.output_bytes_total),
                            f.field("shutting_down", x.shutting_down));
}

/// A fresh random id: `proc_` and 12 lower-case hex digits. Thread-safe.
std::string make_process_id();

}  // namespace troupe

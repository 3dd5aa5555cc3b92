// The seam between actors and the io loop: what a backend can do (`backend`) and what it says
// (`sink`). Actors never touch a descriptor; the loop never knows an actor. All calls of `backend`
// may come from any thread and return at once; everything they cause is told through the sink, on
// the loop's thread, in an order that is part of the contract.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/backends/arena.hpp"

namespace troupe::backends {

/// Names one child for its backend; chosen by the caller, unique per backend. Calls with an id that
/// is not known (any more) are dropped.
using child_id = std::uint64_t;

/// What becomes of a child whose owner (the program that asked for it) has died for good (design 6).
enum class owner_death : std::uint8_t {
  keep,  ///< it runs on, its output and its end are remembered
  end,   ///< the kill ladder, after a grace in which a new owner may come
};

/// Everything a child needs. The command of the user is already wrapped for the shell.
struct spawn_spec {
  /// argv[0] is the program: a path, or a name looked up in the PATH of `env`.
  std::vector<std::string> argv;
  /// The complete environment, `NAME=value` each.
  std::vector<std::string> env;
  /// Absolute; must exist.
  std::string cwd;
  /// Mark that every descendant inherits: `TROUPE_PROCESS=<marker>` (also part of `env`).
  std::string marker;
  bool pty = false;
  std::uint16_t rows = 30;
  std::uint16_t cols = 120;
  /// Keep a pipe as stdin (otherwise /dev/null); a PTY always has stdin.
  bool stdin_pipe = false;
  /// Given to the child as the memory files /dev/fd/9 and /dev/fd/8; empty: the descriptors are
  /// closed. What a shell reads there is in no argv.
  std::string state_script;
  std::string command_script;
  /// A child made ready by `backend::prepare` that may stand in for a new one; 0: none. It gets
  /// `command_script`, everything else of this spec must be as it was prepared.
  child_id prepared = 0;
  /// The shell of this child reports in its output, with this number (`text::report_filter`): the
  /// backend takes the report out before it reaches the ring, and tells it by `sink::reported`. Empty:
  /// it does not.
  std::string report_marker;
  /// Only a keeper can carry it out; prepared children are always ended.
  owner_death on_owner_death = owner_death::end;
};

enum class stage : std::uint8_t { none, resolve, chdir, limits, fork, exec };

/// Why nothing was started. Nothing of the child is left behind.
struct start_error {
  stage where = stage::none;
  int error_number = 0;
  /// "ENOENT: no such directory: /nope"
  std::string text;
};

struct start_info {
  int pid = 0;
  /// Start time of the leader in clock ticks since boot (field 22 of /proc/<pid>/stat).
  std::uint64_t start_ticks = 0;
  std::shared_ptr<arena::lease> output;
};

/// Exit status of the leader. `known` is false when nobody can know it (design 6).
struct exit_status {
  bool known = true;
  int code = 0;
  int signal = 0;
  bool core_dumped = false;
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t max_rss_kib = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
};

enum class write_status : std::uint8_t {
  ok,
  would_block,    ///< more than the queue takes (8 MiB by default)
  no_stdin,       ///< started without stdin
  closed,         ///< stdin was closed before, by us or by the child
  line_too_long,  ///< a line over 4,095 bytes to a PTY in canonical mode
};

struct write_outcome {
  write_status status = write_status::ok;
  std::uint64_t accepted = 0;  ///< bytes of this call that are queued or written
  std::uint64_t queued = 0;    ///< bytes waiting in the queue
};

/// One live member of the tree of a child.
struct tree_member {
  int pid = 0;
  int parent = 0;
  char state = '?';
  std::string command;
};

/// Answer to `describe`.
struct description {
  std::vector<tree_member> tree;
  /// The foreground group of the PTY is blocked reading the terminal, as the kernel sees it.
  bool awaiting_input = false;
};

/// What the loop says about one child. Called on the loop's thread; must not block, must not throw
/// and must not call back into the backend synchronously. Order per child: `started` < every
/// `advanced` < `exited` < `drained`; or `failed` alone. `eof` may come at any time in between.
/// One exception: if the rest of the output does not fit into the ring after `exited`, `advanced`
/// comes once more each time the ring is full, because nothing could go on without the consumer.
/// `reported`, at most once, comes between `exited` and `drained`.
class sink {
 public:
  virtual ~sink() = default;
  virtual void started(const start_info& info) = 0;
  virtual void failed(const start_error& error) = 0;
  /// There is new output in the ring. Not repeated until the consumer called `ring::take_wake`.
  virtual void advanced() = 0;
  /// No process holds the output any more.
  virtual void eof() = 0;
  /// The leader has ended. Output may still be in the pipe.
  virtual void exited(const exit_status& status) = 0;
  /// What the shell of a child with a `report_marker` reported, the last complete report. Empty: it
  /// was altered on its way. Not called if there was none.
  virtual void reported(std::string report) { static_cast<void>(report); }
  /// All output that counts is in the ring. `holders`: live descendants that still hold it; what
  /// they print from now on is thrown away and counted in `ring_header::discarded`.
  virtual void drained(const std::vector<int>& holders) = 0;
  /// Answer to the `write` with this token.
  virtual void written(std::uint64_t token, const write_outcome& outcome) = 0;
  /// Answer to the `signal` with this token: 0 or an errno.
  virtual void signalled(std::uint64_t token, int error_number) = 0;
  /// The ladder begun by `kill` has ended; the pids that are still there. Comes after `exited` and
  /// `drained` when the leader is gone.
  virtual void kill_done(const std::vector<int>& survivors) = 0;
  /// Answer to the `describe` with this token.
  virtual void described(std::uint64_t token, const description& what) = 0;
};

/// A child of an earlier owner that the backend still knows, running or not.
struct found_child {
  child_id id = 0;
  std::string marker;
  int pid = 0;
  std::uint64_t start_ticks = 0;
  bool pty = false;
  bool has_stdin = false;
  owner_death on_owner_death = owner_death::end;
  /// It is being ended, or was, because its owner had died for good.
  bool owner_ended = false;
  /// What was moved out of the ring because nobody consumed it: bytes [spool_from, spool_from +
  /// spool_bytes) of the output, raw. Empty path: nothing was moved. The file is the new owner's.
  std::string spool_path;
  std::uint64_t spool_from = 0;
  std::uint64_t spool_bytes = 0;
  /// Only if not all of the output could be kept: this many bytes at the end of the file are the end
  /// of the output, and what lies between them and those before is lost.
  std::uint64_t tail_bytes = 0;
  /// Set for one that ended while nobody was there and is known from files only: there is nothing to
  /// adopt. Its output is `total_bytes` long, and what is left of it is in the spool file.
  std::optional<exit_status> left;
  std::uint64_t total_bytes = 0;
  /// What the consumer had noted in the ring (`ring_header::notes`).
  std::array<std::uint64_t, 8> notes{};
  std::vector<int> holders;
};

/// What an earlier owner left.
struct recovery {
  std::vector<found_child> children;
  /// Ids below this are taken.
  child_id next_id = 1;
  /// Why something (or everything) could not be found out; empty: all is well.
  std::string problem;
};

struct kill_plan {
  int first_signal = 15;
  std::chrono::milliseconds grace{2000};
  /// How long to wait for SIGKILL to take effect.
  std::chrono::milliseconds settle{1000};
};

/// Where children run. One conformance suite runs against every implementation.
class backend {
 public:
  virtual ~backend() = default;
  /// Makes a child ready before its command is known: it is started with `state_script` and waits
  /// for what will be written to its descriptor 8. Nothing is told; a `start` that names it falls
  /// back to a new child when it is not (or no longer) there. A backend that cannot do this ignores
  /// it.
  virtual void prepare(child_id, spawn_spec) {}
  /// Ends a prepared child that is not wanted any more.
  virtual void discard(child_id) {}
  /// Starts a child; answers `started` or `failed`.
  virtual void start(child_id id, spawn_spec spec, std::shared_ptr<sink> out) = 0;
  /// Queues bytes (and EOF behind them) for stdin; answers `written`.
  virtual void write(child_id id, std::uint64_t token, std::string data, bool eof) = 0;
  /// One signal to the group of the leader (PTY: the terminal's foreground group).
  virtual void signal(child_id id, std::uint64_t token, int signal_number) = 0;
  /// Begins the kill ladder (design 5), or joins the one under way; answers `kill_done`. After the
  /// end of the leader it still removes the descendants.
  virtual void kill(child_id id, kill_plan plan) = 0;
  virtual void resize(child_id id, std::uint16_t rows, std::uint16_t cols) = 0;
  /// The consumer made room in a ring that had stalled.
  virtual void resume(child_id id) = 0;
  /// Descendants, and whether input is awaited; answers `described`.
  virtual void describe(child_id id, std::uint64_t token) = 0;
  /// Finds out what an earlier owner left; `done` is called once, on the loop's thread. Children that
  /// are found must be adopted or released.
  virtual void recover(std::function<void(recovery)> done) = 0;
  /// Takes over a child that was found: from now on `out` is told about it, beginning with `started`,
  /// then everything that holds by now (`advanced`, `exited`, `drained`).
  virtual void adopt(child_id id, std::shared_ptr<sink> out) = 0;
  /// Takes over a process by its identity alone, without its output: `started` (with no ring), signals,
  /// kills and `describe` work, its exit is not known. `exited` at once if it is gone or another.
  virtual void adopt_running(child_id id, int pid, std::uint64_t start_ticks, std::string marker,
                             std::shared_ptr<sink> out) = 0;
  /// Changes what becomes of the child.
  virtual void set_owner_death(child_id id, owner_death what) = 0;
  /// The actor is done with this child: no sink call follows. A child that still runs is not
  /// touched; output of descendants goes on being thrown away.
  virtual void release(child_id id) = 0;
};

}  // namespace troupe::backends

// The options of a node as plain values. A host fills one in by hand; the programs read it from the
// command line and `troupe.conf` (see config/node_config.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "troupe/config/defaults.hpp"

namespace troupe {

/// How a shell tells what it leaves for the next one.
enum class report_channel {
  side,     ///< in a file beside its output
  in_band,  ///< in its output, from where it is removed: for backends that have nothing else
};

/// One named environment. `local` always exists.
struct environment_options {
  std::string name = "local";
  /// Sessions of the node share it; otherwise each has its own.
  bool shared = false;
  /// POSIX shell that runs commands (`-c`). Only bash carries state from one command to the next.
  std::string shell = "bash";
  /// Where the first command begins; empty: where the node was started.
  std::string cwd;
  /// Ask a login shell once for variables, functions and aliases.
  bool snapshot = true;
  std::chrono::milliseconds snapshot_limit = defaults::snapshot_limit;
  report_channel report = report_channel::side;
  /// Shells kept ready for the next command; 0: none.
  std::size_t warm_shells = defaults::warm_shells;
  /// Blocked variables that its children may see (see backends/child_environment.hpp), and further
  /// ones they may not.
  std::vector<std::string> env_pass;
  std::vector<std::string> env_block;
};

struct options {
  // output
  std::size_t retained_bytes = defaults::retained_bytes;
  std::size_t ring_bytes = defaults::ring_bytes;
  std::size_t preview_chars = defaults::preview_chars;
  std::size_t list_preview_chars = defaults::list_preview_chars;
  std::size_t tail_chars = defaults::tail_chars;
  std::size_t foreground_chars = defaults::foreground_chars;
  std::size_t log_bytes = defaults::log_bytes;
  std::size_t stdin_queue_bytes = defaults::stdin_queue_bytes;
  std::chrono::milliseconds drain_limit = defaults::drain_limit;
  bool redact = true;
  /// The whole output of a foreground command whose result had to be cut is kept in a file, below
  /// `state_dir` or, without one, in a private directory for temporary files.
  std::uint64_t full_output_bytes = defaults::full_output_bytes;
  std::uint64_t full_output_total_bytes = defaults::full_output_total_bytes;
  std::chrono::milliseconds full_output_retention = defaults::full_output_retention;

  // limits
  std::size_t running_per_session = defaults::running_per_session;
  std::size_t running_per_node = defaults::running_per_node;
  std::size_t finished_per_session = defaults::finished_per_session;
  std::chrono::milliseconds finished_retention = defaults::finished_retention;
  std::size_t interrupted_turns = defaults::interrupted_turns;

  // killing
  std::chrono::milliseconds grace = defaults::grace;
  std::chrono::milliseconds settle = defaults::settle;

  // waiting
  std::chrono::milliseconds wait_default = defaults::wait_default;
  std::chrono::milliseconds wait_max = defaults::wait_max;
  std::chrono::milliseconds foreground_timeout = defaults::foreground_timeout;
  std::chrono::milliseconds foreground_timeout_max = defaults::foreground_timeout_max;

  // events
  /// Where everything is kept (docs/state.md); empty: nothing outlives the node.
  std::string state_dir;
  /// Start children through a keeper, which outlives this program (docs/keeper.md); needs a
  /// `state_dir`. The programs of this project do.
  bool keeper = false;
  /// Its program; empty: `troupe-keeper` beside this one.
  std::string keeper_program;
  /// What becomes of processes that do not say it themselves when this program dies or ends: "keep"
  /// or "end"; empty: "keep", or what the program chooses. Only a keeper can keep them, and end them
  /// after a SIGKILL.
  std::string owner_death;
  /// This program runs one command and ends: it begins with nothing of earlier lives. Set by the
  /// program.
  bool one_shot = false;
  /// A new program may come within this time before `end` is carried out.
  std::chrono::milliseconds owner_grace = defaults::owner_grace;
  /// Output that a keeper writes to the disk per process while nobody takes it; then it is dropped.
  std::uint64_t spool_bytes = defaults::spool_bytes;
  /// Every answer waits for the disk.
  bool sync_always = false;
  std::chrono::milliseconds sync_delay = defaults::sync_delay;
  std::chrono::milliseconds watch_cooldown = defaults::watch_cooldown;
  std::uint32_t watch_strikes = defaults::watch_strikes;
  std::uint32_t watch_hits_max = defaults::watch_hits_max;
  std::uint32_t breaker_matches = defaults::breaker_matches;
  std::chrono::milliseconds breaker_window = defaults::breaker_window;
  std::chrono::milliseconds breaker_pause = defaults::breaker_pause;
  /// Shortest time between heartbeats.
  std::chrono::milliseconds heartbeat_min = std::chrono::seconds{defaults::heartbeat_min_seconds};
  std::size_t events_per_session = defaults::events_per_session;
  std::size_t event_bytes = defaults::event_bytes;
  std::chrono::milliseconds event_retention = defaults::event_retention;
  std::uint64_t journal_segment_bytes = defaults::journal_segment_bytes;

  // what outlives a process
  /// Receipts of finished processes, of all sessions: how many, how long, and how many bytes.
  std::size_t receipts_kept = defaults::receipts_kept;
  std::chrono::milliseconds receipt_retention = defaults::receipt_retention;
  std::uint64_t receipts_bytes = defaults::receipts_bytes;
  /// What cannot be written is kept in memory up to this size, the journal and the rest each.
  std::size_t store_backlog_bytes = defaults::store_backlog_bytes;

  // running
  /// Blocked variables that all children may see all the same (see backends/child_environment.hpp).
  std::vector<std::string> env_pass;
  /// Environments beside `local`, or a `local` of another kind.
  std::vector<environment_options> environments;
  /// An environment without commands for this long goes to sleep; what it remembers stays.
  std::chrono::milliseconds environment_idle = defaults::environment_idle;
  /// Environments remembered at most; the one unused for longest is forgotten first.
  std::size_t environments_kept = defaults::environments_kept;
  /// Given to `sudo` in commands, on stdin; empty: none. One line. The programs take it from
  /// TROUPE_SUDO_PASSWORD as well.
  std::string sudo_password;
  std::size_t launcher_threads = defaults::launcher_threads;
  /// Become a child subreaper and reap orphans. For programs that own their process; a host that
  /// has children of its own leaves it off.
  bool adopt_orphans = false;

  /// Told, in words, what went wrong without breaking anything. Called from any thread; may be null.
  std::function<void(const std::string&)> warn;
};

}  // namespace troupe

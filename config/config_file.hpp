// `troupe.conf`: the options of a node as a file in CAF's configuration syntax. Every field of
// config/options.hpp has a key of its own name; nothing else is accepted, and errors name the key.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <caf/settings.hpp>

#include "troupe/config/options.hpp"

namespace troupe {

/// `visit(key, field)` for everything that can be set; `Options` is `options` or `const options`.
template <class Options, class Visit>
void each_option(Options& o, Visit&& visit) {
  visit("retained_bytes", o.retained_bytes);
  visit("ring_bytes", o.ring_bytes);
  visit("preview_chars", o.preview_chars);
  visit("list_preview_chars", o.list_preview_chars);
  visit("tail_chars", o.tail_chars);
  visit("foreground_chars", o.foreground_chars);
  visit("log_bytes", o.log_bytes);
  visit("stdin_queue_bytes", o.stdin_queue_bytes);
  visit("drain_limit", o.drain_limit);
  visit("redact", o.redact);
  visit("full_output_bytes", o.full_output_bytes);
  visit("full_output_total_bytes", o.full_output_total_bytes);
  visit("full_output_retention", o.full_output_retention);
  visit("running_per_session", o.running_per_session);
  visit("running_per_node", o.running_per_node);
  visit("finished_per_session", o.finished_per_session);
  visit("finished_retention", o.finished_retention);
  visit("interrupted_turns", o.interrupted_turns);
  visit("grace", o.grace);
  visit("settle", o.settle);
  visit("wait_default", o.wait_default);
  visit("wait_max", o.wait_max);
  visit("foreground_timeout", o.foreground_timeout);
  visit("foreground_timeout_max", o.foreground_timeout_max);
  visit("state_dir", o.state_dir);
  visit("keeper", o.keeper);
  visit("keeper_program", o.keeper_program);
  visit("owner_death", o.owner_death);
  visit("owner_grace", o.owner_grace);
  visit("spool_bytes", o.spool_bytes);
  visit("sync_always", o.sync_always);
  visit("sync_delay", o.sync_delay);
  visit("watch_cooldown", o.watch_cooldown);
  visit("watch_strikes", o.watch_strikes);
  visit("watch_hits_max", o.watch_hits_max);
  visit("breaker_matches", o.breaker_matches);
  visit("breaker_window", o.breaker_window);
  visit("breaker_pause", o.breaker_pause);
  visit("heartbeat_min", o.heartbeat_min);
  visit("events_per_session", o.events_per_session);
  visit("event_bytes", o.event_bytes);
  visit("event_retention", o.event_retention);
  visit("journal_segment_bytes", o.journal_segment_bytes);
  visit("receipts_kept", o.receipts_kept);
  visit("receipt_retention", o.receipt_retention);
  visit("receipts_bytes", o.receipts_bytes);
  visit("store_backlog_bytes", o.store_backlog_bytes);
  visit("env_pass", o.env_pass);
  visit("environments", o.environments);
  visit("environment_idle", o.environment_idle);
  visit("environments_kept", o.environments_kept);
  visit("sudo_password", o.sudo_password);
  visit("launcher_threads", o.launcher_threads);
  visit("adopt_orphans", o.adopt_orphans);
}

/// The same for one environment.
template <class Options, class Visit>
void each_environment_option(Options& o, Visit&& visit) {
  visit("name", o.name);
  visit("shared", o.shared);
  visit("shell", o.shell);
  visit("cwd", o.cwd);
  visit("snapshot", o.snapshot);
  visit("snapshot_limit", o.snapshot_limit);
  visit("report", o.report);
  visit("warm_shells", o.warm_shells);
  visit("env_pass", o.env_pass);
  visit("env_block", o.env_block);
}

/// Reads a configuration into `result`; what it does not name stays. The group `caf`, for CAF itself,
/// is handed back in `caf_options`. Throws std::runtime_error with a sentence that names the key.
void read_options(std::istream& in, options& result, caf::settings& caf_options);

/// `$XDG_CONFIG_HOME/troupe/troupe.conf`, else `~/.config/troupe/troupe.conf`; empty if there is no such
/// file.
std::string default_config_file();

/// Fills in what the environment of the program gives (TROUPE_SUDO_PASSWORD) from the variables that
/// `backends::close_own_environment` has removed.
void take_secrets(options& result, const std::vector<std::string>& removed);

}  // namespace troupe

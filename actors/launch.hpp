// What passes between registry, environments and processes on the way to a start. None of it leaves
// this process of ours, so none of it is serializable.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/shell_state.hpp"
#include "troupe/backends/backend.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe {

struct environment_memory;

/// Asks an environment to start the command of a process that already exists.
struct launch_job {
  process_actor process;
  spawn_request request;
  caller owner;
};

/// Tells a process what its command has become.
struct launch_order {
  backends::spawn_spec spec;
  environment_actor environment;
  /// Where the command is to begin.
  std::string start_cwd;
  /// Where its shell will report; empty: it will not, or in its output (`spec.report_marker`).
  std::string report_path;
  /// What stdin begins with: passwords that programs of the command will ask for.
  std::string stdin_lead;
  /// The directory was given with the command, so where it ends is not remembered.
  bool own_workdir = false;
  /// The environment could not do it; nothing is started.
  std::optional<start_failure> failure;
};

/// Tells an environment that a command of it has ended.
struct command_left {
  std::optional<shell_report> report;
  std::vector<std::string> env;  ///< `NAME=value` that were given with the command
  bool own_workdir = false;
};

/// An environment that goes to sleep, and what it must be given when it is needed again.
struct environment_retired {
  std::string key;
  std::shared_ptr<const environment_memory> memory;
};

/// What is left of an idle environment.
struct environment_memory {
  shell_state shell;
  std::string cwd;
  bool has_snapshot = false;
};

}  // namespace troupe

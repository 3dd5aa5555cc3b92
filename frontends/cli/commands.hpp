// The subcommands of the `troupe` program. Each takes its parsed arguments and gives back the exit
// code of the program; none of them throws for anything a user can cause.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "troupe/frontends/cli/core.hpp"

namespace troupe::cli {

/// What the program gives every subcommand that runs commands.
struct program_settings {
  /// Empty: the usual place (config/config_file.hpp).
  std::string config_file;
  /// "keep" or "end"; empty: the default of the subcommand.
  std::string owner_death;
  /// Variables that are closed to children.
  std::vector<std::string> removed_variables;
};

/// `troupe mcp`: the Model Context Protocol on stdin and stdout.
struct mcp_arguments {
  program_settings program;
  std::string version;
  std::string session = "default";
  /// Empty: stderr.
  std::string log_file;
  std::string log_level = "warning";
  std::uint64_t max_frame_bytes = 16 << 20;
};
int run_mcp(const mcp_arguments& args, const core_factory& make_core);

/// `troupe run -- CMD…`: one command, its output live, its exit code as ours.
struct run_arguments {
  program_settings program;
  /// One word: the command as it is. Several: a program and its arguments.
  std::vector<std::string> words;
  std::optional<double> timeout_seconds;
  std::string workdir;
  bool pty = false;
};
int run_command(const run_arguments& args, const core_factory& make_core);

/// `troupe demo`: a guided half-minute on real processes.
struct demo_arguments {
  bool color = false;
};
int run_demo(const demo_arguments& args, const core_factory& make_core);

/// `troupe node`: the registry for other processes, over mutual TLS.
struct node_arguments {
  program_settings program;
  std::string version;
  /// `host:port`.
  std::string listen;
  /// PEM files: our certificate, its key, and the authority that signs the clients' certificates.
  std::string cert;
  std::string key;
  std::string ca;
};
int run_node(const node_arguments& args, const core_factory& make_core);

}  // namespace troupe::cli

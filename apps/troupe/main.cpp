// The `troupe` program: the command line in front of everything else.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "troupe/actors/runtime.hpp"
#include "troupe/backends/child_environment.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/frontends/cli/commands.hpp"

namespace {

using namespace troupe::cli;

constexpr const char* description =
    "Troupe runs and looks after processes for programs that have no terminal of their own.";

constexpr const char* examples = R"(Examples:
  troupe demo                          a guided half-minute on real processes
  troupe mcp                           tools for an agent, as an MCP server on stdin and stdout
  troupe run -- make -j4               one command: its output live, its exit code as ours
  troupe node --listen 127.0.0.1:4711 --cert node.pem --key node.key --ca ca.pem
  troupe run --timeout 10 'ls | wc'    a single word is taken as a shell command
  troupe mcp --log-file troupe.log --log-level debug

`troupe COMMAND --help` explains a command.)";

void add_config(CLI::App* cmd, program_settings& program) {
  cmd->add_option("--config", program.config_file,
                  "Options of the node (default: ~/.config/troupe/troupe.conf, if there is one)");
}

void add_owner_death(CLI::App* cmd, program_settings& program, const std::string& standard) {
  cmd->add_option(
         "--owner-death", program.owner_death,
         "What becomes of processes when this program dies or ends: keep or end (default: " +
             standard + ", or what troupe.conf says)")
      ->envname("TROUPE_OWNER_DEATH")
      ->check(CLI::IsMember({"keep", "end"}));
}

/// Blocked variables that the configuration lets pass. Also finds what is wrong with it.
std::vector<std::string> passing_variables(const program_settings& program) {
  troupe::node_config config;
  config.read(program.config_file);
  auto names = config.troupe_options.env_pass;
  for (const auto& environment : config.troupe_options.environments) {
    names.insert(names.end(), environment.env_pass.begin(), environment.env_pass.end());
  }
  return names;
}

CLI::App* add_mcp(CLI::App& app, mcp_arguments& args) {
  auto* cmd = app.add_subcommand("mcp", "Serve the Model Context Protocol on stdin and stdout");
  add_config(cmd, args.program);
  add_owner_death(cmd, args.program, "end");
  cmd->add_option("--session", args.session, "The session that owns what the client starts")
      ->capture_default_str();
  cmd->add_option("--log-file", args.log_file, "Write the log here instead of to stderr");
  cmd->add_option("--log-level", args.log_level, "How much is logged")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "critical", "off"}))
      ->capture_default_str();
  cmd->add_option("--max-frame-bytes", args.max_frame_bytes, "Longest request accepted")
      ->check(CLI::Range(std::uint64_t{1024}, std::uint64_t{1} << 30))
      ->capture_default_str();
  cmd->footer(
      "For an agent's configuration:\n"
      R"(  {"mcpServers": {"troupe": {"command": "/path/to/troupe", "args": ["mcp"]}}})"
      "\nEnds when stdin ends or on SIGTERM, with everything it started unless that is kept: a "
      "later\n"
      "`troupe mcp` on the same state directory finds kept processes and all results again.");
  return cmd;
}

CLI::App* add_run(CLI::App& app, run_arguments& args) {
  auto* cmd = app.add_subcommand("run", "Run one command and exit with its code");
  add_config(cmd, args.program);
  add_owner_death(cmd, args.program, "end");
  cmd->add_option("--timeout", args.timeout_seconds, "End it after this many seconds (exit 124)")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--workdir", args.workdir, "Working directory");
  cmd->add_flag("--pty", args.pty, "Give it a terminal");
  cmd->add_option("command", args.words,
                  "A program and its arguments, or one word that is a shell command")
      ->required();
  cmd->positionals_at_end();
  cmd->footer(
      "Exit codes: those of the command; 128 + number if a signal ended it; 124 timed out; 130\n"
      "interrupted (Ctrl-C, SIGTERM); 126 or 127 if it could not be started.\n"
      "The command's stdin is empty.\n\n"
      "Examples:\n  troupe run -- make -j4\n  troupe run --timeout 10 'ls | wc -l'");
  return cmd;
}

CLI::App* add_demo(CLI::App& app) {
  return app.add_subcommand("demo", "A guided half-minute on real processes");
}

CLI::App* add_node(CLI::App& app, node_arguments& args) {
  auto* cmd = app.add_subcommand("node", "Let other processes use this node, over mutual TLS");
  add_config(cmd, args.program);
  add_owner_death(cmd, args.program, "keep");
  cmd->add_option("--listen", args.listen, "ADDRESS:PORT; port 0 lets the system choose one")
      ->required();
  cmd->add_option("--cert", args.cert, "Our certificate and its chain (PEM)")->required();
  cmd->add_option("--key", args.key, "The key of the certificate (PEM, not encrypted)")->required();
  cmd->add_option("--ca", args.ca, "The authority that signs our certificate and those of hosts")
      ->required();
  cmd->footer(
      "Prints one line on stdout when it accepts connections: `listening on ADDRESS:PORT`.\n"
      "Every host with a certificate of the authority may run commands as this user.\n"
      "Ends on SIGTERM, SIGINT or SIGHUP. Processes go on, and the next node finds them, unless "
      "they\n"
      "were started to be ended with it.");
  return cmd;
}

class embedded_core final : public core {
 public:
  embedded_core(caf::actor_system& system, const troupe::options& opts) : runtime_(system, opts) {}
  const troupe::registry_actor& registry() const override { return runtime_.registry(); }
  std::vector<std::string> losses() const override { return runtime_.journal_losses(); }
  void shutdown() override { runtime_.shutdown(); }

 private:
  troupe::runtime runtime_;
};

std::unique_ptr<core> start_core(caf::actor_system& system, const troupe::options& opts) {
  return std::make_unique<embedded_core>(system, opts);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{description, "troupe"};
  app.footer(examples);
  app.set_version_flag("--version", "troupe " TROUPE_VERSION);
  app.require_subcommand(1);
  mcp_arguments mcp_args;
  mcp_args.version = TROUPE_VERSION;
  run_arguments run_args;
  auto* mcp = add_mcp(app, mcp_args);
  auto* run = add_run(app, run_args);
  auto* demo = add_demo(app);
  node_arguments node_args;
  node_args.version = TROUPE_VERSION;
  auto* node = add_node(app, node_args);
  CLI11_PARSE(app, argc, argv);
  troupe::init_types();
  auto* program = mcp->parsed()   ? &mcp_args.program
                  : run->parsed() ? &run_args.program
                                  : &node_args.program;
  // Before any thread: what children must not see is closed to them, also in our own memory.
  try {
    const auto pass = demo->parsed() ? std::vector<std::string>{} : passing_variables(*program);
    program->removed_variables = troupe::backends::close_own_environment(pass);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "troupe: %s\n", error.what());
    return EXIT_FAILURE;
  }
  if (mcp->parsed()) return run_mcp(mcp_args, start_core);
  if (run->parsed()) return run_command(run_args, start_core);
  if (node->parsed()) return run_node(node_args, start_core);
  if (demo->parsed()) {
    bool color = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
    return run_demo({color}, start_core);
  }
  return EXIT_FAILURE;
}

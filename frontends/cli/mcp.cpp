#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>

#include <caf/actor_system.hpp>

#include "troupe/config/config_file.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/frontends/cli/commands.hpp"
#include "troupe/frontends/cli/outlive.hpp"
#include "troupe/frontends/cli/signals.hpp"
#include "troupe/frontends/mcp/server.hpp"

namespace troupe::cli {

namespace {

/// Logs go to stderr or a file, never to stdout, which belongs to the protocol.
std::shared_ptr<spdlog::logger> make_logger(const mcp_arguments& args) {
  spdlog::sink_ptr sink;
  if (args.log_file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(args.log_file);
  }
  auto logger = std::make_shared<spdlog::logger>("troupe", std::move(sink));
  logger->set_level(spdlog::level::from_str(args.log_level));
  logger->flush_on(spdlog::level::warn);
  return logger;
}

}  // namespace

int run_mcp(const mcp_arguments& args, const core_factory& make_core) {
  std::shared_ptr<spdlog::logger> logger;
  try {
    logger = make_logger(args);
  } catch (const spdlog::spdlog_ex& error) {
    std::fprintf(stderr, "troupe mcp: cannot write the log file: %s\n", error.what());
    return 1;
  }
  try {
    signal_pipe signals{SIGTERM, SIGINT, SIGHUP};
    node_config config;
    config.read(args.program.config_file);
    take_secrets(config.troupe_options, args.program.removed_variables);
    config.troupe_options.warn = [logger](const std::string& text) { logger->warn("{}", text); };
    const auto problem = let_work_outlive(config.troupe_options, args.program, "end");
    if (!problem.empty()) logger->warn("{}; nothing outlives this program", problem);
    caf::actor_system system{config};
    const auto node = make_core(system, config.troupe_options);
    for (const auto& loss : node->losses()) logger->warn("event journal: {}", loss);
    mcp::server_settings settings;
    settings.session = args.session;
    settings.version = args.version;
    settings.max_frame_bytes = args.max_frame_bytes;
    mcp::server server{tools::tool_set{system, node->registry(), config.troupe_options},
                       std::move(settings),
                       STDIN_FILENO,
                       STDOUT_FILENO,
                       signals.descriptor(),
                       logger};
    logger->info("troupe {} serves MCP as session '{}'", args.version, args.session);
    server.serve();
    node->shutdown();
    server.finish();
  } catch (const std::exception& error) {
    logger->error("{}", error.what());
    logger->flush();
    return 1;
  }
  logger->flush();
  return 0;
}

}  // namespace troupe::cli

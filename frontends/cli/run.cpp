#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>

#include <caf/actor_system.hpp>

#include "troupe/config/config_file.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/frontends/cli/blocking_client.hpp"
#include "troupe/frontends/cli/commands.hpp"
#include "troupe/frontends/cli/outlive.hpp"
#include "troupe/frontends/cli/signals.hpp"
#include "troupe/text/quote.hpp"

namespace troupe::cli {

namespace {

std::string command_line(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.front();
  std::string out;
  for (const auto& word : words) {
    if (!out.empty()) out += ' ';
    out += text::shell_quote(word);
  }
  return out;
}

/// False if stdout cannot be written to any more.
bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    auto written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

spawn_request request_of(const run_arguments& args) {
  spawn_request request;
  request.id = make_process_id();
  request.command = command_line(args.words);
  request.workdir = args.workdir;
  request.pty = args.pty;
  request.hold_output = true;  // a slow stdout holds the command back, as a pipe would
  if (args.timeout_seconds) {
    request.timeout = std::chrono::duration_cast<caf::timespan>(
        std::chrono::duration<double>{*args.timeout_seconds});
  }
  winsize size{};
  if (args.pty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) {
    request.rows = size.ws_row;
    request.cols = size.ws_col;
  }
  return request;
}

int start_failed(const start_failure& failure) {
  std::fprintf(stderr, "troupe run: %s\n", failure.text.c_str());
  return failure.stage == start_stage::resolve ? 127 : 126;
}

/// Copies the output to stdout until the process is finished. False if that went wrong.
bool copy_output(blocking_client& client, const std::string& id) {
  follow_options what;
  what.view = output_view::raw;
  what.max_bytes = 1 << 20;
  while (true) {
    auto chunk = client.ask<output_chunk>(follow_atom_v, id, what);
    if (!chunk) {
      std::fprintf(stderr, "troupe run: %s\n", error_text(chunk.error).c_str());
      return false;
    }
    if (chunk->gap > 0) {
      std::fprintf(stderr,
                   "troupe run: %" PRIu64 " bytes of output were lost: stdout was too slow\n",
                   chunk->gap);
    }
    if (!write_all(chunk->data)) return false;
    what.cursor = chunk->cursor;
    if (chunk->finished) return true;
  }
}

int exit_code(const exit_info& end) {
  switch (end.reason) {
    case finish_reason::interrupted:
      std::fprintf(stderr, "troupe run: interrupted\n");
      return 130;
    case finish_reason::timed_out:
      std::fprintf(stderr, "troupe run: timed out\n");
      return 124;
    case finish_reason::failed_to_start:
      return end.failure ? start_failed(*end.failure) : 126;
    default:
      return end.shell_code().value_or(1);
  }
}

}  // namespace

int run_command(const run_arguments& args, const core_factory& make_core) try {
  signal_pipe signals{SIGTERM, SIGINT, SIGHUP};
  node_config config;
  config.read(args.program.config_file);
  take_secrets(config.troupe_options, args.program.removed_variables);
  // Without a state directory it runs all the same; then a SIGKILL leaves the command running.
  static_cast<void>(let_work_outlive(config.troupe_options, args.program, "end"));
  config.troupe_options.one_shot = true;
  caf::actor_system system{config};
  const auto node = make_core(system, config.troupe_options);
  caller who;
  who.session = "default";  // where `troupe mcp` looks
  who.turn = "run";
  blocking_client client{system, node->registry(), who};
  auto request = request_of(args);
  // A background process of ours, not a foreground command: those are forgotten with their answer,
  // and a slow stdout would lose their last output.
  auto started = client.ask<start_result>(start_atom_v, request);
  if (!started) {
    std::fprintf(stderr, "troupe run: %s\n", error_text(started.error).c_str());
    return 126;
  }
  if (started->failure) return start_failed(*started->failure);
  auto kill_it = [&, registry = node->registry()](int) {
    kill_options how;
    how.reason = finish_reason::interrupted;
    how.source = "interrupt";
    compat::anon_send(registry, kill_atom_v, who, request.id, how);
  };
  signal_thread watch{signals, kill_it};
  if (!copy_output(client, request.id)) kill_it(0);
  auto end = client.ask<wait_result>(wait_atom_v, request.id, wait_options{});
  if (!end || !end->process.exit) {
    std::fprintf(stderr, "troupe run: %s\n", error_text(end.error).c_str());
    return 1;
  }
  return exit_code(*end->process.exit);
} catch (const std::exception& error) {
  std::fprintf(stderr, "troupe run: %s\n", error.what());
  return 1;
}

}  // namespace troupe::cli

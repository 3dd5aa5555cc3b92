// `troupe demo`: the core at work on real processes, for a person to watch. Every wait has a limit, so
// that it ends within half a minute whatever the machine does.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include <caf/actor_system.hpp>

#include "troupe/config/node_config.hpp"
#include "troupe/frontends/cli/blocking_client.hpp"
#include "troupe/frontends/cli/commands.hpp"
#include "troupe/frontends/cli/demo_screen.hpp"
#include "troupe/frontends/cli/signals.hpp"
#include "troupe/text/exit_meaning.hpp"
#include "troupe/text/truncate.hpp"

namespace troupe::cli {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// A TCP port that nobody listens on now; 0 if there is none.
std::uint16_t free_port() {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  bool good = ::bind(fd, generic, size) == 0 && ::getsockname(fd, generic, &size) == 0;
  ::close(fd);
  return good ? ntohs(address.sin_port) : std::uint16_t{0};
}

std::string seconds_text(caf::timespan span) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(span).count());
  return text;
}

std::string end_text(const process_summary& process) {
  if (!process.exit) return "still running after " + seconds_text(process.uptime);
  const auto& end = *process.exit;
  std::string out = "finished after " + seconds_text(process.uptime) + ": ";
  if (end.signal != 0) {
    out += "ended by " + text::signal_name(end.signal);
  } else if (end.code) {
    out += "exit code " + std::to_string(*end.code);
  } else {
    out += "no exit code";
  }
  return out + " (" + to_string(end.reason) + ")";
}

class demo {
 public:
  demo(blocking_client& client, bool color, const std::atomic<bool>& stopped)
      : client_{client}, screen_{color}, stopped_{stopped} {}

  int run() {
    screen_.title("Troupe on real processes. Ctrl-C ends the demo and everything it started.");
    for (auto part : {&demo::failing_build, &demo::server, &demo::chatty_job, &demo::interactive,
                      &demo::overview, &demo::kills}) {
      if (stopped_) break;
      (this->*part)();
    }
    screen_.title(stopped_ ? "\nStopped." : "\nThat was it. Nothing is left running.");
    return stopped_ ? 130 : 0;
  }

 private:
  /// Starts a process and says so. Empty: it could not be started.
  std::string start(spawn_request request) {
    auto started = client_.ask<start_result>(start_atom_v, request);
    if (!started || started->failure) {
      screen_.fact("could not be started: " +
                   (started ? started->failure->text : error_text(started.error)));
      return {};
    }
    screen_.fact("started " + started->id + ", pid " + std::to_string(started->pid));
    return started->id;
  }

  std::string start(std::string_view what, const std::string& command, bool pty = false) {
    screen_.step(what, command);
    spawn_request request;
    request.command = command;
    request.pty = pty;
    return start(std::move(request));
  }

  /// Shows output as it comes, until the end of the process or of the time.
  void show_output(const std::string& id, std::chrono::milliseconds limit) {
    auto deadline = clock::now() + limit;
    follow_options what;
    what.limit = 500ms;
    while (!stopped_ && clock::now() < deadline) {
      auto chunk = client_.ask<output_chunk>(follow_atom_v, id, what);
      if (!chunk) break;
      screen_.output(chunk->data);
      what.cursor = chunk->cursor;
      if (chunk->finished) break;
    }
    screen_.end_output();
  }

  reply<wait_result> wait(const std::string& id, std::chrono::milliseconds limit,
                          std::uint16_t port = 0, std::string until = {}) {
    wait_options what;
    what.timeout = limit;
    what.port = port;
    what.until = std::move(until);
    return client_.ask<wait_result>(wait_atom_v, id, what);
  }

  void show_end(const std::string& id) {
    auto end = wait(id, 5s);
    screen_.fact(end ? end_text(end->process) : error_text(end.error));
  }

  void failing_build() {
    auto id = start("A build that fails, followed line by line",
                    "for f in lexer parser main; do echo \"compiling $f.c\"; sleep 0.4; done; "
                    "echo 'main.c:7: error: expected ; before }'; exit 7");
    if (id.empty()) return;
    show_output(id, 8s);
    show_end(id);
  }

  /// The command that is a server on `port`, or stands in for one.
  bool has_python() {
    spawn_request request;
    request.command = "python3 -c 'import http.server'";
    request.foreground = true;
    request.timeout = 3s;
    auto result = client_.ask<run_result>(run_atom_v, request);
    return result && result->process.exit && result->process.exit->code == 0;
  }

  void server() {
    auto port = free_port();
    bool real = port != 0 && has_python();
    auto command = real ? "python3 -u -m http.server --bind 127.0.0.1 " + std::to_string(port)
                        : std::string{
                              "sleep 1; echo 'ready for requests'; "
                              "while sleep 1; do echo 'GET / 200'; done"};
    server_ = start("A server, waited for until it is ready", command);
    if (server_.empty()) return;
    auto ready = real ? wait(server_, 6s, port) : wait(server_, 6s, 0, "ready for");
    if (!ready) return screen_.fact(error_text(ready.error));
    switch (ready->status) {
      case wait_status::port_open:
        return screen_.fact("port " + std::to_string(port) + " accepts connections after " +
                            seconds_text(ready->process.uptime) + "; it stays up");
      case wait_status::matched:
        return screen_.fact("printed '" + ready->match + "' after " +
                            seconds_text(ready->process.uptime) + "; it stays up");
      default:
        return screen_.fact("not ready: " + end_text(ready->process));
    }
  }

  void chatty_job() {
    auto id = start("A chatty job: all of it is counted, only the end is kept",
                    "seq -f 'line %.0f of a job that talks too much' 1 500000; sleep 0.5; "
                    "seq -f 'part two, line %.0f' 1 200000; echo done");
    if (id.empty()) return;
    for (int i = 0; i < 20 && !stopped_; ++i) {
      std::this_thread::sleep_for(200ms);
      auto now = client_.ask<poll_result>(poll_atom_v, id, poll_options{});
      if (!now) break;
      screen_.fact(text::with_thousands(now->total_bytes) + " bytes printed, the last " +
                   text::with_thousands(now->total_bytes - now->dropped_bytes) + " in memory");
      if (now->process.status == process_status::finished) break;
    }
    log_options last;
    last.limit = 3;
    auto tail = client_.ask<log_result>(log_atom_v, id, last);
    if (tail) screen_.output(tail->output + "\n");
    show_end(id);
  }

  /// Waits until the process reads its terminal, as the kernel sees it.
  bool asks_for_input(const std::string& id) {
    auto deadline = clock::now() + 4s;
    while (!stopped_ && clock::now() < deadline) {
      auto now = client_.ask<poll_result>(poll_atom_v, id, poll_options{});
      if (!now || now->process.status == process_status::finished) return false;
      if (now->awaiting_input) return true;
      std::this_thread::sleep_for(50ms);
    }
    return false;
  }

  void answer(const std::string& id, const std::string& text, std::string_view shown) {
    screen_.fact(asks_for_input(id) ? "it waits for input; answering " + std::string{shown}
                                    : "answering " + std::string{shown});
    (void)client_.ask<write_result>(write_atom_v, id, write_request{text + "\n", false});
    std::this_thread::sleep_for(200ms);  // for the eye
  }

  void interactive() {
    auto id = start("An interactive program on a terminal of its own, answered",
                    "read -p 'Your name? ' name; read -s -p 'Password: ' word; echo; "
                    "echo \"Hello $name, your password has ${#word} letters\"",
                    true);
    if (id.empty()) return;
    answer(id, "Ada", "'Ada'");
    answer(id, "secret", "the password");
    show_output(id, 3s);
    show_end(id);
  }

  void overview() {
    screen_.step("Everything this session started", "");
    auto rows = client_.ask<std::vector<process_summary>>(list_atom_v);
    if (!rows) return screen_.fact(error_text(rows.error));
    for (const auto& row : *rows) {
      auto state = row.exit ? end_text(row) : "running for " + seconds_text(row.uptime);
      screen_.output(row.id + "  " + row.command.substr(0, 32) + "...  " + state + "\n");
    }
  }

  void kill(const std::string& id, std::string_view what) {
    kill_options how;
    how.grace = 1s;
    auto from = clock::now();
    auto result = client_.ask<kill_result>(kill_atom_v, id, how);
    if (!result) return screen_.fact(error_text(result.error));
    if (result->status == kill_status::survivors) return screen_.fact("something survived");
    const auto& end = result->process.exit;
    auto by = end && end->signal != 0 ? text::signal_name(end->signal) : "itself";
    screen_.fact(std::string{what} + " is gone " + seconds_text(clock::now() - from) +
                 " after the request, ended by " + by);
  }

  void kills() {
    auto stubborn =
        start("Killing: the server obeys, a stubborn process does not",
              "trap '' TERM; echo 'I ignore TERM'; sleep 600 & while :; do sleep 1; done");
    if (!stubborn.empty()) (void)wait(stubborn, 2s, 0, "ignore");
    if (!server_.empty()) kill(server_, "the server");
    if (!stubborn.empty()) kill(stubborn, "the stubborn one, with its child,");
  }

  blocking_client& client_;
  demo_screen screen_;
  const std::atomic<bool>& stopped_;
  std::string server_;
};

}  // namespace

int run_demo(const demo_arguments& args, const core_factory& make_core) try {
  signal_pipe signals{SIGTERM, SIGINT, SIGHUP};
  node_config config;
  config.troupe_options.adopt_orphans = true;
  caf::actor_system system{config};
  const auto node = make_core(system, config.troupe_options);
  caller who;
  who.session = "demo";
  who.turn = "demo";
  blocking_client client{system, node->registry(), who};
  std::atomic<bool> stopped{false};
  signal_thread watch{signals, [&, registry = node->registry()](int) {
                        stopped = true;
                        compat::anon_send(registry, interrupt_atom_v, who);
                      }};
  return demo{client, args.color, stopped}.run();
} catch (const std::exception& error) {
  std::fprintf(stderr, "troupe demo: %s\n", error.what());
  return 1;
}

}  // namespace troupe::cli

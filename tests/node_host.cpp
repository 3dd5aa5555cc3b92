// A host in a process of its own, for node_remote_test: it connects to a node over mutual TLS and does
// what its command says. One line on stdout per step, so that the test can wait for it.
//   node_host ADDRESS PORT CERT KEY CA COMMAND
// Exit codes: 0 done, 1 something was not as it must be (said on stderr), 3 the node refused us.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/openssl/manager.hpp>
#include <caf/openssl/remote_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/stateful_actor.hpp>

#include "troupe/actors/runtime.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/frontends/cli/blocking_client.hpp"

namespace {

using namespace troupe;

constexpr auto generous = std::chrono::seconds{60};

void say(const std::string& line) {
  std::cout << line << std::endl;  // the test waits for it
}

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error{what};
}

class remote_host {
 public:
  remote_host(caf::actor_system& system, registry_actor registry, std::string turn = "one")
      : client_{system, std::move(registry), who(std::move(turn))} {}

  template <class Result, class Atom, class... What>
  Result ask(Atom atom, What... what) {
    auto answer = client_.ask<Result>(atom, std::move(what)...);
    if (!answer)
      throw std::runtime_error{to_string(error_code_of(answer.error)) + ": " +
                               error_text(answer.error)};
    return std::move(*answer.value);
  }

  template <class Result, class Atom, class... What>
  errc error_of(Atom atom, What... what) {
    return error_code_of(client_.ask<Result>(atom, std::move(what)...).error);
  }

 private:
  static caller who(std::string turn) {
    caller result;
    result.session = "remote";
    result.turn = std::move(turn);
    return result;
  }

  cli::blocking_client client_;
};

spawn_request request_for(std::string command) {
  spawn_request result;
  result.command = std::move(command);
  result.timeout = generous;
  return result;
}

/// Starts, follows, polls, reads the log, writes, waits, runs, lists and kills.
void live(remote_host& host) {
  auto request = request_for("echo first; read line; echo got $line; exit 7");
  request.stdin_pipe = true;
  const auto started = host.ask<start_result>(start_atom_v, request);
  require(!started.failure && started.pid > 0, "did not start");
  std::string output;
  follow_options follow;
  while (output.find("first\n") == std::string::npos) {
    const auto chunk = host.ask<output_chunk>(follow_atom_v, started.id, follow);
    require(!chunk.finished, "ended before it was answered");
    output += chunk.data;
    follow.cursor = chunk.cursor;
  }
  say("started and followed");
  const auto polled = host.ask<poll_result>(poll_atom_v, started.id, poll_options{});
  require(polled.process.status == process_status::running, "not running");
  require(polled.process.session == "remote", "session lost on the way");
  host.ask<write_result>(write_atom_v, started.id, write_request{"it\n", true});
  wait_options wait;
  wait.timeout = generous;
  const auto waited = host.ask<wait_result>(wait_atom_v, started.id, wait);
  require(waited.status == wait_status::exited, "wait ended with " + to_string(waited.status));
  require(waited.process.exit && waited.process.exit->code == 7, "another exit code than 7");
  require(waited.output == "first\ngot it\n", "output: " + waited.output);
  say("answered and waited");
  const auto log = host.ask<log_result>(log_atom_v, started.id, log_options{});
  require(log.total_lines == 2, "log has not two lines");
  const auto ran = host.ask<run_result>(run_atom_v, request_for("printf done; exit 3"));
  require(ran.status == run_status::finished && ran.output == "done", "run: " + ran.output);
  require(ran.process.exit && ran.process.exit->code == 3, "another exit code than 3");
  say("ran in the foreground");
  const auto sleeper = host.ask<start_result>(start_atom_v, request_for("sleep 1000"));
  const auto killed = host.ask<kill_result>(kill_atom_v, sleeper.id, kill_options{});
  require(killed.status == kill_status::killed, "not killed");
  require(host.error_of<poll_result>(poll_atom_v, std::string{"proc_nobody"}, poll_options{}) ==
              errc::not_found,
          "an unknown id is another error than not_found");
  const auto listed = host.ask<std::vector<process_summary>>(list_atom_v);
  require(listed.size() == 2, "list has not the two background processes");
  say("listed and killed");
}

/// A foreground command that another connection interrupts.
void hold(remote_host& host) {
  say("holding");
  const auto ran = host.ask<run_result>(run_atom_v, request_for("echo up; sleep 1000"));
  require(ran.status == run_status::interrupted, "ended with " + to_string(ran.status));
  require(ran.process.exit && ran.process.exit->reason == finish_reason::interrupted, "no reason");
  say("interrupted " + ran.output);
}

/// Interrupts the turn of `hold` as soon as its command runs.
void interrupt(remote_host& host) {
  while (true) {
    // The list shows what runs; following it waits for its first output.
    for (const auto& each : host.ask<std::vector<process_summary>>(list_atom_v)) {
      if (!each.foreground || each.status == process_status::finished) continue;
      host.ask<output_chunk>(follow_atom_v, each.id, follow_options{});
      say("ended " + std::to_string(host.ask<std::uint32_t>(interrupt_atom_v)));
      return;
    }
  }
}

/// One request per line of stdin, on the same connection.
void repeat(remote_host& host) {
  say("ready");
  for (std::string line; std::getline(std::cin, line);) {
    say(host.ask<run_result>(run_atom_v, request_for("echo " + line))
            .output.substr(0, line.size()));
  }
}

/// Leaves a process behind.
void leave(remote_host& host) {
  const auto started = host.ask<start_result>(start_atom_v, request_for("exec sleep 1000"));
  say(std::to_string(started.pid));
}

/// What only the registry's own family may say is no part of what is published.
void intrude(caf::actor_system& system, const registry_actor& registry) {
  caf::scoped_actor self{system};
  const auto untyped = caf::actor_cast<caf::actor>(registry);
  const auto expect_refused = [&](const char* what, auto... message) {
    caf::error failure;
    compat::request_within(self.ptr(), generous, untyped, message...)
        .receive([] {}, [&](caf::error& err) { failure = std::move(err); });
    require(failure == caf::sec::unexpected_message, std::string{what} + " was not refused");
  };
  expect_refused("lost", lost_atom_v, std::string{"proc_1"});
  expect_refused("started", started_atom_v, std::string{"proc_1"}, std::int32_t{1});
  expect_refused("finished", finished_atom_v, std::string{"proc_1"}, exit_info{}, std::uint64_t{0});
  expect_refused("retention", retention_atom_v);
  caf::error failure;
  compat::request_within(self.ptr(), generous, untyped, shutdown_atom_v, caf::timespan{0})
      .receive([](const kill_all_result&) {}, [&](caf::error& err) { failure = std::move(err); });
  require(failure == caf::sec::unexpected_message, "shutdown was not refused");
  remote_host host{system, registry};
  require(!host.ask<std::vector<process_summary>>(list_atom_v).size(), "list is not empty");
  say("refused");
}

int act(caf::actor_system& system, const registry_actor& registry, const std::string& command) {
  remote_host host{system, registry};
  if (command == "live") {
    live(host);
  } else if (command == "hold") {
    remote_host holding{system, registry, "held"};
    hold(holding);
  } else if (command == "interrupt") {
    remote_host other{system, registry, "held"};
    interrupt(other);
  } else if (command == "repeat") {
    repeat(host);
  } else if (command == "leave") {
    leave(host);
  } else if (command == "intrude") {
    intrude(system, registry);
  } else {
    throw std::runtime_error{"no such command: " + command};
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  init_types();
  caf::io::middleman::init_global_meta_objects();
  caf::openssl::manager::init_global_meta_objects();
  node_config config;
  config.load<caf::io::middleman>();
  config.load<caf::openssl::manager>();
  const std::pair<const char*, const char*> files[] = {{"caf.openssl.certificate", argv[3]},
                                                       {"caf.openssl.key", argv[4]},
                                                       {"caf.openssl.cafile", argv[5]}};
  for (const auto& [key, path] : files) {
    if (*path != '\0') config.set(key, std::string{path});
  }
  caf::actor_system system{config};
  const auto port = static_cast<std::uint16_t>(std::stoi(argv[2]));
  auto registry = caf::openssl::remote_actor<registry_actor>(system, argv[1], port);
  if (!registry) {
    std::cerr << "refused: " << caf::to_string(registry.error()) << std::endl;
    return 3;
  }
  try {
    return act(system, *registry, argv[6]);
  } catch (const std::exception& error) {
    std::cerr << argv[6] << ": " << error.what() << std::endl;
    return 1;
  }
}

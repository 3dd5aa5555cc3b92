// `troupe node`: the registry behind CAF's middleman, over mutual TLS. What listens is bound to the
// one address given; who connects must present a certificate of the authority (design 10).
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include <caf/actor_system.hpp>
#include <caf/expected.hpp>
#include <caf/io/middleman.hpp>
#include <caf/openssl/manager.hpp>
#include <caf/openssl/publish.hpp>
#include <caf/scoped_actor.hpp>

#include "troupe/config/config_file.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/frontends/cli/commands.hpp"
#include "troupe/frontends/cli/listen_address.hpp"
#include "troupe/frontends/cli/outlive.hpp"
#include "troupe/frontends/cli/registry_gate.hpp"
#include "troupe/frontends/cli/signals.hpp"
#include "troupe/frontends/cli/tls_files.hpp"

namespace troupe::cli {

namespace {

/// Beyond the time that the ordered shutdown may take; see `end_at_the_latest`.
constexpr auto shutdown_reserve = std::chrono::seconds{10};

/// The order matters: options of a module are known only after it is loaded.
void configure(node_config& config, const program_settings& program, const tls_paths& files) {
  config.load<caf::io::middleman>();
  config.load<caf::openssl::manager>();
  config.read(program.config_file);
  take_secrets(config.troupe_options, program.removed_variables);
  config.set("caf.openssl.certificate", files.cert);
  config.set("caf.openssl.key", files.key);
  config.set("caf.openssl.cafile", files.ca);
  config.troupe_options.warn = [](const std::string& text) {
    std::fprintf(stderr, "troupe node: %s\n", text.c_str());
  };
}

/// Waits for a signal; returns its number, or 0 if the pipe broke.
int next_signal(const signal_pipe& signals) {
  pollfd wait{signals.descriptor(), POLLIN, 0};
  while (true) {
    char number = 0;
    if (poll(&wait, 1, -1) < 0 && errno != EINTR) return 0;
    if (::read(signals.descriptor(), &number, 1) == 1) return number;
  }
}

/// The shutdown is bounded by itself; should it hang all the same, SIGALRM ends this program.
void end_at_the_latest(const options& opts) {
  const auto limit = 2 * opts.grace + opts.settle + shutdown_reserve;
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(limit).count()));
}

int serve(const program_settings& program, const listen_address& address, const tls_files& files,
          const core_factory& make_core) {
  signal_pipe signals{SIGTERM, SIGINT, SIGHUP};
  node_config config;
  configure(config, program, files.copies());
  const auto problem = let_work_outlive(config.troupe_options, program, "keep");
  if (!problem.empty()) {
    std::fprintf(stderr, "troupe node: %s; nothing outlives this program\n", problem.c_str());
  }
  caf::actor_system system{config};
  const auto node = make_core(system, config.troupe_options);
  for (const auto& loss : node->losses()) {
    std::fprintf(stderr, "troupe node: event journal: %s\n", loss.c_str());
  }
  auto gate = spawn_registry_gate(system, node->registry());
  // A peer is trusted and can end actors. Without its gate a node serves nobody, so it ends as well.
  std::atomic<bool> ending = false;
  gate->attach_functor([&ending] {
    if (!ending) ::kill(::getpid(), SIGTERM);
  });
  check_can_bind(address);
  const auto port =
      caf::openssl::publish(gate, address.port, address.host.c_str(), /* reuse = */ true);
  int result = 0;
  if (port) {
    std::printf("listening on %s\n", address.with_port(*port).c_str());
    std::fflush(stdout);
    next_signal(signals);
  } else {
    std::fprintf(stderr, "troupe node: --listen '%s': cannot listen: %s\n",
                 address.with_port(address.port).c_str(), caf::to_string(port.error()).c_str());
    result = 1;
  }
  end_at_the_latest(config.troupe_options);
  ending = true;
  if (port) static_cast<void>(system.middleman().close(*port));
  node->shutdown();
  caf::scoped_actor self{system};
  compat::anon_send_exit(gate, caf::exit_reason::user_shutdown);
  self->wait_for(gate);
  return result;
}

}  // namespace

int run_node(const node_arguments& args, const core_factory& make_core) {
  try {
    const auto address = parse_listen_address(args.listen);
    const tls_files files{{args.cert, args.key, args.ca}};
    caf::io::middleman::init_global_meta_objects();
    caf::openssl::manager::init_global_meta_objects();
    isolate_tls_connections();
    return serve(args.program, address, files, make_core);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "troupe node: %s\n", error.what());
    return 1;
  }
}

}  // namespace troupe::cli

#include "troupe/actors/runtime.hpp"

#include <stdexcept>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/init_global_meta_objects.hpp>
#include <caf/scoped_actor.hpp>

#include "troupe/actors/events.hpp"
#include "troupe/actors/registry.hpp"
#include "troupe/backends/local/local_backend.hpp"

namespace troupe {

void init_types() {
  caf::init_global_meta_objects<caf::id_block::troupe>();
  caf::core::init_global_meta_objects();
}

struct runtime::impl {
  caf::actor_system& system;
  std::shared_ptr<const options> opts;
  std::shared_ptr<backends::io_loop> loop;
  std::shared_ptr<backends::backend> backend;
  std::shared_ptr<open_journal> journal;
  store_actor store;
  events_actor events;
  registry_internal_actor registry;
};

namespace {

/// Rings are address space until they are used; a few more than may run, for those that still drain.
constexpr std::size_t spare_rings = 256;

backends::local_options local_options_of(const options& opts) {
  backends::local_options result;
  result.drain_limit = opts.drain_limit;
  result.stdin_queue_bytes = opts.stdin_queue_bytes;
  result.launcher_threads = opts.launcher_threads;
  result.adopt_orphans = opts.adopt_orphans;
  return result;
}

}  // namespace

runtime::runtime(caf::actor_system& system, options opts) {
  auto shared = std::make_shared<const options>(std::move(opts));
  auto loop = std::make_shared<backends::io_loop>();
  auto arena = backends::arena::make(shared->running_per_node + spare_rings, shared->ring_bytes);
  auto backend =
      std::make_shared<backends::local_backend>(*loop, std::move(arena), local_options_of(*shared));
  auto numbers = std::make_shared<const metrics>(system);
  auto journal = std::make_shared<open_journal>();
  store_actor store;
  if (!shared->state_dir.empty()) {
    *journal = open_event_journal(persistence::real_files(), *shared);
    if (!journal->error.empty()) throw std::runtime_error{"event journal: " + journal->error};
    store = system.spawn<store_actor::stateful_impl<store_state>, caf::detached>(
        shared, loop, journal, &persistence::real_files());
  }
  auto events = system.spawn<events_actor::stateful_impl<events_state>>(
      shared, loop, store, std::exchange(journal->records, {}), *numbers);
  auto registry = system.spawn<registry_internal_actor::stateful_impl<registry_state>>(
      shared, loop, std::shared_ptr<backends::backend>{backend}, events, numbers);
  impl_ =
      std::make_unique<impl>(impl{system, std::move(shared), std::move(loop), std::move(backend),
                                  std::move(journal), store, events, registry});
  registry_ = registry;
}

std::vector<std::string> runtime::journal_losses() const {
  std::vector<std::string> result;
  if (!impl_ || !impl_->journal->files) return result;
  for (const auto& loss : impl_->journal->files->losses()) {
    result.push_back(loss.segment + ": " + std::to_string(loss.bytes) + " bytes at " +
                     std::to_string(loss.offset) + ": " + loss.reason);
  }
  return result;
}

runtime::~runtime() {
  shutdown();
}

void runtime::shutdown() {
  if (!impl_) return;
  const auto& opts = *impl_->opts;
  caf::scoped_actor self{impl_->system};
  const caf::timespan limit = 2 * opts.grace + opts.settle + std::chrono::seconds{1};
  compat::request_within(self.ptr(), limit, impl_->registry, shutdown_atom_v,
                         caf::timespan{opts.grace})
      .receive([](const kill_all_result&) {}, [](const caf::error&) {});
  registry_ = nullptr;
  compat::anon_send_exit(impl_->registry, caf::exit_reason::user_shutdown);
  self->wait_for(impl_->registry);
  compat::anon_send_exit(impl_->events, caf::exit_reason::user_shutdown);
  self->wait_for(impl_->events);
  if (impl_->store) {
    compat::request_within(self.ptr(), limit, impl_->store, close_atom_v)
        .receive([] {}, [](const caf::error&) {});
    compat::anon_send_exit(impl_->store, caf::exit_reason::user_shutdown);
    self->wait_for(impl_->store);
  }
  impl_.reset();
}

}  // namespace troupe

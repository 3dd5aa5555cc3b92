#include "troupe/actors/runtime.hpp"

#include <caf/actor_system.hpp>
#include <caf/init_global_meta_objects.hpp>
#include <caf/scoped_actor.hpp>

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
  auto registry = system.spawn<registry_internal_actor::stateful_impl<registry_state>>(
      shared, loop, std::shared_ptr<backends::backend>{backend});
  impl_ = std::make_unique<impl>(
      impl{system, std::move(shared), std::move(loop), std::move(backend), registry});
  registry_ = registry;
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
  impl_.reset();
}

}  // namespace troupe

#include "troupe/actors/runtime.hpp"

#include <future>
#include <stdexcept>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/init_global_meta_objects.hpp>
#include <caf/scoped_actor.hpp>

#include "troupe/actors/event_codec.hpp"
#include "troupe/actors/events.hpp"
#include "troupe/actors/registry.hpp"
#include "troupe/backends/keeper/keeper_backend.hpp"
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

std::shared_ptr<backends::backend> make_backend(const options& opts, backends::io_loop& loop,
                                                std::uint32_t slot) {
  const auto slots = opts.running_per_node + spare_rings;
  if (!opts.keeper || opts.state_dir.empty()) {
    return std::make_shared<backends::local_backend>(
        loop, backends::arena::make(slots, opts.ring_bytes), local_options_of(opts));
  }
  backends::keeper_options keeper;
  keeper.dir = opts.state_dir + "/" + keeper_folder(slot);
  keeper.program = opts.keeper_program;
  keeper.local = local_options_of(opts);
  keeper.slots = slots;
  keeper.ring_bytes = opts.ring_bytes;
  keeper.spool_bytes = opts.spool_bytes;
  keeper.spool_total_bytes = opts.full_output_total_bytes;
  keeper.owner_grace = opts.owner_grace;
  keeper.owner_plan.grace = opts.grace;
  keeper.owner_plan.settle = opts.settle;
  keeper.connect_limit = defaults::keeper_limit;
  keeper.problem = opts.warn;
  return std::make_shared<backends::keeper_backend>(loop, std::move(keeper));
}

/// What an earlier life of this node left, and what is to become of it.
recovery_plan recover(backends::backend& backend, open_journal& journal) {
  recovery_facts facts;
  facts.records = std::exchange(journal.processes, {});
  for (auto& receipt : std::exchange(journal.ended, {})) {
    facts.ended.push_back(std::make_shared<const persistence::receipt>(std::move(receipt)));
  }
  for (auto& receipt : std::exchange(journal.receipts, {})) {
    facts.receipts.push_back(std::make_shared<const persistence::receipt>(std::move(receipt)));
  }
  const auto answer = std::make_shared<std::promise<backends::recovery>>();
  auto answered = answer->get_future();
  backend.recover([answer](backends::recovery found) { answer->set_value(std::move(found)); });
  // The backend has a limit of its own for the first word; a keeper may also stop in the middle.
  if (answered.wait_for(2 * defaults::keeper_limit) != std::future_status::ready) {
    throw std::runtime_error{"the keeper does not say what it has; nothing was taken over"};
  }
  facts.found = answered.get();
  for (const auto& record : journal.records) {
    if (record.kind != static_cast<std::uint8_t>(journal_kind::event)) continue;
    const auto known = decode_event(record.number, record.payload);
    if (known && known->kind == event_kind::completion) facts.told.insert(known->process);
  }
  facts.boot_id = current_boot_id();
  facts.start_ticks = backends::local::read_start_ticks;
  return plan_recovery(std::move(facts));
}

}  // namespace

runtime::runtime(caf::actor_system& system, options opts) {
  auto shared = std::make_shared<const options>(std::move(opts));
  auto journal = std::make_shared<open_journal>();
  if (!shared->state_dir.empty()) {
    *journal = open_event_journal(persistence::real_files(), *shared);
    if (!journal->error.empty()) throw std::runtime_error{"event journal: " + journal->error};
  }
  auto loop = std::make_shared<backends::io_loop>();
  auto backend = make_backend(*shared, *loop, journal->slot);
  auto numbers = std::make_shared<const metrics>(system);
  kept_state kept;
  if (!shared->state_dir.empty()) {
    kept.plan = recover(*backend, *journal);
    for (auto& problem : journal->problems) kept.plan.problems.push_back(std::move(problem));
    kept.slot = journal->slot;
    kept.boot_id = current_boot_id();
    kept.has_keeper = shared->keeper;
    kept.store = system.spawn<store_actor::stateful_impl<store_state>, caf::detached>(
        shared, loop, journal, &persistence::real_files());
  }
  const auto store = kept.store;
  auto events = system.spawn<events_actor::stateful_impl<events_state>>(
      shared, loop, store, std::exchange(journal->records, {}), *numbers);
  auto registry = system.spawn<registry_internal_actor::stateful_impl<registry_state>>(
      shared, loop, backend, events, numbers, std::move(kept));
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

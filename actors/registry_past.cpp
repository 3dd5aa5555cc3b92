// Processes of earlier lives: what was there when the node began, and results that are looked up after
// they left the memory.
#include <signal.h>

#include <algorithm>
#include <utility>

#include "troupe/actors/record_codec.hpp"
#include "troupe/actors/registry.hpp"

namespace troupe {

namespace {

/// Where a point of the calendar is on the clock of the loop.
backends::io_loop::clock::time_point steady_of(std::int64_t nanoseconds) {
  const auto ago = caf::make_timestamp() - timestamp_of(nanoseconds);
  return backends::io_loop::clock::now() -
         std::chrono::duration_cast<backends::io_loop::clock::duration>(
             std::max<caf::timespan>(ago, caf::timespan::zero()));
}

}  // namespace

process_actor registry_state::supervised(process_actor process, const std::string& id) {
  // Supervision: attached to the short-lived side, as a message (design 10).
  caf::actor_cast<caf::actor>(process)->attach_functor(
      [id, registry = services_->registry] { compat::anon_send(registry, lost_atom_v, id); });
  return process;
}

void registry_state::take_over(recovery_plan plan) {
  if (services_->store) {
    compat::send(self_, services_->store, listen_atom_v, store_listener_actor{services_->registry});
  }
  for (const auto& text : plan.problems) {
    if (opts_->warn) opts_->warn(text);
  }
  for (const auto child : plan.strangers) {
    services_->backend->kill(child, {SIGKILL, opts_->grace, opts_->settle});
    services_->backend->release(child);
  }
  for (const auto& path : plan.stranger_spools) {
    compat::send(self_, services_->store, discard_atom_v, path);
  }
  // Oldest first, as they were: retention and `list` go by this order.
  std::sort(plan.finished.begin(), plan.finished.end(),
            [](const auto& a, const auto& b) { return a.receipt->ended_at < b.receipt->ended_at; });
  for (auto& past : plan.finished) add_finished(std::move(past), true);
  std::sort(plan.running.begin(), plan.running.end(),
            [](const auto& a, const auto& b) { return a.record.started_at < b.record.started_at; });
  for (auto& past : plan.running) add_running(std::move(past));
  for (const auto& id : plan.stale_records) {
    compat::send(self_, services_->store, drop_atom_v, id);
  }
  arm_retention();
}

/// Whoever has something to lose hears of it.
void registry_state::on_warning(const std::string& text) {
  for (const auto& [session, count] : running_of_) {
    event x;
    x.kind = event_kind::environment;
    x.at = caf::make_timestamp();
    x.owner.session = session;
    x.note = text;
    compat::send(self_, services_->events, publish_atom_v, std::move(x), false);
  }
}

void registry_state::add_running(past_process past) {
  const auto& record = past.record;
  std::shared_ptr<const watch_patterns> patterns;
  if (!record.watch_patterns.empty()) {
    if (auto made = watch_patterns::make(record.watch_patterns, record.watch_plain)) {
      patterns = std::move(*made);
    }
  }
  entry row;
  row.session = record.owner.session;
  row.persist_on_release = record.persist_on_release;
  row.keep = record.keep_on_owner_death;
  row.started = steady_of(record.started_at);
  row.number = next_number_++;
  const auto id = record.id;
  row.handle = supervised(
      self_->spawn<process_actor::stateful_impl<process_state>>(
          std::shared_ptr<const process_services>{services_}, std::move(past), std::move(patterns)),
      id);
  ++running_;
  ++running_of_[row.session];
  const auto it = processes_.emplace(id, std::move(row)).first;
  compat::send(self_, it->second.handle, adopt_atom_v);
}

registry_state::table::iterator registry_state::add_finished(past_result past, bool adopt) {
  const auto& receipt = *past.receipt;
  entry row;
  row.session = receipt.process.owner.session;
  row.finished = true;
  row.persist_on_release = receipt.process.persist_on_release;
  row.started = steady_of(receipt.process.started_at);
  row.ended = adopt ? steady_of(receipt.ended_at) : backends::io_loop::clock::now();
  row.number = next_number_++;
  const auto id = receipt.process.id;
  row.handle = supervised(self_->spawn<process_actor::stateful_impl<process_state>>(
                              std::shared_ptr<const process_services>{services_}, std::move(past)),
                          id);
  auto& kept = finished_of_[row.session];
  kept.push_back(id);
  retention_.emplace_back(row.ended + opts_->finished_retention, id);
  const auto it = processes_.emplace(id, std::move(row)).first;
  if (adopt) compat::send(self_, it->second.handle, adopt_atom_v);
  if (kept.size() > opts_->finished_per_session) {
    const auto oldest = processes_.find(kept.front());
    if (oldest != processes_.end()) {
      forget(oldest);
    } else {
      kept.pop_front();
    }
  }
  return it;
}

/// The one process that an id or prefix names, among those in memory and the receipts.
caf::expected<process_actor> registry_state::revive(const caller& who, const std::string& id,
                                                    const found_receipts& found) {
  const auto known = matches(who, id);
  if (known.size() == 1 && known.front()->first == id) return known.front()->second.handle;
  const auto elsewhere =
      std::count_if(found.ids.begin(), found.ids.end(),
                    [this](const std::string& one) { return !processes_.contains(one); });
  if (known.size() + static_cast<std::size_t>(elsewhere) != 1 || (known.empty() && !found.only)) {
    return make_error(errc::not_found, "No process with ID " + id);
  }
  if (!known.empty()) return known.front()->second.handle;
  const auto it = add_finished({found.only, false}, false);
  arm_retention();
  return it->second.handle;
}

}  // namespace troupe

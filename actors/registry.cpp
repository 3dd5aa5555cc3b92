#include "troupe/actors/registry.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace troupe {

namespace {

/// The shortest part of an id (hex digits) that may stand for the whole.
constexpr std::size_t shortest_prefix = 4;

bool is_process_id(std::string_view id) {
  constexpr std::string_view head = "proc_";
  return id.size() == head.size() + 12 && id.starts_with(head) &&
         id.find_first_not_of("0123456789abcdef", head.size()) == id.npos;
}

caf::error bad(std::string_view field, std::string_view reason) {
  return make_error(errc::bad_argument, std::string{field} + ": " + std::string{reason});
}

caf::error check(const spawn_request& request) {
  if (request.command.find('\0') != request.command.npos) {
    return bad("command", "must not contain a NUL byte");
  }
  if (request.workdir.find('\0') != request.workdir.npos) {
    return bad("workdir", "must not contain a NUL byte");
  }
  for (const auto& entry : request.env) {
    const auto equals = entry.find('=');
    if (equals == 0 || equals == entry.npos || entry.find('\0') != entry.npos) {
      return bad("env", "entries must be NAME=value without NUL bytes");
    }
  }
  if (request.pty && (request.rows == 0 || request.cols == 0)) {
    return bad("rows, cols", "must be at least 1");
  }
  if (!request.owner_death.empty() && request.owner_death != "keep" &&
      request.owner_death != "end") {
    return bad("owner_death", "must be keep or end, not " + request.owner_death);
  }
  if (request.timeout && *request.timeout <= caf::timespan::zero()) {
    return bad("timeout", "must be positive");
  }
  return {};
}

}  // namespace

registry_state::registry_state(registry_internal_actor::pointer self,
                               std::shared_ptr<const options> opts,
                               std::shared_ptr<backends::io_loop> loop,
                               std::shared_ptr<backends::backend> backend, events_actor events,
                               std::shared_ptr<const metrics> numbers, kept_state kept)
    : self_(self), opts_(std::move(opts)) {
  services_ = std::make_shared<process_services>();
  services_->opts = opts_;
  services_->node_env = backends::own_environment();
  services_->run_dir = std::make_shared<const run_directory>();
  services_->loop = std::move(loop);
  services_->backend = std::move(backend);
  services_->events = std::move(events);
  services_->spill = self_->spawn<spill_actor::stateful_impl<spill_state>, caf::detached>(
      opts_, &persistence::real_files());
  services_->numbers = std::move(numbers);
  services_->store = std::move(kept.store);
  services_->slot = kept.slot;
  services_->boot_id = std::move(kept.boot_id);
  services_->has_keeper = kept.has_keeper;
  services_->last_child = kept.plan.next_child;
  services_->registry = caf::actor_cast<registry_internal_actor>(self_);
  std::error_code ignored;
  services_->default_cwd = std::filesystem::current_path(ignored).string();
  if (services_->default_cwd.empty()) services_->default_cwd = "/";
  take_over(std::move(kept.plan));
}

registry_state::~registry_state() {
  compat::anon_send_exit(services_->spill, caf::exit_reason::user_shutdown);
  if (retention_timer_ != 0) services_->loop->cancel(retention_timer_);
  for (auto& [id, process] : processes_) {
    compat::anon_send_exit(process.handle, caf::exit_reason::user_shutdown);
  }
  for (auto& [key, environment] : environments_) {
    compat::anon_send_exit(environment, caf::exit_reason::user_shutdown);
  }
}

registry_internal_actor::behavior_type registry_state::make_behavior() {
  return {
      [this](start_atom, const caller& who, spawn_request& request) {
        return on_start(who, std::move(request));
      },
      [this](run_atom, const caller& who, spawn_request& request) {
        return on_run(who, std::move(request));
      },
      [this](list_atom, const caller& who) { return on_list(who); },
      [this](poll_atom atom, const caller& who, const std::string& id, const poll_options& what) {
        return pass_on<poll_result>(atom, who, id, what);
      },
      [this](log_atom atom, const caller& who, const std::string& id, const log_options& what) {
        return pass_on<log_result>(atom, who, id, what);
      },
      [this](follow_atom atom, const caller& who, const std::string& id,
             const follow_options& what) { return pass_on<output_chunk>(atom, who, id, what); },
      [this](wait_atom atom, const caller& who, const std::string& id, const wait_options& what) {
        return pass_on<wait_result>(atom, who, id, what);
      },
      [this](kill_atom atom, const caller& who, const std::string& id, const kill_options& what) {
        return pass_on<kill_result>(atom, who, id, what);
      },
      [this](signal_atom atom, const caller& who, const std::string& id, std::int32_t number) {
        return pass_on<process_summary>(atom, who, id, number);
      },
      [this](write_atom atom, const caller& who, const std::string& id, write_request& what) {
        return pass_on<write_result>(atom, who, id, std::move(what));
      },
      [this](resize_atom atom, const caller& who, const std::string& id, std::uint16_t rows,
             std::uint16_t cols) { return pass_on<void>(atom, who, id, rows, cols); },
      [this](detach_atom atom, const caller& who, const std::string& id) {
        return pass_on<process_summary>(atom, who, id);
      },
      [this](handoff_atom, const caller& who, const std::string& id, std::string& session,
             std::string& note) {
        return on_handoff(who, id, std::move(session), std::move(note));
      },
      [this](interrupt_atom, const caller& who) { return on_interrupt(who); },
      [this](yield_atom, const caller& who) { return on_yield(who); },
      [this](kill_all_atom, const caller& who, const kill_all_options& what) {
        return on_kill_all(who, what);
      },
      [this](active_atom, const caller& who, caf::timespan max_age) {
        return on_active(who, max_age);
      },
      [this](status_atom) { return on_status(); },
      [this](wait_atom, const caller& who, wait_many_options& what) {
        return on_wait_many(who, std::move(what));
      },
      [this](subscribe_atom atom, const subscription& what, const event_handler_actor& handler) {
        return compat::delegate(self_, services_->events, atom, what, handler);
      },
      [this](drain_atom atom, const drain_request& what) {
        return compat::delegate(self_, services_->events, atom, what);
      },
      [this](linger_atom atom, const caller& who, caf::timespan limit) {
        return compat::delegate(self_, services_->events, atom, who, limit);
      },
      [this](started_atom, const std::string&, std::int32_t) { ++started_total_; },
      [this](finished_atom, const std::string& id, const exit_info& end, std::uint64_t bytes) {
        on_finished(id, end, bytes);
      },
      [this](detach_atom, const std::string& id) { on_background(id); },
      [this](lost_atom, const std::string& id) { on_lost(id); },
      [this](warn_atom, const std::string& text) { on_warning(text); },
      [this](retention_atom) { on_retention(); },
      [this](const environment_retired& what) { on_environment_retired(what); },
      [this](shutdown_atom, caf::timespan grace) { return on_shutdown(grace); },
  };
}

// -- starting -------------------------------------------------------------------------------------

caf::result<start_result> registry_state::on_start(const caller& who, spawn_request request) {
  if (is_interrupted(who)) {
    return make_error(errc::interrupted, "this turn was interrupted: nothing was started");
  }
  auto one = admit(who, std::move(request));
  if (!one) return one.error();
  auto result = compat::delegate(self_, one->process, start_atom_v, who);
  launch(std::move(*one));
  return result;
}

caf::result<run_result> registry_state::on_run(const caller& who, spawn_request request) {
  if (is_interrupted(who)) {
    // Later commands of an interrupted turn answer at once, without running (design 2).
    run_result result;
    result.status = run_status::interrupted;
    result.process.command = std::move(request.command);
    result.process.session = who.session;
    result.output = "[Command interrupted]";
    return result;
  }
  request.foreground = true;
  if (!request.timeout) request.timeout = opts_->foreground_timeout;
  auto one = admit(who, std::move(request));
  if (!one) return one.error();
  // The wait is there before the child is: no output can come before it.
  auto result = compat::delegate(self_, one->process, run_atom_v, who);
  launch(std::move(*one));
  return result;
}

void registry_state::launch(admitted one) {
  compat::send(self_, one.environment,
               launch_job{one.process, std::move(one.request), std::move(one.owner)});
}

caf::expected<registry_state::admitted> registry_state::admit(const caller& who,
                                                              spawn_request request) {
  if (shutting_down_) return make_error(errc::shutting_down, "the node is shutting down");
  if (auto err = check(request)) return err;
  if (request.id.empty()) {
    do {
      request.id = make_process_id();
    } while (processes_.contains(request.id));
  } else if (!is_process_id(request.id)) {
    return bad("id", "must be proc_ and 12 lower-case hex digits");
  } else if (processes_.contains(request.id)) {
    return bad("id", "is taken already");
  }
  if (request.environment.empty()) request.environment = "local";
  auto environment = environment_of(who, request.environment);
  if (!environment) return environment.error();
  if (running_ >= opts_->running_per_node) {
    return make_error(errc::limit_reached, "this node runs " + std::to_string(running_) +
                                               " processes, the limit; nothing was started");
  }
  if (const auto count = running_of_[who.session]; count >= opts_->running_per_session) {
    return make_error(errc::limit_reached, "this session runs " + std::to_string(count) +
                                               " processes, the limit; nothing was started");
  }
  std::shared_ptr<const watch_patterns> patterns;
  if (!request.watch_patterns.empty()) {
    auto made = watch_patterns::make(request.watch_patterns, request.watch_plain);
    if (!made) return made.error();
    patterns = std::move(*made);
  }
  entry fresh;
  fresh.session = who.session;
  fresh.foreground = request.foreground;
  fresh.persist_on_release = request.persist_on_release;
  fresh.started = backends::io_loop::clock::now();
  fresh.number = next_number_++;
  const auto id = request.id;
  fresh.keep = (request.owner_death.empty() ? opts_->owner_death : request.owner_death) != "end";
  fresh.handle = supervised(
      self_->spawn<process_actor::stateful_impl<process_state>>(
          std::shared_ptr<const process_services>{services_}, request, who, std::move(patterns)),
      id);
  ++running_;
  ++running_of_[fresh.session];
  const auto it = processes_.emplace(id, std::move(fresh)).first;
  return admitted{it->second.handle, std::move(*environment), std::move(request), who};
}

caf::expected<environment_actor> registry_state::environment_of(const caller& who,
                                                                const std::string& wanted) {
  const environment_options* what = nullptr;
  for (const auto& row : opts_->environments) {
    if (row.name == wanted) what = &row;
  }
  static const environment_options local;
  if (what == nullptr && wanted == local.name) what = &local;
  if (what == nullptr) {
    return bad("environment", "there is no environment named " + wanted);
  }
  // Two sessions share an environment only if the configuration says so.
  const auto key = what->shared ? wanted : wanted + '\n' + who.session;
  auto& handle = environments_[key];
  if (!handle) {
    const auto memory = asleep_.find(key);
    handle = self_->spawn<environment_actor::stateful_impl<environment_state>>(
        std::shared_ptr<const process_services>{services_}, key, *what,
        memory != asleep_.end() ? memory->second : nullptr);
    if (memory != asleep_.end()) {
      std::erase(asleep_order_, key);
      asleep_.erase(memory);
    }
  }
  return handle;
}

void registry_state::on_environment_retired(const environment_retired& what) {
  environments_.erase(what.key);
  if (asleep_.insert_or_assign(what.key, what.memory).second) asleep_order_.push_back(what.key);
  while (asleep_.size() > opts_->environments_kept) {
    asleep_.erase(asleep_order_.front());
    asleep_order_.pop_front();
  }
}

// -- one process ----------------------------------------------------------------------------------

std::vector<registry_state::table::iterator> registry_state::matches(const caller& who,
                                                                     std::string_view id) {
  const auto visible = [&](const table::value_type& row) {
    return row.second.session == who.session;
  };
  std::vector<table::iterator> found;
  if (const auto it = processes_.find(id); it != processes_.end() && visible(*it)) return {it};
  std::string prefix{id};
  if (!prefix.starts_with("proc_")) prefix = "proc_" + prefix;
  if (prefix.size() < std::string_view{"proc_"}.size() + shortest_prefix) return found;
  for (auto it = processes_.lower_bound(prefix);
       it != processes_.end() && it->first.starts_with(prefix) && found.size() < 2; ++it) {
    if (visible(*it)) found.push_back(it);
  }
  return found;
}

caf::expected<registry_state::table::iterator> registry_state::find(const caller& who,
                                                                    std::string_view id) {
  const auto found = matches(who, id);
  if (found.size() != 1) {
    return make_error(errc::not_found, "No process with ID " + std::string{id});
  }
  return found.front();
}

/// Hands an answer on.
template <class Result, class Promise>
auto answer_to(Promise promise) {
  if constexpr (std::is_void_v<Result>) {
    return [promise]() mutable { promise.deliver(); };
  } else {
    return [promise](Result& result) mutable { promise.deliver(std::move(result)); };
  }
}

template <class Result, class Atom, class... Args>
caf::result<Result> registry_state::pass_on(Atom atom, const caller& who, const std::string& id,
                                            Args&&... args) {
  auto it = find(who, id);
  // Receipts count too: a prefix must be unique among both.
  if (services_->store && (!it || (*it)->first != id)) {
    return pass_on_past<Result>(atom, who, id, std::forward<Args>(args)...);
  }
  if (!it) return it.error();
  return compat::delegate(self_, (*it)->second.handle, atom, who, std::forward<Args>(args)...);
}

template <class Result, class Atom, class... Args>
caf::result<Result> registry_state::pass_on_past(Atom atom, const caller& who,
                                                 const std::string& id, Args&&... args) {
  auto promise = self_->template make_response_promise<Result>();
  compat::request(self_, services_->store, find_atom_v, who.session, id)
      .then(
          [this, promise, atom, who, id, ... args = std::decay_t<Args>(std::forward<Args>(args))](
              const found_receipts& found) mutable {
            auto process = revive(who, id, found);
            if (!process) return promise.deliver(process.error());
            compat::request(self_, *process, atom, who, std::move(args)...)
                .then(answer_to<Result>(promise),
                      [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
          },
          [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
  return promise;
}

caf::result<process_summary> registry_state::on_handoff(const caller& who, const std::string& id,
                                                        std::string session, std::string note) {
  auto found = find(who, id);
  if (!found) return found.error();
  auto& row = (*found)->second;
  if (row.finished) return make_error(errc::already_exited, "Process has already finished");
  if (session.empty()) return bad("session", "must name the new owner");
  if (note.empty()) return bad("data", "must say in one line what the process is for");
  if (running_of_[session] >= opts_->running_per_session) {
    return make_error(errc::limit_reached, "the other session runs as many processes as it may");
  }
  --running_of_[row.session];
  ++running_of_[session];
  row.session = session;
  return compat::delegate(self_, row.handle, handoff_atom_v, who, std::move(session),
                          std::move(note));
}

// -- the table ------------------------------------------------------------------------------------

void registry_state::on_finished(const std::string& id, const exit_info& end,
                                 std::uint64_t output_bytes) {
  const auto it = processes_.find(id);
  if (it == processes_.end() || it->second.finished) return;
  auto& row = it->second;
  row.finished = true;
  row.ended = backends::io_loop::clock::now();
  output_bytes_total_ += output_bytes;
  --running_;
  if (const auto count = running_of_.find(row.session);
      count != running_of_.end() && --count->second == 0) {
    running_of_.erase(count);
  }
  if (end.failure || (row.foreground && end.descendants.empty())) {
    processes_.erase(it);  // leaves no trace; the actor ends by itself once it has answered
    return;
  }
  auto& kept = finished_of_[row.session];
  kept.push_back(id);
  retention_.emplace_back(row.ended + opts_->finished_retention, id);
  if (kept.size() > opts_->finished_per_session) {
    const auto oldest = processes_.find(kept.front());
    if (oldest != processes_.end()) {
      forget(oldest);
    } else {
      kept.pop_front();
    }
  }
  arm_retention();
}

void registry_state::on_background(const std::string& id) {
  if (const auto it = processes_.find(id); it != processes_.end()) it->second.foreground = false;
}

void registry_state::on_lost(const std::string& id) {
  const auto it = processes_.find(id);
  if (it == processes_.end()) return;
  if (!it->second.finished) {
    exit_info end;
    end.reason = finish_reason::lost;
    on_finished(id, end, 0);
    compat::send(self_, services_->events, promise_atom_v, id, std::string{});
  }
  if (const auto again = processes_.find(id); again != processes_.end()) forget(again);
}

void registry_state::forget(table::iterator it) {
  if (const auto kept = finished_of_.find(it->second.session); kept != finished_of_.end()) {
    std::erase(kept->second, it->first);
    if (kept->second.empty()) finished_of_.erase(kept);
  }
  // Not an exit: it may still be telling its end.
  compat::anon_send(it->second.handle, retention_atom_v);
  processes_.erase(it);
}

void registry_state::arm_retention() {
  if (retention_timer_ != 0 || retention_.empty()) return;
  const auto delay = retention_.front().first - backends::io_loop::clock::now();
  retention_timer_ = services_->loop->after(
      std::max(delay, backends::io_loop::clock::duration::zero()),
      [registry = services_->registry] { compat::anon_send(registry, retention_atom_v); });
}

void registry_state::on_retention() {
  retention_timer_ = 0;
  const auto now = backends::io_loop::clock::now();
  while (!retention_.empty() && retention_.front().first <= now) {
    if (const auto it = processes_.find(retention_.front().second); it != processes_.end()) {
      forget(it);
    }
    retention_.pop_front();
  }
  arm_retention();
}

}  // namespace troupe

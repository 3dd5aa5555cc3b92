// Requests about many processes: a thousand of them is a thousand messages, not a loop that waits.
#include <algorithm>
#include <utility>

#include "troupe/actors/registry.hpp"
#include "troupe/config/version.hpp"

namespace troupe {

namespace {

/// What is collected while the answers come in. Shared by the handlers of one request; holds the
/// promise of the request, so nothing outlives the answer.
template <class Result>
struct collection {
  caf::typed_response_promise<Result> promise;
  Result result{};
  std::size_t missing = 0;
};

}  // namespace

/// Asks every selected process and merges the answers; a process that is gone meanwhile counts as
/// answered.
template <class Result, class Part, class Select, class Ask, class Merge, class Done>
caf::result<Result> registry_state::gather(Select select, Ask ask, Merge merge, Done done) {
  auto state = std::make_shared<collection<Result>>();
  std::vector<process_actor> selected;
  for (const auto& row : processes_) {
    if (select(row)) selected.push_back(row.second.handle);
  }
  if (selected.empty()) {
    done(state->result);
    return std::move(state->result);
  }
  state->missing = selected.size();
  state->promise = self_->make_response_promise<Result>();
  const auto settle = [state, done] {
    if (--state->missing > 0) return;
    done(state->result);
    state->promise.deliver(std::move(state->result));
  };
  for (const auto& handle : selected) {
    ask(handle).then(
        [state, merge, settle](Part& part) {
          merge(state->result, part);
          settle();
        },
        [settle](const caf::error&) { settle(); });
  }
  return state->promise;
}

caf::result<std::vector<process_summary>> registry_state::on_list(const caller& who) {
  return gather<std::vector<process_summary>, process_summary>(
      [&](const table::value_type& row) { return row.second.session == who.session; },
      [this](const process_actor& process) {
        return compat::request(self_, process, summary_atom_v);
      },
      [](std::vector<process_summary>& all, process_summary& one) {
        all.push_back(std::move(one));
      },
      [](std::vector<process_summary>& all) {
        std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
          const bool a_over = a.status == process_status::finished;
          const bool b_over = b.status == process_status::finished;
          return std::tie(a_over, a.started_at, a.id) < std::tie(b_over, b.started_at, b.id);
        });
      });
}

caf::result<wait_many_result> registry_state::on_wait_many(const caller& who,
                                                           wait_many_options what) {
  if (what.ids.empty()) return make_error(errc::bad_argument, "ids: there are none");
  if (what.ids.size() > defaults::wait_ids_max) {
    return make_error(errc::bad_argument,
                      "ids: more than " + std::to_string(defaults::wait_ids_max));
  }
  std::vector<process_actor> handles;
  for (const auto& id : what.ids) {
    auto it = find(who, id);
    if (!it) return it.error();
    handles.push_back((*it)->second.handle);
  }
  struct many {
    caf::typed_response_promise<wait_many_result> promise;
    wait_many_result result;
    caf::error failure;
    std::size_t missing = 0;
    bool over = false;
  };
  auto state = std::make_shared<many>();
  state->promise = self_->make_response_promise<wait_many_result>();
  state->result.results.resize(handles.size());
  state->missing = handles.size();
  what.each.group = next_group_++;
  // One is enough: the others answer with where they are now.
  const auto end_others = [this, state, handles, group = what.each.group] {
    if (std::exchange(state->over, true)) return;
    for (const auto& handle : handles) compat::send(self_, handle, yield_atom_v, group);
  };
  const auto settle = [state] {
    if (--state->missing > 0) return;
    if (state->failure) return state->promise.deliver(std::move(state->failure));
    state->promise.deliver(std::move(state->result));
  };
  for (std::size_t i = 0; i < handles.size(); ++i) {
    compat::request(self_, handles[i], wait_atom_v, who, what.each)
        .then(
            [state, settle, end_others, i, all = what.all](wait_result& one) {
              const bool there = one.status == wait_status::exited ||
                                 one.status == wait_status::matched ||
                                 one.status == wait_status::port_open;
              state->result.results[i] = std::move(one);
              if (there && !all) end_others();
              settle();
            },
            [state, settle, end_others](caf::error& error) {
              state->failure = std::move(error);
              end_others();
              settle();
            });
  }
  return state->promise;
}

bool registry_state::is_interrupted(const caller& who) const {
  return interrupted_.contains({who.session, who.turn});
}

caf::result<std::uint32_t> registry_state::on_interrupt(const caller& who) {
  // A caller without turns cannot start a new one, so only named turns stay interrupted.
  if (!who.turn.empty()) {
    turn_key key{who.session, who.turn};
    if (interrupted_.insert(key).second) {
      interrupted_order_.push_back(std::move(key));
      if (interrupted_order_.size() > opts_->interrupted_turns) {
        interrupted_.erase(interrupted_order_.front());
        interrupted_order_.pop_front();
      }
    }
  }
  return gather<std::uint32_t, std::uint32_t>(
      [&](const table::value_type& row) {
        return !row.second.finished && row.second.session == who.session;
      },
      [&](const process_actor& process) {
        return compat::request(self_, process, interrupt_atom_v, who);
      },
      [](std::uint32_t& sum, std::uint32_t one) { sum += one; }, [](std::uint32_t&) {});
}

caf::result<std::uint32_t> registry_state::on_yield(const caller& who) {
  return gather<std::uint32_t, std::uint32_t>(
      [&](const table::value_type& row) {
        return !row.second.finished && row.second.session == who.session;
      },
      [&](const process_actor& process) {
        return compat::request(self_, process, yield_atom_v, who);
      },
      [](std::uint32_t& sum, std::uint32_t one) { sum += one; }, [](std::uint32_t&) {});
}

caf::result<kill_all_result> registry_state::kill_selected(
    const std::function<bool(const table::value_type&)>& select, kill_options what) {
  return gather<kill_all_result, kill_result>(
      select,
      [&](const process_actor& process) {
        return compat::request(self_, process, kill_atom_v, caller{}, what);
      },
      [](kill_all_result& all, kill_result& one) {
        if (one.status == kill_status::survivors) {
          all.failed.push_back(one.process.id);
          all.survivors.insert(all.survivors.end(), one.survivors.begin(), one.survivors.end());
        } else {
          ++all.killed;
        }
      },
      [](kill_all_result&) {});
}

caf::result<kill_all_result> registry_state::on_kill_all(const caller& who,
                                                         const kill_all_options& what) {
  kill_options kill;
  kill.grace = what.grace;
  kill.source = what.source;
  return kill_selected(
      [&](const table::value_type& row) {
        if (row.second.finished || row.second.session != who.session) return false;
        if (what.sweep && row.second.persist_on_release) return false;
        return std::find(what.except.begin(), what.except.end(), row.first) == what.except.end();
      },
      std::move(kill));
}

caf::result<kill_all_result> registry_state::on_shutdown(caf::timespan grace) {
  shutting_down_ = true;
  kill_options kill;
  kill.grace = grace;
  kill.source = "shutdown";
  // Finished ones too: what they left running goes with them.
  return kill_selected(
      [this](const table::value_type& row) {
        return row.second.finished || !row.second.keep || row.second.foreground ||
               !services_->has_keeper;
      },
      std::move(kill));
}

caf::result<bool> registry_state::on_active(const caller& who, caf::timespan max_age) const {
  const auto now = backends::io_loop::clock::now();
  return std::any_of(processes_.begin(), processes_.end(), [&](const table::value_type& row) {
    return !row.second.finished && row.second.session == who.session &&
           (max_age <= caf::timespan::zero() || now - row.second.started <= max_age);
  });
}

node_status registry_state::on_status() const {
  node_status status;
  status.version = version;
  status.running = running_;
  status.finished_kept = processes_.size() - running_;
  std::set<std::string_view> sessions;
  for (const auto& [id, row] : processes_) sessions.insert(row.session);
  status.sessions = sessions.size();
  status.started_total = started_total_;
  status.output_bytes_total = output_bytes_total_;
  status.shutting_down = shutting_down_;
  return status;
}

}  // namespace troupe

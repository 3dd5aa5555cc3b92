// From the environment's order to a child that runs, and from its end back to the environment.
#include <cstring>
#include <utility>

#include "troupe/actors/process.hpp"
#include "troupe/text/redact.hpp"

namespace troupe {

void process_state::on_launch(launch_order order) {
  launched_ = true;
  environment_ = std::move(order.environment);
  start_cwd_ = cwd_ = std::move(order.start_cwd);
  report_path_ = std::move(order.report_path);
  own_workdir_ = order.own_workdir;
  if (!order.stdin_lead.empty()) {
    if (!request_.stdin_pipe && request_.stdin_data.empty()) request_.stdin_close = true;
    request_.stdin_data.insert(0, order.stdin_lead);
  }
  if (exit_) {
    // Ended before it was launched (deadline, kill, interrupt): nothing runs.
    if (order.spec.prepared != 0) services_->backend->discard(order.spec.prepared);
    leave_environment();
    leave_if_done();
    return;
  }
  if (order.failure) {
    fail_start(std::move(*order.failure));
    return;
  }
  order.spec.on_owner_death =
      outlives_node() ? backends::owner_death::keep : backends::owner_death::end;
  services_->backend->start(
      child_, std::move(order.spec),
      make_actor_sink(loop_listener_actor{caf::actor_cast<process_actor>(self_)}));
}

void process_state::on(const backends::start_info& info) {
  pid_ = info.pid;
  start_ticks_ = info.start_ticks;
  if (!exit_) status_ = process_status::running;
  output_.attach(info.output);
  if (takeover_) {
    begin_heartbeat();
    return caught_up();
  }
  compat::send(self_, services_->registry, started_atom_v, request_.id, pid_);
  services_->numbers->started(caf::make_timestamp() - started_at_);
  begin_heartbeat();
  keep_record([this] {
    for (auto& promise : std::exchange(waiters_.starts, {})) {
      promise.deliver(start_result{request_.id, pid_, std::nullopt});
    }
  });
  if (cause_) return;  // a kill came before the start was known; the ladder is on its way
  if (!request_.stdin_data.empty() || request_.stdin_close) {
    services_->backend->write(child_, 0, std::exchange(request_.stdin_data, {}),
                              request_.stdin_close);
  }
}

void process_state::on(const backends::start_error& error) {
  start_failure failure;
  failure.stage = static_cast<start_stage>(error.where);
  failure.error_number = error.error_number;
  if (const char* text = error.error_number != 0 ? strerrorname_np(error.error_number) : nullptr) {
    failure.error_name = text;
  }
  failure.text = error.text;
  fail_start(std::move(failure));
}

void process_state::fail_start(start_failure failure) {
  exit_info end;
  end.reason = finish_reason::failed_to_start;
  end.failure = std::move(failure);
  exit_ = std::move(end);
  leave_environment();
  report_end();
}

void process_state::end_unstarted() {
  exit_info end;
  end.reason = cause_->reason;
  end.source = cause_->source;
  exit_ = std::move(end);
  report_end();
}

void process_state::on(const loop_event::reported& event) {
  told_report_ = event.report;
}

void process_state::take_report() {
  auto bytes = std::exchange(told_report_, std::nullopt);
  // Of a command that became a background process nobody waits for what it leaves.
  if (request_.foreground) {
    if (!report_path_.empty()) {
      bytes = services_->run_dir->take(report_path_);
      report_path_.clear();
    }
    if (bytes) report_ = parse_report(*bytes);
    // One that was ended may have been ended while it reported.
    if (bytes && !report_ && !cause_ && exit_ && !exit_->signal) report_lost();
  }
  leave_environment();
}

void process_state::report_lost() {
  event x;
  x.kind = event_kind::environment;
  x.at = caf::make_timestamp();
  x.owner = owner_;
  x.process = request_.id;
  x.command = text::redact(request_.command);
  x.note = "What the command left could not be read: environment " + request_.environment +
           " is as it was before it";
  compat::send(self_, services_->events, publish_atom_v, std::move(x), false);
}

void process_state::leave_environment() {
  // Sent before the end is told to anybody, so the next command of the caller finds what this one
  // left.
  if (environment_) {
    compat::send(self_, environment_, command_left{report_, request_.env, own_workdir_});
    environment_ = nullptr;
  }
}

}  // namespace troupe

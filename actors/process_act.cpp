// What can be done to a process: kill, signal, stdin, size, ownership.
#include <utility>

#include "troupe/actors/process.hpp"

namespace troupe {

caf::result<kill_result> process_state::on_kill(const caller& who, const kill_options& what) {
  if (what.signal < 0 || what.signal > 64) {
    return make_error(errc::bad_argument,
                      "signal: there is no signal " + std::to_string(what.signal));
  }
  // Nothing of it can live any more, or nobody could tell.
  if (exit_ && (exit_->failure || !has_child_))
    return make_kill_result(kill_status::already_exited, {});
  if (waiters_.count() >= defaults::waiters_per_process) {
    return make_error(errc::limit_reached, "too many requests wait on this process");
  }
  // Also after the end: descendants may still live. Then nothing about the end changes.
  auto promise = self_->make_response_promise<kill_result>();
  waiters_.kills.push_back({promise, !exit_, who});
  begin_kill(what.reason, what.source, what);
  return promise;
}

void process_state::begin_kill(finish_reason reason, std::string source, const kill_options& what) {
  if (takeover_) {
    takeover_->later.push_back([this, reason, source, what] { begin_kill(reason, source, what); });
    return;
  }
  if (!has_child_) return;  // it has ended; whoever waits is answered when that is told
  if (!exit_ && !cause_) {
    cause_ = cause{reason, std::move(source)};
    output_.note(ring_note::cause, 1 + static_cast<std::uint64_t>(reason));
  }
  if (std::exchange(request_.hold_output, false)) make_room();  // nobody may read on any more
  if (!launched_) {
    if (!exit_) end_unstarted();
    return;
  }
  if (!std::exchange(kill_under_way_, true)) kill_began_ = std::chrono::steady_clock::now();
  backends::kill_plan plan;
  if (what.signal != 0) plan.first_signal = what.signal;
  plan.grace = what.grace ? std::chrono::duration_cast<std::chrono::milliseconds>(*what.grace)
                          : services_->opts->grace;
  plan.settle = services_->opts->settle;
  services_->backend->kill(child_, plan);
}

kill_result process_state::make_kill_result(kill_status how,
                                            std::vector<std::int32_t> survivors) const {
  kill_result result;
  result.status = how;
  result.process = summary(0);
  auto tail = output_.tail(services_->opts->tail_chars, finished());
  result.output = std::move(tail.text);
  result.output_cut = tail.cut_chars;
  result.survivors = std::move(survivors);
  return result;
}

void process_state::answer_kills(const std::vector<int>& survivors) {
  if (waiters_.kills.empty()) return;
  shown_to_ = output_.end();
  for (auto& entry : std::exchange(waiters_.kills, {})) {
    const auto how = !survivors.empty()  ? kill_status::survivors
                     : entry.was_running ? kill_status::killed
                                         : kill_status::already_exited;
    if (finished()) consumed_by(entry.who);
    entry.promise.deliver(make_kill_result(how, {survivors.begin(), survivors.end()}));
  }
}

caf::result<process_summary> process_state::on_signal(std::int32_t signal_number) {
  if (signal_number < 1 || signal_number > 64) {
    return make_error(errc::bad_argument,
                      "signal: there is no signal " + std::to_string(signal_number));
  }
  if (exit_) return gone();
  if (takeover_) return ask_again<process_summary>(signal_atom_v, caller{}, signal_number);
  if (waiters_.count() >= defaults::waiters_per_process) {
    return make_error(errc::limit_reached, "too many requests wait on this process");
  }
  const auto token = next_token_++;
  auto promise = self_->make_response_promise<process_summary>();
  waiters_.signals.emplace(token, promise);
  services_->backend->signal(child_, token, signal_number);
  return promise;
}

caf::result<write_result> process_state::on_write(write_request what) {
  if (exit_) return gone();
  if (takeover_) return ask_again<write_result>(write_atom_v, caller{}, std::move(what));
  if (!request_.pty && !request_.stdin_pipe) {
    return make_error(
        errc::bad_state,
        "stdin of " + request_.id + " is not available: start it with a PTY or with a stdin pipe");
  }
  if (waiters_.count() >= defaults::waiters_per_process) {
    return make_error(errc::would_block, "too many writes wait on this process");
  }
  const auto token = next_token_++;
  auto promise = self_->make_response_promise<write_result>();
  waiters_.writes.emplace(token, promise);
  services_->backend->write(child_, token, std::move(what.data), what.eof);
  return promise;
}

caf::result<void> process_state::on_resize(std::uint16_t rows, std::uint16_t cols) {
  if (exit_) return gone();
  if (!request_.pty) {
    return make_error(errc::bad_state, request_.id + " has no terminal to resize");
  }
  if (rows == 0 || cols == 0) {
    return make_error(errc::bad_argument, "rows, cols: must be at least 1");
  }
  request_.rows = rows;
  request_.cols = cols;
  services_->backend->resize(child_, rows, cols);
  return caf::unit;
}

caf::result<process_summary> process_state::on_handoff(std::string session, std::string note) {
  if (exit_) return gone();
  owner_ = caller{};
  owner_.session = std::move(session);
  handoff_note_ = std::move(note);
  request_.notify = true;
  hand_over_reports();
  if (recorded_) keep_record({});
  return summary(services_->opts->list_preview_chars);
}

}  // namespace troupe

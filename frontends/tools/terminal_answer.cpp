#include <boost/json/array.hpp>

#include "troupe/frontends/tools/answer.hpp"
#include "troupe/messages/errors.hpp"
#include "troupe/text/exit_meaning.hpp"
#include "troupe/text/sudo.hpp"
#include "troupe/text/truncate.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe::tools {

namespace json = boost::json;

namespace {

json::array numbers(const std::vector<std::int32_t>& values) {
  json::array out;
  for (auto x : values) out.emplace_back(x);
  return out;
}

json::value code_or_null(const std::optional<std::int32_t>& code) {
  return code ? json::value(*code) : json::value(nullptr);
}

/// Adds what is only there if it applies to the end of a foreground command.
void add_details(json::object& out, const run_result& x) {
  if (x.cwd) out["cwd"] = text::to_valid_utf8(*x.cwd);
  if (!x.cwd_note.empty()) out["cwd_note"] = x.cwd_note;
  if (x.truncated) {
    out["output_total_bytes"] = x.output_total_bytes;
    auto note = text::with_thousands(x.output_omitted_chars) +
                " characters in the middle of the output are not shown";
    if (!x.full_output_path.empty()) {
      out["full_output_path"] = x.full_output_path;
      note += "; all of it is in " + x.full_output_path;
    }
    out["truncation_note"] = note;
  }
  if (!x.pipestatus.empty()) out["pipestatus"] = numbers(x.pipestatus);
  if (x.environment_recreated) out["environment_recreated"] = true;
  const auto& exit = x.process.exit;
  if (!exit) return;
  if (exit->signal != 0) {
    out["signal"] = exit->signal;
    out["signal_name"] = text::signal_name(exit->signal);
  }
  if (exit->core_dumped) out["core_dumped"] = true;
  if (!exit->descendants.empty()) out["descendants"] = numbers(exit->descendants);
  if (exit->reason != finish_reason::exited) out["completion_reason"] = to_string(exit->reason);
}

}  // namespace

terminal_answers::terminal_answers(const options& opts) : options_{opts}, redactor_{opts.redact} {}

tool_answer terminal_answers::run(const spawn_request& request, const run_result& x) const {
  const auto& exit = x.process.exit;
  if (x.status == run_status::failed_to_start) {
    return start_failed(exit && exit->failure ? *exit->failure : start_failure{}, true);
  }
  json::object out;
  out["output"] = x.output;
  std::optional<std::int32_t> code;
  if (exit) code = exit->shell_code();
  out["exit_code"] = code_or_null(code);
  out["error"] = nullptr;
  switch (x.status) {
    case run_status::timed_out:
      out["exit_code"] = 124;
      out["timed_out"] = true;
      break;
    case run_status::interrupted:
      out["exit_code"] = 130;
      out["interrupted"] = true;
      break;
    case run_status::yielded:
      out["exit_code"] = nullptr;
      out["status"] = "yielded_to_background";
      out["session_id"] = x.process.id;
      out["pid"] = x.process.pid;
      out["note"] =
          "the command goes on in the background; use the process tool with this "
          "session_id. It was not killed: do not run it again.";
      break;
    case run_status::finished:
      if (exit && exit->reason == finish_reason::lost) {
        out["error"] = "the process is gone and nobody can know how it ended";
      } else if (code) {
        auto meaning = text::exit_code_meaning(request.command, *code);
        if (meaning) out["exit_code_meaning"] = *meaning;
        auto hint = text::recovery_hint(request.command, *code, x.output);
        if (hint) out["hint"] = *hint;
      }
      break;
    case run_status::failed_to_start:
      break;
  }
  if (text::sudo_auth_failed(request.command, x.output)) out["sudo_auth_failed"] = true;
  add_details(out, x);
  return {std::move(out), false};
}

tool_answer terminal_answers::start_failed(const start_failure& failure, bool foreground) const {
  json::object out;
  auto text = failure.text.empty() ? "the command could not be started" : failure.text;
  bool bad_workdir = foreground && failure.stage == start_stage::chdir;
  out["output"] = "";
  out["exit_code"] = bad_workdir ? 126 : -1;
  out["error"] = text::to_valid_utf8(text::redact(text));
  out["status"] = "error";
  if (failure.stage != start_stage::none) out["stage"] = to_string(failure.stage);
  if (!failure.error_name.empty()) out["errno"] = failure.error_name;
  return {std::move(out), true};
}

tool_answer terminal_answers::started(const spawn_request& request, const start_result& x) const {
  if (x.failure) return start_failed(*x.failure, false);
  json::object out;
  out["output"] = "Background process started";
  out["session_id"] = x.id;
  out["pid"] = x.pid;
  out["exit_code"] = 0;
  out["error"] = nullptr;
  if (request.notify) out["notify_on_complete"] = true;
  if (!request.watch_patterns.empty()) {
    json::array patterns;
    for (const auto& pattern : request.watch_patterns) {
      patterns.emplace_back(text::to_valid_utf8(redactor_.redact(pattern)));
    }
    out["watch_patterns"] = std::move(patterns);
  }
  if (request.heartbeat_seconds > 0) out["heartbeat_seconds"] = request.heartbeat_seconds;
  if (request.persist_on_release) out["persist_on_release"] = true;
  if (request.pty) out["pty"] = true;
  if (request.timeout) {
    out["timeout"] = std::chrono::duration<double>(*request.timeout).count();
  }
  return {std::move(out), false};
}

tool_answer terminal_answers::refused(std::string text) const {
  return {{{"output", ""},
           {"exit_code", -1},
           {"error", text::to_valid_utf8(text::redact(text))},
           {"status", "error"}},
          true};
}

tool_answer terminal_answers::failed(const caf::error& error) const {
  auto code = error_code_of(error);
  if (code == errc::interrupted) {
    return {{{"output", ""}, {"exit_code", 130}, {"error", nullptr}, {"interrupted", true}}, false};
  }
  auto answer = refused(error_text(error));
  if (code == errc::unreachable) {
    answer.structured["status"] = "degraded";
    answer.structured["hint"] = "nothing was run; try again later";
  }
  return answer;
}

}  // namespace troupe::tools

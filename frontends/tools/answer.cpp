#include "troupe/frontends/tools/answer.hpp"

#include <cmath>
#include <ctime>

#include <boost/json/array.hpp>

#include "troupe/frontends/tools/json_text.hpp"
#include "troupe/messages/errors.hpp"
#include "troupe/text/base64.hpp"
#include "troupe/text/exit_meaning.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe::tools {

namespace json = boost::json;

namespace {

double seconds(caf::timespan span) {
  using namespace std::chrono;
  return static_cast<double>(duration_cast<milliseconds>(span).count()) / 1000.0;
}

json::array numbers(const std::vector<std::int32_t>& values) {
  json::array out;
  for (auto x : values) out.emplace_back(x);
  return out;
}

json::object usage_object(const resource_usage& x) {
  return {{"user_seconds", static_cast<double>(x.user_us) / 1e6},
          {"system_seconds", static_cast<double>(x.system_us) / 1e6},
          {"max_rss_kib", x.max_rss_kib},
          {"minor_faults", x.minor_faults},
          {"major_faults", x.major_faults},
          {"voluntary_switches", x.voluntary_switches},
          {"involuntary_switches", x.involuntary_switches}};
}

std::string_view status_text(process_status status) {
  return status == process_status::finished ? "exited" : "running";
}

/// Output of a view: bytes as base64, text as it is.
void add_output(json::object& out, const std::string& output, output_view view) {
  if (view == output_view::raw) {
    out["output"] = text::base64(output);
    out["encoding"] = "base64";
  } else {
    out["output"] = text::to_valid_utf8(output);
  }
}

}  // namespace

std::string iso8601(caf::timestamp time) {
  using namespace std::chrono;
  auto ms = duration_cast<milliseconds>(time.time_since_epoch()).count();
  auto whole = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[32];
  auto size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  auto fraction = std::to_string(1000 + ms % 1000);
  return std::string{text, size} + "." + fraction.substr(1) + "Z";
}

tool_answer error_answer(std::string text, std::string_view status) {
  return {{{"status", status}, {"error", text::to_valid_utf8(text::redact(text))}}, true};
}

tool_answer error_answer(const caf::error& error) {
  auto text = error_text(error);
  switch (error_code_of(error)) {
    case errc::not_found:
      return error_answer(text, "not_found");
    case errc::already_exited:
      return error_answer(text, "already_exited");
    case errc::would_block:
      return error_answer(text, "would_block");
    case errc::interrupted:
      return error_answer(text, "interrupted");
    case errc::unreachable:
      return error_answer(text, "degraded");
    default:
      return error_answer(text);
  }
}

void add_exit(json::object& out, const exit_info& exit) {
  auto code = exit.shell_code();
  out["exit_code"] = code ? json::value(*code) : json::value(nullptr);
  if (exit.signal != 0) {
    out["signal"] = exit.signal;
    out["signal_name"] = text::signal_name(exit.signal);
  }
  if (exit.core_dumped) out["core_dumped"] = true;
  out["completion_reason"] = to_string(exit.reason);
  if (!exit.source.empty()) out["termination_source"] = exit.source;
  if (!exit.descendants.empty()) out["descendants"] = numbers(exit.descendants);
}

process_answers::process_answers(const options& opts) : options_{opts}, redactor_{opts.redact} {}

std::string process_answers::command(const process_summary& x) const {
  return text::to_valid_utf8(redactor_.redact(x.command));
}

json::object process_answers::head(const process_summary& x) const {
  json::object out;
  out["session_id"] = x.id;
  out["command"] = command(x);
  out["status"] = status_text(x.status);
  return out;
}

json::object process_answers::row(const process_summary& x) const {
  json::object out;
  out["session_id"] = x.id;
  auto shown = command(x);
  auto start = text::first_chars(shown, options_.list_preview_chars);
  out["command"] = start;
  out["cwd"] = text::to_valid_utf8(x.cwd);
  out["pid"] = x.pid;
  out["environment"] = x.environment;
  out["started_at"] = iso8601(x.started_at);
  out["uptime_seconds"] = seconds(x.uptime);
  out["status"] = status_text(x.status);
  out["output_preview"] = text::last_chars(x.output_preview, options_.list_preview_chars);
  if (x.exit) add_exit(out, *x.exit);
  if (x.exited_at) out["exited_at"] = iso8601(*x.exited_at);
  if (x.notify) out["notify_on_complete"] = true;
  if (!x.watch_patterns.empty()) {
    json::array patterns;
    for (const auto& pattern : x.watch_patterns) {
      patterns.emplace_back(text::to_valid_utf8(redactor_.redact(pattern)));
    }
    out["watch_patterns"] = std::move(patterns);
    out["watch_hits"] = x.watch_hits;
  }
  if (x.heartbeat_seconds > 0) out["heartbeat_seconds"] = x.heartbeat_seconds;
  if (x.persist_on_release) out["persist_on_release"] = true;
  if (x.foreground) out["foreground"] = true;
  if (x.pty) out["pty"] = true;
  if (x.detached) out["detached"] = true;
  if (x.retained) out["retained"] = true;
  if (!x.handoff_note.empty()) out["handoff_note"] = redactor_.redact(x.handoff_note);
  return out;
}

tool_answer process_answers::list(const std::vector<process_summary>& rows) const {
  json::array out;
  for (const auto& x : rows) out.emplace_back(row(x));
  return {{{"processes", std::move(out)}}, false};
}

tool_answer process_answers::poll(const poll_result& x, output_view view) const {
  auto out = head(x.process);
  out["pid"] = x.process.pid;
  out["uptime_seconds"] = seconds(x.process.uptime);
  out["output_preview"] = text::last_chars(x.process.output_preview, options_.preview_chars);
  out["cursor"] = x.cursor;
  out["total_bytes"] = x.total_bytes;
  out["dropped_bytes"] = x.dropped_bytes;
  if (x.output) add_output(out, *x.output, view);
  if (x.gap > 0) out["gap"] = x.gap;
  if (x.process.exit) {
    add_exit(out, *x.process.exit);
    if (x.process.exit->usage) out["rusage"] = usage_object(*x.process.exit->usage);
  }
  if (x.process.exited_at) out["exited_at"] = iso8601(*x.process.exited_at);
  if (x.tree) {
    json::array tree;
    for (const auto& entry : *x.tree) {
      tree.push_back(json::object{{"pid", entry.pid},
                                  {"parent", entry.parent},
                                  {"command", text::to_valid_utf8(redactor_.redact(entry.command))},
                                  {"state", entry.state}});
    }
    out["tree"] = std::move(tree);
  }
  if (x.awaiting_input) out["awaiting_input"] = true;
  if (x.process.detached) out["detached"] = true;
  return {std::move(out), false};
}

tool_answer process_answers::log(const log_result& x, output_view view) const {
  auto out = head(x.process);
  add_output(out, x.output, view);
  out["total_lines"] = x.total_lines;
  out["first_line"] = x.first_line;
  auto showing = std::to_string(x.shown_lines) + (x.shown_lines == 1 ? " line" : " lines");
  if (x.matches.empty() && x.shown_lines > 0) {
    showing += " (" + std::to_string(x.first_line + 1) + "-" +
               std::to_string(x.first_line + x.shown_lines) + " of " +
               std::to_string(x.total_lines) + ")";
  }
  out["showing"] = showing;
  if (!x.matches.empty()) {
    json::array matches;
    for (const auto& match : x.matches) {
      matches.push_back(json::object{{"line", match.line}, {"text", match.text}});
    }
    out["matches"] = std::move(matches);
  }
  if (x.cut) out["cut"] = true;
  if (x.dropped_bytes > 0) out["dropped_bytes"] = x.dropped_bytes;
  if (x.process.exit) add_exit(out, *x.process.exit);
  return {std::move(out), false};
}

tool_answer process_answers::wait(const wait_result& x, double asked, double limit,
                                  std::uint16_t port) const {
  auto out = head(x.process);
  out["status"] = to_string(x.status);
  out["output"] = x.output;
  if (x.output_cut > 0) out["output_cut"] = x.output_cut;
  if (x.process.exit) add_exit(out, *x.process.exit);
  bool running = x.process.status != process_status::finished;
  if (x.status != wait_status::exited) out["process_running"] = running;
  if (asked > limit) {
    out["timeout_note"] = "a timeout of " + to_text(asked) + " s was asked for; the limit is " +
                          to_text(limit) + " s and was used instead";
  }
  switch (x.status) {
    case wait_status::exited:
      break;
    case wait_status::timeout:
      out["note"] = "not an error: the process is still running after " + to_text(limit) +
                    " s (up " + to_text(std::floor(seconds(x.process.uptime))) +
                    " s in all). Do other work and poll or wait again later.";
      break;
    case wait_status::matched:
      out["match"] = x.match;
      break;
    case wait_status::port_open:
      out["port"] = port;
      break;
    case wait_status::interrupted:
      out["note"] = "the wait was interrupted; the process was not touched";
      break;
    case wait_status::yielded:
      out["note"] =
          "the wait was ended so that you can answer the user; the process was not touched";
      break;
  }
  return {std::move(out), false};
}

tool_answer process_answers::wait_many(const wait_many_result& x, bool all, double asked,
                                       double limit, std::uint16_t port) const {
  json::array results;
  std::size_t met = 0;
  wait_status other = wait_status::timeout;
  for (const auto& one : x.results) {
    results.emplace_back(wait(one, 0, limit, port).structured);
    const bool there = one.status == wait_status::exited || one.status == wait_status::matched ||
                       one.status == wait_status::port_open;
    if (there) {
      ++met;
    } else {
      other = one.status == wait_status::timeout ? other : one.status;
    }
  }
  const bool over = all ? met == x.results.size() : met > 0;
  json::object out;
  out["status"] = over ? "ready" : to_string(other);
  out["ready"] = met;
  out["results"] = std::move(results);
  if (asked > limit) {
    out["timeout_note"] = "a timeout of " + to_text(asked) + " s was asked for; the limit is " +
                          to_text(limit) + " s and was used instead";
  }
  return {std::move(out), false};
}

tool_answer process_answers::kill(const kill_result& x) const {
  auto out = head(x.process);
  if (x.process.exit) add_exit(out, *x.process.exit);
  out["output"] = x.output;
  if (x.output_cut > 0) out["output_cut"] = x.output_cut;
  switch (x.status) {
    case kill_status::killed:
      out["status"] = "killed";
      return {std::move(out), false};
    case kill_status::already_exited:
      out["status"] = "already_exited";
      return {std::move(out), false};
    case kill_status::survivors:
      break;
  }
  out["status"] = "error";
  out["error"] = "not everything could be killed; the survivors are still running";
  out["survivors"] = numbers(x.survivors);
  out["process_running"] = x.process.status != process_status::finished;
  return {std::move(out), true};
}

tool_answer process_answers::write(const std::string& id, const write_result& x,
                                   bool closed) const {
  return {{{"status", "ok"},
           {"session_id", id},
           {"bytes_written", x.bytes_written},
           {"bytes_queued", x.bytes_queued},
           {"note", closed ? "end of input is queued behind the data" : "queued"}},
          false};
}

tool_answer process_answers::done(const process_summary& x, std::string_view status) const {
  auto out = row(x);
  out["status"] = status;
  out["process_running"] = x.status != process_status::finished;
  return {std::move(out), false};
}

}  // namespace troupe::tools

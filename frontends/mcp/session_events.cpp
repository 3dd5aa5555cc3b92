// What a client is told without asking, and the resources it can read and watch. A client that asked
// for log messages or subscribed to resources is told that way; any other finds what it was not told in
// the answer of its next tool call, each thing once.
#include <algorithm>

#include <boost/json/array.hpp>

#include "troupe/frontends/mcp/session.hpp"
#include "troupe/frontends/mcp/tool_arguments.hpp"
#include "troupe/frontends/tools/event_text.hpp"
#include "troupe/frontends/tools/json_text.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe::mcp {

namespace json = boost::json;
using tools::json_value;

namespace {

constexpr std::size_t most_recent = 100;
constexpr std::size_t most_notices = 20;
constexpr std::size_t notice_chars = 200;

log_level level_of(const event& x) {
  switch (x.kind) {
    case event_kind::completion:
      return x.exit && x.exit->code == 0 ? log_level::notice : log_level::warning;
    case event_kind::watch_match:
      return log_level::notice;
    case event_kind::heartbeat:
      return log_level::info;
    default:
      return log_level::warning;
  }
}

/// The answer of `process` to `log`, for people.
std::string process_text(const json::object& answer) {
  std::string out;
  const auto text = [&](const char* name) -> std::string {
    const auto* member = answer.if_contains(name);
    if (!member) return {};
    return member->is_string() ? std::string{member->get_string()} : tools::to_text(*member);
  };
  out += "Background process " + text("session_id") + ": ";
  if (answer.contains("exit_code")) {
    out += "ended (" + text("completion_reason") + ", exit code " + text("exit_code");
    if (answer.contains("signal_name")) out += ", " + text("signal_name");
    out += ")";
  } else {
    out += "running";
  }
  return out + "\nCommand: " + text("command") + "\nOutput (" + text("showing") + "):\n" +
         text("output");
}

}  // namespace

// -- events ---------------------------------------------------------------------------------------

void session::happened(const std::vector<event>& list) {
  holds_list_ = true;
  for (const auto& x : list) {
    recent_events_.push_back(tools::event_text(x));
    if (recent_events_.size() > most_recent) recent_events_.pop_front();
    if (!tell(x)) untold_.push_back(x);
  }
  settle_events();
}

/// True if the client was told in a way that it asked for.
bool session::tell(const event& x) {
  if (!initialized_) return false;
  bool told = false;
  if (level_chosen_ && level_of(x) >= level_) {
    owner_.send(log_frame(level_of(x), tools::event_text(x)));
    told = true;
  }
  for (const auto& uri : {std::string{events_uri}, std::string{process_uri_head} + x.process}) {
    if (!subscribed_.contains(uri)) continue;
    owner_.send(notification_frame("notifications/resources/updated", {{"uri", uri}}));
    told = true;
  }
  return told;
}

tools::tool_answer session::with_notices(const tools::tool_answer& answer) {
  if (untold_.empty()) return answer;
  // An answer that shows the end of a process is how its owner learns of it.
  const auto* id = answer.structured.if_contains("session_id");
  if (id && id->is_string() && answer.structured.contains("completion_reason")) {
    std::erase_if(untold_, [&](const event& x) {
      return x.kind == event_kind::completion && x.process == id->get_string().c_str();
    });
  }
  json::array notices;
  while (!untold_.empty() && notices.size() < most_notices) {
    auto notice = tools::event_object(untold_.front());
    untold_.pop_front();
    if (auto* output = notice.if_contains("output")) {
      *output = text::last_chars(std::string{output->as_string()}, notice_chars);
    }
    notices.emplace_back(std::move(notice));
  }
  if (notices.empty()) return answer;
  auto out = answer;
  out.structured["notices"] = std::move(notices);
  return out;
}

void session::settle_events() {
  if (!holds_list_ || !untold_.empty()) return;
  holds_list_ = false;
  owner_.told();
}

// -- resources ------------------------------------------------------------------------------------

void session::begin(const request& r, call entry, std::string tool, json_value arguments) {
  if (calls_.size() >= settings_.max_calls || ids_.count(r.id) != 0) {
    return refuse(r.id, rpc_error::busy, "too many calls are under way already", entry.group);
  }
  tool_call what;
  what.number = next_++;
  what.tool = std::move(tool);
  what.arguments = std::move(arguments);
  ids_.emplace(r.id, what.number);
  calls_.emplace(what.number, std::move(entry));
  owner_.start(std::move(what));
}

void session::list_resources(const request& r, const batch_ptr& group) {
  if (r.params.find("cursor")) {
    return refuse(r.id, rpc_error::invalid_params, "Invalid params: unknown 'cursor'", group);
  }
  call entry{r.id, {}, 0, false, group, call::purpose::list_resources, {}};
  begin(r, std::move(entry), "process", object_of({{"action", text_value("list")}}));
}

void session::read_resource(const request& r, const batch_ptr& group) {
  const auto* uri = r.params.find("uri");
  if (!uri || !uri->is(json_value::type::string)) {
    return refuse(r.id, rpc_error::invalid_params, "Invalid params: 'uri' must be a string", group);
  }
  if (uri->text == events_uri) {
    std::string all;
    for (const auto& one : recent_events_) all += (all.empty() ? "" : "\n\n") + one;
    untold_.clear();
    reply(result_frame(r.id, resource_text_result(uri->text, all)), group);
    return settle_events();
  }
  if (!uri->text.starts_with(process_uri_head)) {
    return refuse(r.id, rpc_error::no_resource, "Resource not found: " + tools::excerpt(*uri),
                  group);
  }
  call entry{r.id, {}, 0, false, group, call::purpose::read_process, uri->text};
  begin(r, std::move(entry), "process",
        object_of({{"action", text_value("log")},
                   {"session_id", text_value(uri->text.substr(process_uri_head.size()))}}));
}

std::string session::answer_resource(const call& entry, const tools::tool_answer& answer) {
  if (answer.is_error) {
    const auto* text = answer.structured.if_contains("error");
    return error_frame(
        entry.id, rpc_error::no_resource,
        "Resource not found: " + (text ? std::string{text->as_string()} : std::string{"unknown"}));
  }
  if (entry.what == call::purpose::list_resources) {
    return result_frame(entry.id, resources_list_result(answer.structured, version_));
  }
  return result_frame(entry.id, resource_text_result(entry.uri, process_text(answer.structured)));
}

void session::subscribe(const request& r, bool on, const batch_ptr& group) {
  const auto* uri = r.params.find("uri");
  if (!uri || !uri->is(json_value::type::string)) {
    return refuse(r.id, rpc_error::invalid_params, "Invalid params: 'uri' must be a string", group);
  }
  if (uri->text != events_uri && !uri->text.starts_with(process_uri_head)) {
    return refuse(r.id, rpc_error::no_resource, "Resource not found: " + tools::excerpt(*uri),
                  group);
  }
  if (!on) {
    subscribed_.erase(uri->text);
  } else if (subscribed_.size() < settings_.max_calls) {
    subscribed_.insert(uri->text);
  } else {
    return refuse(r.id, rpc_error::busy, "too many resources are subscribed to", group);
  }
  reply(result_frame(r.id, {}), group);
}

}  // namespace troupe::mcp

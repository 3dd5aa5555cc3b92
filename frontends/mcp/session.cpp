#include "troupe/frontends/mcp/session.hpp"

#include <algorithm>
#include <vector>

#include "troupe/frontends/tools/schema.hpp"

namespace troupe::mcp {

using tools::json_value;

struct session::batch {
  std::vector<std::string> replies;
  /// Calls of the batch that are not answered yet, and the reading of the batch itself.
  std::size_t open = 1;
};

namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// A token as JSON; empty if it is none.
std::string progress_token(const json_value& params) {
  const auto* meta = params.find("_meta");
  const auto* token = meta ? meta->find("progressToken") : nullptr;
  return token ? id_text(*token) : std::string{};
}

}  // namespace

session::session(session_owner& owner, session_settings settings)
    : owner_{owner}, settings_{std::move(settings)} {}

void session::receive(std::string_view line) {
  if (is_blank(line)) return;
  auto parsed = parse_frame(line);
  if (!parsed.batch) return handle(parsed.messages.front(), nullptr);
  if (!initialized_ || !version_.batches()) {
    return refuse("null", rpc_error::invalid_request,
                  "Invalid Request: this version of the protocol has no batches", nullptr);
  }
  auto group = std::make_shared<batch>();
  for (auto& m : parsed.messages) handle(m, group);
  reply({}, group);
}

void session::oversized(std::size_t limit) {
  refuse("null", rpc_error::invalid_request,
         "Invalid Request: a frame has at most " + std::to_string(limit) + " bytes", nullptr);
}

void session::handle(message& m, const batch_ptr& group) {
  if (group) ++group->open;  // until it is replied to, or known to have no reply
  if (auto* r = std::get_if<request>(&m)) {
    on(*r, group);
  } else if (auto* f = std::get_if<fault>(&m)) {
    refuse(f->id, f->code, f->text, group);
  } else {
    if (auto* n = std::get_if<notification>(&m)) on(*n);
    reply({}, group);
  }
}

void session::on(request& r, const batch_ptr& group) {
  if (r.method == "ping") return reply(result_frame(r.id, {}), group);
  if (r.method == "initialize") return initialize(r, group);
  if (!initialized_) {
    return refuse(r.id, rpc_error::invalid_request,
                  "Invalid Request: the session is not initialized yet", group);
  }
  if (r.method == "tools/list") return list_tools(r, group);
  if (r.method == "tools/call") return call_tool(r, group);
  if (version_.tasks() && r.method.starts_with("tasks/")) return on_task(r, group);
  if (r.method == "resources/list") return list_resources(r, group);
  if (r.method == "resources/read") return read_resource(r, group);
  if (r.method == "resources/subscribe") return subscribe(r, true, group);
  if (r.method == "resources/unsubscribe") return subscribe(r, false, group);
  if (r.method == "resources/templates/list") {
    return reply(result_frame(r.id, resource_templates_result(version_)), group);
  }
  if (r.method == "logging/setLevel") return set_level(r, group);
  refuse(r.id, rpc_error::unknown_method,
         "Method not found: " +
             tools::excerpt(
                 {.kind = json_value::type::string, .text = r.method, .items = {}, .members = {}}),
         group);
}

void session::on(const notification& n) {
  if (n.method == "notifications/cancelled") cancel(n);
  // notifications/initialized changes nothing here; others are none of ours.
}

void session::initialize(const request& r, const batch_ptr& group) {
  if (group || initialized_) {
    return refuse(r.id, rpc_error::invalid_request,
                  group ? "Invalid Request: initialize must not be part of a batch"
                        : "Invalid Request: the session is initialized already",
                  group);
  }
  const auto* asked = r.params.find("protocolVersion");
  if (!asked || !asked->is(json_value::type::string)) {
    return refuse(r.id, rpc_error::invalid_params,
                  "Invalid params: 'protocolVersion' must be a string", group);
  }
  version_ = negotiate(asked->text);
  initialized_ = true;
  reply(result_frame(r.id, initialize_result(version_, settings_.server_version)), group);
}

void session::list_tools(const request& r, const batch_ptr& group) {
  if (r.params.find("cursor")) {
    return refuse(r.id, rpc_error::invalid_params, "Invalid params: unknown 'cursor'", group);
  }
  reply(result_frame(r.id, tools_list_result(version_)), group);
}

void session::call_tool(request& r, const batch_ptr& group) {
  auto bad = [&](std::string_view text) {
    refuse(r.id, rpc_error::invalid_params, "Invalid params: " + std::string{text}, group);
  };
  const auto* name = r.params.find("name");
  if (!name || !name->is(json_value::type::string)) return bad("'name' must be a string");
  if (!tools::find_tool(name->text)) return bad("unknown tool " + tools::excerpt(*name));
  const auto* arguments = r.params.find("arguments");
  if (arguments && !arguments->is(json_value::type::object)) {
    return bad("'arguments' must be an object");
  }
  if (const auto* wish = r.params.find("task"); wish && version_.tasks()) {
    return call_as_task(r, *wish, group);
  }
  if (ids_.count(r.id) != 0) {
    return refuse(r.id, rpc_error::invalid_request,
                  "Invalid Request: a call with this id is under way", group);
  }
  if (calls_.size() >= settings_.max_calls) {
    return refuse(r.id, rpc_error::busy,
                  "there are " + std::to_string(calls_.size()) + " calls under way already", group);
  }
  tool_call what;
  what.number = next_++;
  what.tool = name->text;
  what.arguments.kind = json_value::type::object;
  if (arguments) what.arguments = *arguments;
  call entry{r.id, progress_token(r.params), 0, false, group, call::purpose::tool, {}};
  what.wants_progress = !entry.progress_token.empty();
  ids_.emplace(r.id, what.number);
  calls_.emplace(what.number, std::move(entry));
  log(log_level::debug, "tools/call " + what.tool);
  owner_.start(std::move(what));
}

void session::set_level(const request& r, const batch_ptr& group) {
  const auto* level = r.params.find("level");
  if (!level || !level->is(json_value::type::string) || !parse_log_level(level->text, level_)) {
    return refuse(r.id, rpc_error::invalid_params,
                  "Invalid params: 'level' must be one of debug, info, notice, warning, error, "
                  "critical, alert, emergency",
                  group);
  }
  level_chosen_ = true;
  reply(result_frame(r.id, {}), group);
}

void session::cancel(const notification& n) {
  const auto* id = n.params.find("requestId");
  auto known = id ? ids_.find(id_text(*id)) : ids_.end();
  if (known == ids_.end()) return;  // unknown or answered already: both are legal
  auto number = known->second;
  ids_.erase(known);
  calls_.at(number).cancelled = true;
  log(log_level::info, "a call was cancelled; its command is interrupted");
  owner_.interrupt(number);
}

void session::answered(call_number number, const tools::tool_answer& answer) {
  auto i = calls_.find(number);
  if (i == calls_.end()) return;
  auto entry = std::move(i->second);
  calls_.erase(i);
  if (entry.what == call::purpose::nothing) return;
  if (entry.what == call::purpose::task) return task_answered(entry.uri, answer);
  if (entry.cancelled) return reply({}, entry.group);
  ids_.erase(entry.id);
  if (entry.what != call::purpose::tool) {
    return reply(answer_resource(entry, answer), entry.group);
  }
  reply(result_frame(entry.id, tool_call_result(with_notices(answer), version_)), entry.group);
  settle_events();
}

void session::progressed(call_number number, std::uint64_t progress, std::string_view text) {
  auto i = calls_.find(number);
  if (i == calls_.end() || i->second.cancelled || i->second.progress_token.empty()) return;
  auto& entry = i->second;
  entry.progress = std::max(progress, entry.progress + 1);
  owner_.send(progress_frame(entry.progress_token, entry.progress, text, version_));
}

void session::log(log_level level, std::string_view text) {
  if (initialized_ && level >= level_) owner_.send(log_frame(level, text));
}

void session::reply(std::string frame, const batch_ptr& group) {
  if (!group) {
    if (!frame.empty()) owner_.send(std::move(frame));
    return;
  }
  if (!frame.empty()) group->replies.push_back(std::move(frame));
  if (--group->open > 0 || group->replies.empty()) return;
  std::string all = "[";
  for (const auto& one : group->replies) {
    if (all.size() > 1) all += ',';
    all += one;
  }
  owner_.send(all + "]");
}

void session::refuse(const std::string& id, rpc_error code, std::string_view text,
                     const batch_ptr& group) {
  reply(error_frame(id, code, text), group);
}

}  // namespace troupe::mcp

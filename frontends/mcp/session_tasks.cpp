// Tool calls as tasks (protocol 2025-11-25): the call is answered at once with a task, which the client
// polls, waits for or cancels. A background command as a task lasts as long as its process.
#include <algorithm>

#include <boost/json/array.hpp>

#include "troupe/frontends/mcp/session.hpp"
#include "troupe/frontends/mcp/tool_arguments.hpp"
#include "troupe/frontends/tools/schema.hpp"

namespace troupe::mcp {

namespace json = boost::json;
using tools::json_value;

namespace {

constexpr std::int64_t default_ttl = 3'600'000;
constexpr std::int64_t longest_ttl = 86'400'000;
constexpr std::int64_t poll_interval = 1'000;
constexpr const char* related = "io.modelcontextprotocol/related-task";

std::int64_t ttl_of(const json_value& wish) {
  const auto* ttl = wish.find("ttl");
  if (!ttl || !ttl->is_integer_token() || ttl->text.size() > 15) return default_ttl;
  return std::clamp<std::int64_t>(std::stoll(ttl->text), 1'000, longest_ttl);
}

}  // namespace

json::object session::task_object(const std::string& id, const task& x) const {
  json::object out{{"taskId", id}, {"status", x.status}};
  if (!x.message.empty()) out["statusMessage"] = x.message;
  out["createdAt"] = tools::iso8601(x.created);
  out["lastUpdatedAt"] = tools::iso8601(x.updated);
  out["ttl"] = x.ttl;
  out["pollInterval"] = poll_interval;
  return out;
}

void session::call_as_task(request& r, const json_value& wish, const batch_ptr& group) {
  const auto name = r.params.find("name")->text;
  if (name != tools::terminal_tool().name) {
    return refuse(r.id, rpc_error::unknown_method, "the tool " + name + " is not run as a task",
                  group);
  }
  forget_old_tasks();
  if (tasks_.size() >= settings_.max_calls || calls_.size() >= settings_.max_calls) {
    return refuse(r.id, rpc_error::busy, "there are too many tasks already", group);
  }
  const auto id = "task_" + make_process_id().substr(5) + make_process_id().substr(5);
  auto& x = tasks_[id];
  x.created = x.updated = caf::make_timestamp();
  x.ttl = ttl_of(wish);
  auto arguments = object_of({});
  if (const auto* given = r.params.find("arguments")) arguments = *given;
  const auto* background = arguments.find("background");
  x.background = background && background->is(json_value::type::boolean) && background->boolean;
  std::string token;
  if (const auto* meta = r.params.find("_meta")) {
    if (const auto* wanted = meta->find("progressToken")) token = id_text(*wanted);
  }
  reply(result_frame(r.id, {{"task", task_object(id, x)}}), group);
  start_for_task(id, call::purpose::task, name, std::move(arguments), std::move(token));
}

void session::start_for_task(const std::string& id, call::purpose what, std::string tool,
                             json_value arguments, std::string progress_token) {
  tool_call next;
  next.number = next_++;
  next.tool = std::move(tool);
  next.arguments = std::move(arguments);
  next.wants_progress = !progress_token.empty();
  if (what == call::purpose::task) tasks_.at(id).under_way = next.number;
  calls_.emplace(next.number, call{{}, std::move(progress_token), 0, false, nullptr, what, id});
  owner_.start(std::move(next));
}

void session::task_answered(const std::string& id, const tools::tool_answer& answer) {
  const auto it = tasks_.find(id);
  if (it == tasks_.end()) return;
  auto& x = it->second;
  x.under_way = 0;
  const auto* process = answer.structured.if_contains("session_id");
  if (x.status != "working") {
    // Cancelled while it was being started: then it must not go on.
    if (x.background && x.process.empty() && process && process->is_string()) {
      x.process = process->get_string().c_str();
      cancel_task(id);
    }
    return;
  }
  if (x.background && !answer.is_error && process && process->is_string()) {
    const auto* status = answer.structured.if_contains("status");
    const bool started = x.process.empty();
    const bool goes_on = started || (status && *status == "timeout");
    if (started) {
      x.process = process->get_string().c_str();
      x.message = "runs as " + x.process;
      x.updated = caf::make_timestamp();
    }
    if (goes_on) {
      return start_for_task(
          id, call::purpose::task, "process",
          object_of({{"action", text_value("wait")}, {"session_id", text_value(x.process)}}));
    }
  }
  x.result = with_notices(answer);
  end_task(id, answer.is_error ? "failed" : "completed");
  settle_events();
}

void session::end_task(const std::string& id, std::string status) {
  auto& x = tasks_.at(id);
  x.status = std::move(status);
  x.updated = caf::make_timestamp();
  owner_.send(notification_frame("notifications/tasks/status", task_object(id, x)));
  for (const auto& [request_id, group] : std::exchange(x.waiting, {})) {
    answer_task_result(id, request_id, group);
  }
}

void session::cancel_task(const std::string& id) {
  auto& x = tasks_.at(id);
  if (x.under_way != 0) owner_.interrupt(x.under_way);
  if (!x.process.empty()) {
    start_for_task(
        id, call::purpose::nothing, "process",
        object_of({{"action", text_value("kill")}, {"session_id", text_value(x.process)}}));
  }
}

void session::answer_task_result(const std::string& id, const std::string& request_id,
                                 const batch_ptr& group) {
  const auto& x = tasks_.at(id);
  if (!x.result) {
    return refuse(request_id, rpc_error::busy, "the task " + id + " was cancelled", group);
  }
  auto result = tool_call_result(*x.result, version_);
  result["_meta"] = json::object{{related, json::object{{"taskId", id}}}};
  reply(result_frame(request_id, result), group);
}

void session::forget_old_tasks() {
  const auto now = caf::make_timestamp();
  std::erase_if(tasks_, [&](const auto& one) {
    const auto& x = one.second;
    return x.status != "working" && now - x.created > std::chrono::milliseconds{x.ttl};
  });
}

void session::on_task(const request& r, const batch_ptr& group) {
  forget_old_tasks();
  if (r.method == "tasks/list") {
    if (r.params.find("cursor")) {
      return refuse(r.id, rpc_error::invalid_params, "Invalid params: unknown 'cursor'", group);
    }
    json::array list;
    for (const auto& [id, x] : tasks_) list.emplace_back(task_object(id, x));
    return reply(result_frame(r.id, {{"tasks", std::move(list)}}), group);
  }
  const auto* wanted = r.params.find("taskId");
  const auto it =
      wanted && wanted->is(json_value::type::string) ? tasks_.find(wanted->text) : tasks_.end();
  if (r.method != "tasks/get" && r.method != "tasks/result" && r.method != "tasks/cancel") {
    return refuse(r.id, rpc_error::unknown_method, "Method not found: " + r.method, group);
  }
  if (it == tasks_.end()) {
    return refuse(r.id, rpc_error::invalid_params, "Invalid params: there is no such task", group);
  }
  auto& x = it->second;
  if (r.method == "tasks/result") {
    if (x.status != "working") return answer_task_result(it->first, r.id, group);
    x.waiting.emplace_back(r.id, group);
    return;
  }
  if (r.method == "tasks/cancel") {
    if (x.status != "working") {
      return refuse(r.id, rpc_error::invalid_params,
                    "Invalid params: the task has ended already (" + x.status + ")", group);
    }
    cancel_task(it->first);
    end_task(it->first, "cancelled");
  }
  reply(result_frame(r.id, task_object(it->first, x)), group);
}

}  // namespace troupe::mcp

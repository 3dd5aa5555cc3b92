#include "troupe/frontends/mcp/protocol.hpp"

#include <array>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "troupe/frontends/tools/json_text.hpp"
#include "troupe/frontends/tools/schema.hpp"

namespace troupe::mcp {

namespace json = boost::json;

namespace {

constexpr std::array<std::string_view, 4> versions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                      "2024-11-05"};

constexpr std::array<std::string_view, 8> levels = {"debug", "info",     "notice", "warning",
                                                    "error", "critical", "alert",  "emergency"};

constexpr std::string_view process_template = "troupe://process/{session_id}";

constexpr std::string_view instructions =
    "terminal runs a shell command; with background=true it starts one and answers at once. "
    "process "
    "looks after what was started: list, poll, log, wait, kill, write and more. Cancelling a call "
    "interrupts its foreground command.";

}  // namespace

protocol_version negotiate(std::string_view asked) {
  for (auto version : versions) {
    if (version == asked) return {version};
  }
  return {newest_version};
}

bool parse_log_level(std::string_view name, log_level& out) {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] != name) continue;
    out = static_cast<log_level>(i);
    return true;
  }
  return false;
}

std::string result_frame(std::string_view id, const json::object& result) {
  std::string out = R"({"jsonrpc":"2.0","id":)";
  out += id;
  out += R"(,"result":)";
  out += tools::to_text(result);
  out += '}';
  return out;
}

std::string error_frame(std::string_view id, rpc_error code, std::string_view text) {
  std::string out = R"({"jsonrpc":"2.0","id":)";
  out += id;
  out += R"(,"error":)";
  out += json::serialize(json::object{{"code", static_cast<int>(code)}, {"message", text}});
  out += '}';
  return out;
}

std::string notification_frame(std::string_view method, const json::object& params) {
  return json::serialize(json::object{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

std::string progress_frame(std::string_view token, std::uint64_t progress, std::string_view message,
                           protocol_version version) {
  std::string out = R"({"jsonrpc":"2.0","method":"notifications/progress","params":{)";
  out += R"("progressToken":)";
  out += token;
  out += R"(,"progress":)";
  out += std::to_string(progress);
  if (version.progress_messages()) {
    out += R"(,"message":)";
    out += json::serialize(json::string{message});
  }
  out += "}}";
  return out;
}

std::string log_frame(log_level level, std::string_view text) {
  return notification_frame(
      "notifications/message",
      {{"level", levels[static_cast<std::size_t>(level)]}, {"logger", "troupe"}, {"data", text}});
}

json::object initialize_result(protocol_version version, std::string_view server_version) {
  json::object server{{"name", "troupe"}, {"version", server_version}};
  if (version.titles()) server["title"] = "Troupe";
  if (version.descriptions()) {
    server["description"] = "Runs and looks after processes for agent hosts";
  }
  json::object capabilities{{"tools", {{"listChanged", false}}},
                            {"resources", {{"subscribe", true}, {"listChanged", false}}},
                            {"logging", json::object{}}};
  if (version.tasks()) {
    capabilities["tasks"] = {{"list", json::object{}},
                             {"cancel", json::object{}},
                             {"requests", {{"tools", {{"call", json::object{}}}}}}};
  }
  return {{"protocolVersion", version.name},
          {"capabilities", std::move(capabilities)},
          {"serverInfo", std::move(server)},
          {"instructions", instructions}};
}

json::object resources_list_result(const json::object& processes, protocol_version version) {
  json::array list;
  const auto add = [&](std::string uri, std::string title, json::string_view description) {
    json::object entry{{"uri", uri}, {"name", title}, {"mimeType", "text/plain"}};
    if (version.titles()) entry["title"] = title;
    if (!description.empty()) entry["description"] = description;
    list.emplace_back(std::move(entry));
  };
  add(std::string{events_uri}, "Events", "What happened to the processes of this session");
  if (const auto* rows = processes.if_contains("processes"); rows && rows->is_array()) {
    for (const auto& row : rows->get_array()) {
      const auto& x = row.as_object();
      const std::string id{x.at("session_id").as_string()};
      add(std::string{process_uri_head} + id, "Process " + id, x.at("command").as_string());
    }
  }
  return {{"resources", std::move(list)}};
}

json::object resource_templates_result(protocol_version version) {
  json::object entry{{"uriTemplate", process_template},
                     {"name", "Process"},
                     {"description", "State and last output of a process"},
                     {"mimeType", "text/plain"}};
  if (version.titles()) entry["title"] = "Process";
  return {{"resourceTemplates", json::array{std::move(entry)}}};
}

json::object resource_text_result(std::string_view uri, std::string_view text) {
  return {{"contents",
           json::array{json::object{{"uri", uri}, {"mimeType", "text/plain"}, {"text", text}}}}};
}

json::object tools_list_result(protocol_version version) {
  json::array list;
  for (const auto* tool : tools::all_tools()) {
    json::object entry{{"name", tool->name}, {"description", tool->description}};
    if (version.titles()) entry["title"] = tool->title;
    entry["inputSchema"] = tools::input_schema(*tool);
    if (version.structured_content()) entry["outputSchema"] = tool->output_schema();
    // A process is what it answers about; only commands take time of their own.
    if (version.tasks()) {
      entry["execution"] = {
          {"taskSupport", tool == &tools::terminal_tool() ? "optional" : "forbidden"}};
    }
    if (version.annotations()) {
      entry["annotations"] = {{"title", tool->title},
                              {"readOnlyHint", tool->read_only},
                              {"destructiveHint", tool->destructive},
                              {"idempotentHint", tool->idempotent},
                              {"openWorldHint", tool->open_world}};
    }
    list.emplace_back(std::move(entry));
  }
  return {{"tools", std::move(list)}};
}

json::object tool_call_result(const tools::tool_answer& answer, protocol_version version) {
  json::object result;
  result["content"] =
      json::array{json::object{{"type", "text"}, {"text", tools::to_text(answer.structured)}}};
  if (version.structured_content()) result["structuredContent"] = answer.structured;
  result["isError"] = answer.is_error;
  return result;
}

}  // namespace troupe::mcp

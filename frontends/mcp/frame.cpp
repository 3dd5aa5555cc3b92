#include "troupe/frontends/mcp/frame.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

namespace troupe::mcp {

using tools::json_error;
using tools::json_value;

namespace {

constexpr std::size_t batch_max = 1'000;

frame only(message m) {
  frame out;
  out.messages.push_back(std::move(m));
  return out;
}

fault unreadable(const json_error& error) {
  // A duplicate key, or too many values, is good JSON that we do not take.
  bool readable =
      error.kind == json_error::type::duplicate_key || error.kind == json_error::type::too_big;
  fault out;
  out.code = readable ? rpc_error::invalid_request : rpc_error::parse;
  out.text = (readable ? "Invalid Request: " : "Parse error: ") + error.text;
  return out;
}

fault invalid(std::string id, std::string why) {
  return {id.empty() ? "null" : std::move(id), rpc_error::invalid_request,
          "Invalid Request: " + std::move(why)};
}

message parse_message(const json_value& x) {
  if (!x.is(json_value::type::object)) {
    return invalid({}, "a message is an object, not " + std::string{tools::describe(x)});
  }
  const auto* id_value = x.find("id");
  auto id = id_value ? id_text(*id_value) : std::string{};
  const auto* version = x.find("jsonrpc");
  if (!version || !version->is(json_value::type::string) || version->text != "2.0") {
    return invalid(id, "'jsonrpc' must be \"2.0\"");
  }
  const auto* method = x.find("method");
  if (!method) {
    if (x.find("result") || x.find("error")) return response{};
    return invalid(id, "'method' is missing");
  }
  if (!method->is(json_value::type::string)) return invalid(id, "'method' must be a string");
  if (id_value && id.empty()) return invalid({}, "'id' must be a string or an integer");
  json_value params;
  if (const auto* given = x.find("params")) {
    if (given->is(json_value::type::array)) {
      if (!id_value) return notification{method->text, {}};
      return fault{id, rpc_error::invalid_params, "Invalid params: 'params' must be an object"};
    }
    if (!given->is(json_value::type::object)) return invalid(id, "'params' must be an object");
    params = *given;
  }
  if (!id_value) return notification{method->text, std::move(params)};
  return request{std::move(id), method->text, std::move(params)};
}

}  // namespace

std::string id_text(const json_value& id) {
  if (id.is_integer_token()) return id.text;
  if (id.is(json_value::type::string)) return boost::json::serialize(boost::json::string{id.text});
  return {};
}

frame parse_frame(std::string_view line) {
  auto parsed = tools::parse_json(line);
  if (auto* error = std::get_if<json_error>(&parsed)) return only(unreadable(*error));
  const auto& root = std::get<json_value>(parsed);
  if (!root.is(json_value::type::array)) return only(parse_message(root));
  if (root.items.empty()) return only(invalid({}, "a batch must not be empty"));
  if (root.items.size() > batch_max) {
    return only(invalid({}, "a batch has at most " + std::to_string(batch_max) + " messages"));
  }
  frame out;
  out.batch = true;
  for (const auto& item : root.items) out.messages.push_back(parse_message(item));
  return out;
}

}  // namespace troupe::mcp

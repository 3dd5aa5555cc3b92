// What the tools accept: every field of every tool with wrong types and values, JSON that is broken in
// every way, and random bytes. An error names the field; nothing crashes.
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "troupe/frontends/tools/json_text.hpp"
#include "troupe/frontends/tools/schema.hpp"
#include "troupe/frontends/tools/terminal_plan.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;
using namespace troupe::tools;

namespace {

json_value parsed(const std::string& text) {
  auto result = parse_json(text);
  INFO(text);
  REQUIRE(std::holds_alternative<json_value>(result));
  return std::get<json_value>(std::move(result));
}

std::string parse_error(const std::string& text) {
  auto result = parse_json(text);
  auto* error = std::get_if<json_error>(&result);
  return error ? error->text : std::string{};
}

std::string error_of(const tool_spec& tool, const std::string& text) {
  return validate(tool, parsed(text)).error;
}

/// Arguments that are right but for the field under test.
std::string arguments_with(const tool_spec& tool, const field_spec& field,
                           const std::string& value) {
  std::string out = "{";
  if (&tool == &terminal_tool()) {
    if (field.name != "command") out += R"("command":"true",)";
  } else if (field.name != "action") {
    auto action = field.actions.empty() ? "poll" : std::string{field.actions.front()};
    out += R"("action":")" + action + "\",";
    if (field.name != "session_id") out += R"("session_id":"proc_0123",)";
  }
  return out + "\"" + std::string{field.name} + "\":" + value + "}";
}

std::vector<std::string> wrong_values(field_type type) {
  switch (type) {
    case field_type::string:
      return {"1", "true", "null", "[]", "{}", "1.5", "[\"x\"]"};
    case field_type::process_id:
      return {"true", "[]", "{}", "1.5", "1e3"};
    case field_type::integer:
      return {"true",         "null",      "[]",
              "{}",           "1.5",       "\"1.5\"",
              "\"x\"",        "\"\"",      "\" 1\"",
              "\"0x10\"",     "1e99",      "-1e99",
              "1e999",        "\"1e999\"", "\"NaN\"",
              "\"Infinity\"", "-1",        "123456789012345678901234567890"};
    case field_type::number:
      return {"true", "null", "[]", "{}", "\"x\"", "\"NaN\"", "\"inf\"", "1e99", "1e999", "\"\""};
    case field_type::boolean:
      return {"\"true\"", "1", "0", "null", "[]", "{}"};
    case field_type::signal:
      return {"true", "null", "[]", "{}", "\"NOPE\"", "0", "65", "-9", "1.5", "\"\"", "1e9"};
    case field_type::stdin_data:
      return {"false", "null", "1", "[]", "{}"};
    case field_type::string_list:
      return {"\"x\"", "true", "null", "{}", "[1]", "[null]", "[[\"x\"]]", "[\"\"]"};
  }
  return {};
}

}  // namespace

TEST_CASE("a field of the wrong type or range is an error that names the field") {
  for (const auto* tool : all_tools()) {
    for (const auto& field : tool->fields) {
      for (const auto& value : wrong_values(field.type)) {
        auto error = error_of(*tool, arguments_with(*tool, field, value));
        INFO(tool->name << "." << field.name << " = " << value << ": " << error);
        CHECK(error.find("'" + std::string{field.name} + "'") != std::string::npos);
      }
    }
  }
}

TEST_CASE("missing, unknown, misplaced and doubled fields are named") {
  CHECK(error_of(terminal_tool(), "{}") == "'command' is required");
  CHECK(error_of(process_tool(), "{}").find("'action' is required") == 0);
  CHECK(error_of(process_tool(), R"({"action":"poll"})") == "'session_id' is required for poll");
  CHECK(error_of(process_tool(), R"({"action":"write","session_id":"x"})") ==
        "'data' is required for write");
  CHECK(error_of(terminal_tool(), R"({"command":"x","cmd":1})").find("unknown field \"cmd\"") == 0);
  CHECK(error_of(process_tool(), R"({"action":"list","data":"x"})").find("'data' does not apply") ==
        0);
  CHECK(parse_error(R"({"command":"a","command":"b"})") == "the key 'command' is given twice");
  CHECK(error_of(terminal_tool(), "[]").find("must be an object") != std::string::npos);
}

TEST_CASE("an unknown action names all of them") {
  auto error = error_of(process_tool(), R"({"action":"stop"})");
  for (const char* action : {"list", "poll", "log", "wait", "kill", "write", "submit", "close",
                             "signal", "resize", "detach", "handoff"}) {
    CHECK(error.find(action) != std::string::npos);
  }
}

TEST_CASE("numbers as strings, and integers and null as ids, are accepted") {
  auto wait =
      validate(process_tool(), parsed(R"({"action":"wait","session_id":42,"timeout":"5"})"));
  REQUIRE(wait.ok());
  CHECK(wait.values.text("session_id") == "42");
  CHECK(wait.values.get<double>("timeout") == 5.0);
  auto poll =
      validate(process_tool(), parsed(R"({"action":"poll","session_id":null,"cursor":"1000"})"));
  REQUIRE(poll.ok());
  CHECK(poll.values.text("session_id") == "null");
  CHECK(poll.values.get<std::int64_t>("cursor") == 1000);
  for (const char* signal : {"9", "\"9\"", "\"KILL\"", "\"SIGKILL\"", "\"sigkill\""}) {
    auto kill =
        validate(process_tool(), parsed(std::string{R"({"action":"kill","session_id":"x",)"} +
                                        R"("signal":)" + signal + "}"));
    REQUIRE(kill.ok());
    CHECK(kill.values.get<std::int64_t>("signal") == 9);
  }
}

TEST_CASE("text that the system cannot take is refused") {
  CHECK(error_of(terminal_tool(), R"({"command":"a\u0000b"})") ==
        "'command' must not contain a NUL character");
  CHECK(validate(process_tool(), parsed(R"({"action":"write","session_id":"x","data":"\u0000"})"))
            .ok());
}

TEST_CASE("broken JSON is an error with a reason") {
  CHECK(parse_error("") != "");
  CHECK(parse_error("{\"a\":\"\xff\"}") == "not valid UTF-8");
  CHECK(parse_error(R"({"a":"\ud800"})").find("escape") != std::string::npos);
  CHECK(parse_error("{\"a\":1} x") != "");
  CHECK(parse_error("{\"a\":1,}") != "");
  CHECK(parse_error("{\"a\":01}") != "");
  CHECK(parse_error("{\"a\":nul}") != "");
  CHECK(parse_error("{\"a\":NaN}") != "");
  CHECK(parse_error("{\"a\":tru}") != "");
  CHECK(parse_error("{\"a\":+1}") != "");
  CHECK(parse_error("{\"a\"") != "");
  CHECK(parse_error("{\"a\":\"b") != "");
  CHECK(parse_error(std::string(5'000, '[')) != "");
  CHECK(parse_error(std::string(100'000, '[') + std::string(100'000, ']')).find("deep") !=
        std::string::npos);
  CHECK(parse_error("[" + std::string(600'000, ' ') + "1]").empty());
  std::string many = "[0";
  for (int i = 0; i < 300'000; ++i) many += ",0";
  CHECK(parse_error(many + "]").find("values") != std::string::npos);
}

TEST_CASE("numbers are kept as they were written") {
  CHECK(parsed("{\"a\":123456789012345678901234567890}").find("a")->text ==
        "123456789012345678901234567890");
  CHECK(parsed("[1e999]").items.at(0).text == "1e999");
  CHECK(parsed("{\"a\":-0.5e+3 }").find("a")->text == "-0.5e+3");
}

TEST_CASE("random and mutated input never crashes and is answered") {
  std::mt19937 random{20260131};
  const std::vector<std::string> seeds = {
      R"({"action":"wait","session_id":"proc_0123456789ab","timeout":12.5,"until":"x[0-9]+"})",
      R"({"command":"echo \"ü\\n\"","background":true,"watch_patterns":["a","b"],"heartbeat":60})",
      R"({"action":"kill","session_id":7,"signal":"TERM","grace":1e0})"};
  for (int i = 0; i < 30'000; ++i) {
    std::string text;
    if (i % 4 == 0) {
      text.resize(random() % 40);
      for (auto& c : text) c = static_cast<char>(random());
    } else {
      text = seeds[random() % seeds.size()];
      for (auto n = random() % 4 + 1; n > 0; --n) {
        auto at = random() % text.size();
        switch (random() % 4) {
          case 0:
            text[at] = static_cast<char>(random());
            break;
          case 1:
            text.erase(at, random() % 5 + 1);
            break;
          case 2:
            text.insert(at, 1, "{}[]\",:0e.-\\tn"[random() % 14]);
            break;
          default:
            text.insert(at, text.substr(random() % text.size(), random() % 10));
            break;
        }
        if (text.empty()) text = "x";
      }
    }
    auto result = parse_json(text);
    if (auto* value = std::get_if<json_value>(&result)) {
      for (const auto* tool : all_tools()) {
        auto checked = validate(*tool, *value);
        if (tool == &terminal_tool() && checked.ok()) {
          (void)plan_terminal(checked.values, options{}, i % 2 == 0);
        }
      }
    } else {
      REQUIRE(!std::get<json_error>(result).text.empty());
    }
  }
}

TEST_CASE("the schema that is listed is that of the table") {
  for (const auto* tool : all_tools()) {
    auto schema = input_schema(*tool);
    CHECK(schema.at("$schema").as_string() == "https://json-schema.org/draft/2020-12/schema");
    CHECK(schema.at("additionalProperties") == false);
    CHECK(schema.at("properties").as_object().size() == tool->fields.size());
    CHECK(tool->output_schema().at("type") == "object");
  }
}

TEST_CASE("numbers in answers are written plainly") {
  CHECK(to_text(0.003) == "0.003");
  CHECK(to_text(0.0) == "0");
  CHECK(to_text(boost::json::parse(R"({"a":[1,2.5,"x\n",null,true],"b":{}})")) ==
        R"({"a":[1,2.5,"x\n",null,true],"b":{}})");
}

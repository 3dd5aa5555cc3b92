#include "troupe/frontends/tools/schema.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <boost/json/array.hpp>

#include "troupe/text/exit_meaning.hpp"

namespace troupe::tools {

namespace json = boost::json;

namespace {

std::string field_name(const field_spec& field) {
  return "'" + std::string{field.name} + "'";
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string out;
  for (auto word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out;
}

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string number_text(double x) {
  if (std::abs(x) < 9e15 && std::floor(x) == x) return std::to_string(static_cast<std::int64_t>(x));
  return std::to_string(x);
}

std::string_view wanted(field_type type) {
  switch (type) {
    case field_type::string:
    case field_type::process_id:
      return "a string";
    case field_type::integer:
      return "an integer";
    case field_type::number:
      return "a number";
    case field_type::boolean:
      return "a boolean (true or false)";
    case field_type::signal:
      return "a signal name or number";
    case field_type::stdin_data:
      return "a string, or true";
    case field_type::string_list:
      return "an array of strings";
  }
  return "something else";
}

/// Checks one value. `put` receives what it stands for; the result is an error text or empty.
class field_check {
 public:
  field_check(const field_spec& field, arguments& out) : field_{field}, out_{out} {}

  std::string operator()(const json_value& x) {
    switch (field_.type) {
      case field_type::string:
        return x.is(json_value::type::string) ? string(x.text) : wrong_type(x);
      case field_type::process_id:
        if (x.is(json_value::type::null)) return put(std::string{"null"});
        if (x.is_integer_token()) return put(x.text);
        return x.is(json_value::type::string) ? string(x.text) : wrong_type(x);
      case field_type::boolean:
        return x.is(json_value::type::boolean) ? put(x.boolean) : wrong_type(x);
      case field_type::integer:
      case field_type::number:
        return number(x);
      case field_type::signal:
        return signal(x);
      case field_type::stdin_data:
        return stdin_value(x);
      case field_type::string_list:
        return list(x);
    }
    return wrong_type(x);
  }

 private:
  std::string put(arguments::value x) {
    out_.set(field_.name, std::move(x));
    return {};
  }

  std::string wrong_type(const json_value& x) const {
    return field_name(field_) + " must be " + std::string{wanted(field_.type)} + " (got " +
           std::string{describe(x)} + ")";
  }

  std::string check_text(const std::string& x) const {
    if (x.size() > field_.max_bytes) {
      return field_name(field_) + " is too long: " + std::to_string(x.size()) + " bytes, at most " +
             std::to_string(field_.max_bytes);
    }
    if (field_.no_nul && x.find('\0') != std::string::npos) {
      return field_name(field_) + " must not contain a NUL character";
    }
    if (!field_.choices.empty() && !contains(field_.choices, x)) {
      json_value shown;
      shown.kind = json_value::type::string;
      shown.text = x;
      return field_name(field_) + " must be one of: " + joined(field_.choices) + " (got " +
             excerpt(shown) + ")";
    }
    return {};
  }

  std::string string(const std::string& x) {
    auto error = check_text(x);
    return error.empty() ? put(x) : error;
  }

  std::string number(const json_value& x) {
    if (!x.is(json_value::type::number) && !x.is(json_value::type::string)) return wrong_type(x);
    if (!is_json_number(x.text)) {
      return field_name(field_) + " must be " + std::string{wanted(field_.type)} + " (got " +
             excerpt(x) + ")";
    }
    double value = 0;
    auto [end, ec] = std::from_chars(x.text.data(), x.text.data() + x.text.size(), value);
    if (ec != std::errc{} || !std::isfinite(value)) {
      return field_name(field_) + " is out of range (got " + excerpt(x) + ")";
    }
    if (field_.type == field_type::integer && std::floor(value) != value) {
      return field_name(field_) + " must be an integer (got " + excerpt(x) + ")";
    }
    if (value < field_.minimum) {
      return field_name(field_) + " must be at least " + number_text(field_.minimum) + " (got " +
             excerpt(x) + ")";
    }
    if (value > field_.maximum) {
      return field_name(field_) + " must be at most " + number_text(field_.maximum) + " (got " +
             excerpt(x) + ")";
    }
    if (field_.type == field_type::number) return put(value);
    return put(static_cast<std::int64_t>(value));
  }

  std::string signal(const json_value& x) {
    if (!x.is(json_value::type::string) && !x.is(json_value::type::number)) return wrong_type(x);
    auto number = text::signal_number(x.text);
    if (number && *number >= 1 && *number <= 64) return put(std::int64_t{*number});
    return field_name(field_) + " is no signal (got " + excerpt(x) +
           "); give a name such as TERM, INT, KILL, HUP or a number from 1 to 64";
  }

  std::string stdin_value(const json_value& x) {
    if (x.is(json_value::type::boolean)) {
      if (x.boolean) return put(true);
      return field_name(field_) + " must be a string, or true (got false)";
    }
    return x.is(json_value::type::string) ? string(x.text) : wrong_type(x);
  }

  std::string list(const json_value& x) {
    if (!x.is(json_value::type::array)) return wrong_type(x);
    if (x.items.size() > 100) return field_name(field_) + " has more than 100 entries";
    std::vector<std::string> out;
    for (std::size_t i = 0; i < x.items.size(); ++i) {
      const auto& item = x.items[i];
      auto where = field_name(field_) + "[" + std::to_string(i) + "]";
      if (!item.is(json_value::type::string)) {
        return where + " must be a string (got " + std::string{describe(item)} + ")";
      }
      if (item.text.empty()) return where + " must not be empty";
      if (auto error = check_text(item.text); !error.empty()) return error;
      out.push_back(item.text);
    }
    return put(std::move(out));
  }

  const field_spec& field_;
  arguments& out_;
};

checked failed(std::string text) {
  checked result;
  result.error = std::move(text);
  return result;
}

const field_spec* find_field(const tool_spec& tool, std::string_view name) {
  for (const auto& field : tool.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

/// The action comes first: which other fields are right depends on it.
std::string check_action(const tool_spec& tool, const json_value& input, std::string& action) {
  const auto* field = find_field(tool, "action");
  if (!field) return {};
  const auto* given = input.find("action");
  if (!given) return "'action' is required: one of " + joined(field->choices);
  if (!given->is(json_value::type::string)) {
    return "'action' must be a string (got " + std::string{describe(*given)} + "): one of " +
           joined(field->choices);
  }
  if (!contains(field->choices, given->text)) {
    return "unknown action " + excerpt(*given) + ": use one of " + joined(field->choices);
  }
  action = given->text;
  return {};
}

json::object field_schema(const field_spec& field) {
  json::object out;
  switch (field.type) {
    case field_type::string:
      out["type"] = "string";
      break;
    case field_type::process_id:
      out["type"] = "string";
      break;
    // What is accepted beyond this (numbers as strings, ids as numbers) is for careless clients and
    // not advertised.
    case field_type::integer:
      out["type"] = "integer";
      break;
    case field_type::number:
      out["type"] = "number";
      break;
    case field_type::boolean:
      out["type"] = "boolean";
      break;
    case field_type::signal:
      out["type"] = "string";  // a number as text, too
      break;
    case field_type::stdin_data:
      out["anyOf"] = json::array{json::object{{"type", "string"}},
                                 json::object{{"type", "boolean"}, {"enum", json::array{true}}}};
      break;
    case field_type::string_list:
      out["type"] = "array";
      out["items"] = json::object{{"type", "string"}, {"minLength", 1}};
      out["maxItems"] = 100;
      break;
  }
  if (!field.description.empty()) out["description"] = field.description;
  if (!field.choices.empty()) {
    json::array choices;
    for (auto choice : field.choices) choices.emplace_back(choice);
    out["enum"] = std::move(choices);
  }
  if (field.minimum > -1e15) out["minimum"] = static_cast<std::int64_t>(field.minimum);
  if (field.maximum < 1e15) out["maximum"] = static_cast<std::int64_t>(field.maximum);
  return out;
}

}  // namespace

checked validate(const tool_spec& tool, const json_value& input) {
  if (!input.is(json_value::type::object)) {
    return failed("the arguments of " + std::string{tool.name} + " must be an object (got " +
                  std::string{describe(input)} + ")");
  }
  std::string action;
  if (auto error = check_action(tool, input, action); !error.empty()) return failed(error);
  checked result;
  for (const auto& [name, value] : input.members) {
    const auto* field = find_field(tool, name);
    if (!field) {
      json_value shown;
      shown.kind = json_value::type::string;
      shown.text = name;
      std::vector<std::string_view> names;
      for (const auto& known : tool.fields) names.push_back(known.name);
      return failed("unknown field " + excerpt(shown) + "; " + std::string{tool.name} +
                    " takes: " + joined(names));
    }
    if (!field->actions.empty() && !contains(field->actions, action)) {
      return failed(field_name(*field) + " does not apply to the action " + action +
                    "; it belongs to: " + joined(field->actions));
    }
    if (auto error = field_check{*field, result.values}(value); !error.empty()) {
      return failed(std::move(error));
    }
  }
  for (const auto& field : tool.fields) {
    if (result.values.has(field.name)) continue;
    if (field.required) return failed(field_name(field) + " is required");
    if (contains(field.required_for, action)) {
      return failed(field_name(field) + " is required for " + action);
    }
  }
  return result;
}

json::object input_schema(const tool_spec& tool) {
  json::object properties;
  json::array required;
  for (const auto& field : tool.fields) {
    properties[field.name] = field_schema(field);
    if (field.required) required.emplace_back(field.name);
  }
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

std::vector<const tool_spec*> all_tools() {
  return {&terminal_tool(), &process_tool()};
}

const tool_spec* find_tool(std::string_view name) {
  for (const auto* tool : all_tools()) {
    if (tool->name == name) return tool;
  }
  return nullptr;
}

}  // namespace troupe::tools

#include "troupe/frontends/tools/json_value.hpp"

#include <simdjson.h>

#include <algorithm>

#include "troupe/text/utf8.hpp"

namespace troupe::tools {

namespace {

namespace od = simdjson::ondemand;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' ||
                           text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

/// Walks a document once, in order, as on-demand parsing requires.
class tree_reader {
 public:
  explicit tree_reader(json_limits limits) : limits_{limits} {}

  json_error error;

  /// `source` is a document or a value of one; both have the same interface.
  template <class Source>
  bool read(Source& source, json_value& out, std::size_t depth) {
    if (depth > limits_.depth) {
      return fail(json_error::type::too_deep,
                  "nested deeper than " + std::to_string(limits_.depth) + " levels");
    }
    if (++count_ > limits_.values) {
      return fail(json_error::type::too_big,
                  "more than " + std::to_string(limits_.values) + " values");
    }
    od::json_type kind{};
    if (auto e = source.type().get(kind)) return fail(e);
    switch (kind) {
      case od::json_type::object:
        return read_object(source, out, depth);
      case od::json_type::array:
        return read_array(source, out, depth);
      case od::json_type::string:
        return read_string(source, out);
      default:
        return read_scalar(source, out);
    }
  }

  bool fail(simdjson::error_code code) {
    switch (code) {
      case simdjson::UTF8_ERROR:
        return fail(json_error::type::encoding, "not valid UTF-8");
      case simdjson::DEPTH_ERROR:
        return fail(json_error::type::too_deep, "nested too deep");
      case simdjson::CAPACITY:
      case simdjson::MEMALLOC:
        return fail(json_error::type::too_big, "too big");
      case simdjson::EMPTY:
        return fail(json_error::type::syntax, "no JSON value");
      case simdjson::STRING_ERROR:
        return fail(json_error::type::encoding, "a string has an invalid escape sequence");
      case simdjson::UNESCAPED_CHARS:
        return fail(json_error::type::syntax, "a string has an unescaped control character");
      case simdjson::UNCLOSED_STRING:
        return fail(json_error::type::syntax, "a string is not closed");
      default:
        return fail(json_error::type::syntax, "not valid JSON");
    }
  }

  bool fail(json_error::type kind, std::string text) {
    error = {kind, std::move(text)};
    return false;
  }

 private:
  template <class Source>
  bool read_object(Source& source, json_value& out, std::size_t depth) {
    out.kind = json_value::type::object;
    od::object object;
    if (auto e = source.get_object().get(object)) return fail(e);
    for (auto field : object) {
      od::value value;
      std::string_view key;
      if (auto e = field.error()) return fail(e);
      if (auto e = field.unescaped_key().get(key)) return fail(e);
      std::string name{key};
      if (auto e = field.value().get(value)) return fail(e);
      json_value child;
      if (!read(value, child, depth + 1)) return false;
      out.members.push_back({.name = std::move(name), .value = std::move(child)});
    }
    return check_keys(out);
  }

  bool check_keys(const json_value& object) {
    std::vector<std::string_view> names;
    names.reserve(object.members.size());
    for (const auto& [name, value] : object.members) names.push_back(name);
    std::sort(names.begin(), names.end());
    auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return true;
    return fail(json_error::type::duplicate_key,
                "the key '" + std::string{text::first_chars(*twice, 64)} + "' is given twice");
  }

  template <class Source>
  bool read_array(Source& source, json_value& out, std::size_t depth) {
    out.kind = json_value::type::array;
    od::array array;
    if (auto e = source.get_array().get(array)) return fail(e);
    for (auto element : array) {
      od::value value;
      if (auto e = element.get(value)) return fail(e);
      if (!read(value, out.items.emplace_back(), depth + 1)) return false;
    }
    return true;
  }

  template <class Source>
  bool read_string(Source& source, json_value& out) {
    out.kind = json_value::type::string;
    std::string_view text;
    if (auto e = source.get_string().get(text)) return fail(e);
    out.text = text;
    return true;
  }

  template <class Source>
  bool read_scalar(Source& source, json_value& out) {
    simdjson::simdjson_result<std::string_view> raw = source.raw_json_token();
    std::string_view token;
    if (auto e = std::move(raw).get(token)) return fail(e);
    token = trimmed(token);
    // The token is not consumed: going on to the next one skips it, whatever its value is.
    if (token == "true" || token == "false") {
      out.kind = json_value::type::boolean;
      out.boolean = token == "true";
      return true;
    }
    if (token == "null") {
      out.kind = json_value::type::null;
      return true;
    }
    if (!is_json_number(token)) return fail(json_error::type::syntax, "not valid JSON");
    out.kind = json_value::type::number;
    out.text = token;
    return true;
  }

  json_limits limits_;
  std::size_t count_ = 0;
};

}  // namespace

const json_value* json_value::find(std::string_view name) const noexcept {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool json_value::is_integer_token() const noexcept {
  return kind == type::number && text.find_first_of(".eE") == std::string::npos;
}

std::string_view describe(const json_value& value) noexcept {
  switch (value.kind) {
    case json_value::type::null:
      return "null";
    case json_value::type::boolean:
      return "a boolean";
    case json_value::type::number:
      return "a number";
    case json_value::type::string:
      return "a string";
    case json_value::type::array:
      return "an array";
    case json_value::type::object:
      return "an object";
  }
  return "a value";
}

std::string excerpt(const json_value& value) {
  switch (value.kind) {
    case json_value::type::null:
      return "null";
    case json_value::type::boolean:
      return value.boolean ? "true" : "false";
    case json_value::type::array:
      return "an array";
    case json_value::type::object:
      return "an object";
    case json_value::type::number:
    case json_value::type::string:
      break;
  }
  auto start = std::string{text::first_chars(value.text, 32)};
  if (start.size() < value.text.size()) start += "…";
  return value.is(json_value::type::string) ? "\"" + start + "\"" : start;
}

bool is_json_number(std::string_view text) noexcept {
  std::size_t i = 0;
  auto digits = [&] {
    auto from = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - from;
  };
  if (i < text.size() && text[i] == '-') ++i;
  auto first = i;
  auto whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

std::variant<json_value, json_error> parse_json(std::string_view text, json_limits limits) {
  tree_reader reader{limits};
  od::parser parser;
  simdjson::padded_string padded{text};
  od::document document;
  if (auto e = parser.iterate(padded).get(document)) {
    reader.fail(e);
    return std::move(reader.error);
  }
  json_value root;
  if (!reader.read(document, root, 1)) return std::move(reader.error);
  if ((root.is(json_value::type::array) || root.is(json_value::type::object)) &&
      document.current_location().error() == simdjson::SUCCESS) {
    return json_error{json_error::type::syntax, "text after the end of the JSON value"};
  }
  return root;
}

}  // namespace troupe::tools

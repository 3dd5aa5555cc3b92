#include "troupe/frontends/tools/json_text.hpp"

#include <charconv>
#include <cmath>

#include <boost/json/serialize.hpp>

namespace troupe::tools {

namespace json = boost::json;

namespace {

void append(const json::value& value, std::string& out);

void append(const json::object& object, std::string& out) {
  out += '{';
  bool first = true;
  for (const auto& member : object) {
    if (!first) out += ',';
    first = false;
    out += json::serialize(json::string_view{member.key()});
    out += ':';
    append(member.value(), out);
  }
  out += '}';
}

void append(const json::value& value, std::string& out) {
  if (const auto* object = value.if_object()) {
    append(*object, out);
  } else if (const auto* array = value.if_array()) {
    out += '[';
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out += ',';
      append((*array)[i], out);
    }
    out += ']';
  } else if (const auto* number = value.if_double()) {
    out += to_text(*number);
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string to_text(double number) {
  if (!std::isfinite(number)) return "null";
  char text[40];
  auto format = std::abs(number) < 1e15 ? std::chars_format::fixed : std::chars_format::general;
  auto result = std::to_chars(text, text + sizeof text, number, format);
  if (result.ec != std::errc{}) result = std::to_chars(text, text + sizeof text, number);
  return {text, result.ptr};
}

std::string to_text(const json::value& value) {
  std::string out;
  append(value, out);
  return out;
}

std::string to_text(const json::object& object) {
  std::string out;
  append(object, out);
  return out;
}

}  // namespace troupe::tools

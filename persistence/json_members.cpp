#include "troupe/persistence/json_members.hpp"

#include "troupe/text/utf8.hpp"

namespace troupe::persistence {

namespace json = boost::json;
using simdjson::dom::element;

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool from_hex(std::string_view text, std::string& out) {
  if (text.size() % 2 != 0) return false;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes += static_cast<char>(high * 16 + low);
  }
  out = std::move(bytes);
  return true;
}

}  // namespace

json::value json_writer::text_value(const std::string& bytes) {
  if (text::is_valid_utf8(bytes)) return json::string{bytes};
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return json::object{{"hex", hex}};
}

void json_writer::operator()(std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  json::array list;
  for (const auto& value : values) list.push_back(text_value(value));
  out_[name] = std::move(list);
}

void json_writer::operator()(std::string_view name, const std::vector<std::int32_t>& values) {
  if (values.empty()) return;
  json::array list;
  for (const auto value : values) list.emplace_back(value);
  out_[name] = std::move(list);
}

void json_reader::operator()(std::string_view name, std::string& out) {
  element member;
  if (find(name, member) && !text_of(member, out)) fail(name, "must be a text");
}

void json_reader::operator()(std::string_view name, bool& out) {
  element member;
  if (find(name, member) && member.get(out)) fail(name, "must be true or false");
}

void json_reader::operator()(std::string_view name, std::vector<std::string>& out) {
  element member;
  if (!find(name, member)) return;
  simdjson::dom::array list;
  if (member.get(list)) return fail(name, "must be a list of texts");
  for (const auto item : list) {
    if (!text_of(item, out.emplace_back())) return fail(name, "must be a list of texts");
  }
}

void json_reader::operator()(std::string_view name, std::vector<std::int32_t>& out) {
  element member;
  if (!find(name, member)) return;
  simdjson::dom::array list;
  if (member.get(list)) return fail(name, "must be a list of numbers");
  for (const auto item : list) {
    std::int64_t value = 0;
    if (item.get(value) || !std::in_range<std::int32_t>(value)) {
      return fail(name, "must be a list of numbers");
    }
    out.push_back(static_cast<std::int32_t>(value));
  }
}

void json_reader::require(std::string_view name) {
  element member;
  if (!find(name, member)) fail(name, "is missing");
}

void json_reader::fail(std::string_view name, std::string_view why) {
  if (error_.empty()) error_ = prefix_ + std::string{name} + ": " + std::string{why};
}

bool json_reader::find(std::string_view name, element& member) const {
  return !from_[name].get(member);
}

bool json_reader::text_of(element member, std::string& out) const {
  std::string_view text;
  if (!member.get(text)) {
    out = text;
    return true;
  }
  return !member["hex"].get(text) && from_hex(text, out);
}

}  // namespace troupe::persistence

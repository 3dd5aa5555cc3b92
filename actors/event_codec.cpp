#include "troupe/actors/event_codec.hpp"

#include <simdjson.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "troupe/text/utf8.hpp"

namespace troupe {

namespace json = boost::json;
using element = simdjson::dom::element;

namespace {

constexpr char hex_digits[] = "0123456789abcdef";

/// A string, or `{"hex": …}` where it is not UTF-8.
json::value text_value(const std::string& bytes) {
  if (text::is_valid_utf8(bytes)) return json::string{bytes};
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    hex += hex_digits[static_cast<unsigned char>(c) >> 4];
    hex += hex_digits[static_cast<unsigned char>(c) & 15];
  }
  return json::object{{"hex", hex}};
}

void put(json::object& out, const char* name, const std::string& bytes) {
  if (!bytes.empty()) out[name] = text_value(bytes);
}

void put(json::object& out, const char* name, std::uint64_t number) {
  if (number != 0) out[name] = number;
}

json::object exit_object(const exit_info& end) {
  json::object out;
  out["reason"] = to_string(end.reason);
  if (end.code) out["code"] = *end.code;
  if (end.signal != 0) out["signal"] = end.signal;
  if (end.core_dumped) out["core_dumped"] = true;
  put(out, "source", end.source);
  if (!end.descendants.empty()) {
    json::array pids;
    for (const auto pid : end.descendants) pids.emplace_back(pid);
    out["descendants"] = std::move(pids);
  }
  return out;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return 0;
}

void get(const element& from, const char* name, std::string& out) {
  element member;
  if (from[name].get(member)) return;
  std::string_view text;
  if (!member.get(text)) {
    out = text;
  } else if (!member["hex"].get(text)) {
    out.clear();
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
      out += static_cast<char>(hex_value(text[i]) * 16 + hex_value(text[i + 1]));
    }
  }
}

template <class Number>
void get(const element& from, const char* name, Number& out) {
  std::int64_t number = 0;
  std::uint64_t big = 0;
  if (!from[name].get(number)) {
    out = static_cast<Number>(number);
  } else if (!from[name].get(big)) {
    out = static_cast<Number>(big);
  }
}

exit_info exit_of(const element& from) {
  exit_info end;
  std::string reason;
  get(from, "reason", reason);
  from_string(reason, end.reason);
  std::int64_t code = 0;
  if (!from["code"].get(code)) end.code = static_cast<std::int32_t>(code);
  get(from, "signal", end.signal);
  bool core = false;
  if (!from["core_dumped"].get(core)) end.core_dumped = core;
  get(from, "source", end.source);
  simdjson::dom::array pids;
  if (!from["descendants"].get(pids)) {
    for (const auto pid : pids) {
      std::int64_t number = 0;
      if (!pid.get(number)) end.descendants.push_back(static_cast<std::int32_t>(number));
    }
  }
  return end;
}

}  // namespace

std::string encode_event(const event& x) {
  json::object owner;
  put(owner, "session", x.owner.session);
  put(owner, "turn", x.owner.turn);
  put(owner, "platform", x.owner.platform);
  put(owner, "chat", x.owner.chat);
  put(owner, "thread", x.owner.thread);
  put(owner, "message", x.owner.message);
  put(owner, "user_id", x.owner.user_id);
  put(owner, "user_name", x.owner.user_name);
  json::object out;
  out["kind"] = to_string(x.kind);
  out["at"] = x.at.time_since_epoch().count();
  put(out, "process", x.process);
  put(out, "command", x.command);
  out["owner"] = std::move(owner);
  if (x.exit) out["exit"] = exit_object(*x.exit);
  put(out, "duration", static_cast<std::uint64_t>(x.duration.count()));
  put(out, "output", x.output);
  put(out, "output_cut", x.output_cut);
  put(out, "pattern", x.pattern);
  put(out, "held_back", x.held_back);
  put(out, "note", x.note);
  return json::serialize(out);
}

std::optional<event> decode_event(std::uint64_t number, std::string_view text) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(text.data(), text.size()).get(root)) return std::nullopt;
  event x;
  x.sequence = number;
  std::string kind;
  get(root, "kind", kind);
  if (!from_string(kind, x.kind)) return std::nullopt;
  std::int64_t at = 0;
  get(root, "at", at);
  x.at = caf::timestamp{caf::timespan{at}};
  get(root, "process", x.process);
  get(root, "command", x.command);
  element owner;
  if (!root["owner"].get(owner)) {
    get(owner, "session", x.owner.session);
    get(owner, "turn", x.owner.turn);
    get(owner, "platform", x.owner.platform);
    get(owner, "chat", x.owner.chat);
    get(owner, "thread", x.owner.thread);
    get(owner, "message", x.owner.message);
    get(owner, "user_id", x.owner.user_id);
    get(owner, "user_name", x.owner.user_name);
  }
  element end;
  if (!root["exit"].get(end)) x.exit = exit_of(end);
  std::int64_t duration = 0;
  get(root, "duration", duration);
  x.duration = caf::timespan{duration};
  get(root, "output", x.output);
  get(root, "output_cut", x.output_cut);
  get(root, "pattern", x.pattern);
  get(root, "held_back", x.held_back);
  get(root, "note", x.note);
  return x;
}

std::string encode_mark(const event_mark& mark) {
  json::object out;
  out["session"] = text_value(mark.session);
  out["number"] = mark.number;
  return json::serialize(out);
}

std::optional<event_mark> decode_mark(std::string_view text) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(text.data(), text.size()).get(root)) return std::nullopt;
  event_mark mark;
  get(root, "session", mark.session);
  get(root, "number", mark.number);
  return mark;
}

}  // namespace troupe

// The JSON of records and receipts, see docs/state.md.
#include "troupe/persistence/process_record.hpp"

#include <simdjson.h>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <charconv>
#include <utility>

#include "troupe/persistence/crc32c.hpp"
#include "troupe/persistence/json_members.hpp"
#include "troupe/text/base64.hpp"
#include "troupe/text/redact.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe::persistence {

namespace json = boost::json;

namespace {

constexpr std::int64_t version = 1;
constexpr std::string_view seal_head = ",\"crc32c\":\"";
constexpr std::string_view seal_tail = "\"}\n";
constexpr std::size_t seal_digits = 8;
constexpr std::size_t kept_parser_bytes = 1 << 20;

// -- the members, once for both directions --------------------------------------------------------

template <class Owner, class Visit>
void each_member_of_owner(Owner& x, Visit& visit) {
  visit("session", x.session);
  visit("turn", x.turn);
  visit("platform", x.platform);
  visit("chat", x.chat);
  visit("thread", x.thread);
  visit("message", x.message);
  visit("user_id", x.user_id);
  visit("user_name", x.user_name);
}

template <class Record, class Visit>
void each_member(Record& x, Visit& visit) {
  visit("id", x.id);
  visit("command", x.command);
  visit("cwd", x.cwd);
  visit("environment", x.environment);
  visit("handoff_note", x.handoff_note);
  visit.object("owner", [&](auto& inner) { each_member_of_owner(x.owner, inner); });
  visit("node", x.node);
  visit("boot_id", x.boot_id);
  visit("pid", x.pid);
  visit("start_ticks", x.start_ticks);
  visit("started_at", x.started_at);
  visit("timeout", x.timeout);
  visit("kept_by_keeper", x.kept_by_keeper);
  visit("pty", x.pty);
  visit("has_stdin", x.has_stdin);
  visit("rows", x.rows);
  visit("cols", x.cols);
  visit("keep_on_owner_death", x.keep_on_owner_death);
  visit("notify", x.notify);
  visit("watch_plain", x.watch_plain);
  visit("persist_on_release", x.persist_on_release);
  visit("output_assignments", x.output_assignments);
  visit("watch_patterns", x.watch_patterns);
  visit("heartbeat_seconds", x.heartbeat_seconds);
  visit("completion_chars", x.completion_chars);
  visit("full_output_path", x.full_output_path);
}

template <class Usage, class Visit>
void each_member_of_usage(Usage& x, Visit& visit) {
  visit("user_us", x.user_us);
  visit("system_us", x.system_us);
  visit("max_rss_kib", x.max_rss_kib);
  visit("minor_faults", x.minor_faults);
  visit("major_faults", x.major_faults);
  visit("voluntary_switches", x.voluntary_switches);
  visit("involuntary_switches", x.involuntary_switches);
}

template <class Exit, class Visit>
void each_member_of_exit(Exit& x, Visit& visit) {
  visit("reason", x.reason);
  visit("code", x.code);
  visit("signal", x.signal);
  visit("core_dumped", x.core_dumped);
  visit("source", x.source);
  visit("descendants", x.descendants);
  visit.object("usage", x.usage,
               [](auto& usage, auto& inner) { each_member_of_usage(usage, inner); });
}

template <class Receipt, class Visit>
void each_member_of_receipt(Receipt& x, Visit& visit) {
  visit.object("process", [&](auto& inner) { each_member(x.process, inner); });
  visit("ended_at", x.ended_at);
  visit.object("exit", [&](auto& inner) { each_member_of_exit(x.exit, inner); });
  visit("total_bytes", x.total_bytes);
  visit("output_from", x.output_from);
  visit("full_output_bytes", x.full_output_bytes);
  visit("watch_hits", x.watch_hits);
  visit("held_back", x.held_back);
}

// -- reading --------------------------------------------------------------------------------------

bool seal_is_right(std::string_view bytes) {
  const auto seal_size = seal_head.size() + seal_digits + seal_tail.size();
  if (bytes.size() <= seal_size || !bytes.ends_with(seal_tail)) return false;
  const auto body = bytes.substr(0, bytes.size() - seal_size);
  const auto seal = bytes.substr(body.size());
  if (!seal.starts_with(seal_head)) return false;
  const auto digits = seal.substr(seal_head.size(), seal_digits);
  std::uint32_t sum = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), sum, 16);
  return end.ec == std::errc{} && end.ptr == digits.data() + digits.size() && sum == crc32c(body);
}

parse_result damaged(std::string why) {
  return {parse_problem::damaged, std::move(why)};
}

/// Checks what both kinds of files have in common and hands the members to `fill`.
template <class Fill>
parse_result parse(std::string_view bytes, Fill fill) {
  // The parser keeps its memory from one file to the next, unless it needed much.
  thread_local simdjson::dom::parser kept;
  simdjson::dom::parser once;
  auto& parser = bytes.size() > kept_parser_bytes ? once : kept;
  simdjson::dom::element root;
  const auto code = parser.parse(bytes.data(), bytes.size()).get(root);
  if (code) return damaged(std::string{"not JSON: "} + simdjson::error_message(code));
  if (!root.is_object()) return damaged("not a JSON object");
  std::string error;
  json_reader reader{root, {}, error};
  std::int64_t its_version = 0;
  reader("version", its_version);
  reader.require("version");
  fill(reader);
  if (error.empty() && its_version != version) {
    return {parse_problem::unknown_version,
            "version " + std::to_string(its_version) + " is not known here"};
  }
  if (!seal_is_right(bytes)) return damaged("the checksum is wrong");
  return error.empty() ? parse_result{} : damaged(std::move(error));
}

}  // namespace

bool is_process_id(std::string_view id) {
  constexpr std::string_view head = "proc_";
  return id.size() == head.size() + 12 && id.starts_with(head) &&
         id.find_first_not_of("0123456789abcdef", head.size()) == id.npos;
}

bool same_process(const process_record& a, const process_record& b) {
  return a.id == b.id && a.boot_id == b.boot_id && a.pid == b.pid && a.start_ticks == b.start_ticks;
}

void mask_secrets(process_record& what) {
  what.command = text::redact(what.command);
  what.handoff_note = text::redact(what.handoff_note);
}

void mask_secrets(receipt& what) {
  mask_secrets(what.process);
  what.output = text::redact_same_length(what.output, what.process.output_assignments);
}

std::string sealed(std::string object) {
  object.pop_back();  // the closing brace
  const auto sum = crc32c(object);
  object += seal_head;
  for (int shift = 28; shift >= 0; shift -= 4) object += "0123456789abcdef"[sum >> shift & 15];
  object += seal_tail;
  return object;
}

std::string to_json(const process_record& what) {
  json::object out;
  out["version"] = version;
  json_writer writer{out};
  each_member(what, writer);
  return sealed(json::serialize(out));
}

std::string to_json(const receipt& what) {
  json::object out;
  out["version"] = version;
  json_writer writer{out};
  each_member_of_receipt(what, writer);
  if (text::is_valid_utf8(what.output)) {
    if (!what.output.empty()) out["output"] = what.output;
  } else {
    out["output_base64"] = text::base64(what.output);
  }
  return sealed(json::serialize(out));
}

parse_result parse_record(std::string_view bytes, process_record& out) {
  out = {};
  return parse(bytes, [&](json_reader& reader) {
    each_member(out, reader);
    reader.require("id");
  });
}

parse_result parse_receipt(std::string_view bytes, receipt& out) {
  out = {};
  return parse(bytes, [&](json_reader& reader) {
    each_member_of_receipt(out, reader);
    reader("output", out.output);
    std::string encoded;
    reader("output_base64", encoded);
    reader.require("process");
    reader.require("exit");
    reader.object("process", [](json_reader& inner) { inner.require("id"); });
    reader.object("exit", [](json_reader& inner) { inner.require("reason"); });
    if (encoded.empty()) return;
    auto decoded = text::from_base64(encoded);
    if (!decoded) return reader.fail("output_base64", "is not base64");
    out.output = std::move(*decoded);
  });
}

}  // namespace troupe::persistence

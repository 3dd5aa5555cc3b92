#include "troupe/frontends/tools/terminal_plan.hpp"

#include <locale.h>
#include <wctype.h>

#include <algorithm>

#include <boost/json/array.hpp>

#include "troupe/frontends/tools/json_text.hpp"
#include "troupe/text/shell_words.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe::tools {

namespace json = boost::json;

namespace {

double seconds(std::chrono::milliseconds span) {
  return static_cast<double>(span.count()) / 1000.0;
}

caf::timespan span_of(double seconds) {
  return std::chrono::duration_cast<caf::timespan>(std::chrono::duration<double>{seconds});
}

char32_t decode_first(std::string_view& valid_utf8) {
  auto first = text::first_chars(valid_utf8, 1);
  auto lead = static_cast<unsigned char>(first[0]);
  char32_t c = first.size() == 1   ? lead
               : first.size() == 2 ? lead & 0x1FU
               : first.size() == 3 ? lead & 0x0FU
                                   : lead & 0x07U;
  for (std::size_t i = 1; i < first.size(); ++i) {
    c = c << 6 | (static_cast<unsigned char>(first[i]) & 0x3FU);
  }
  valid_utf8.remove_prefix(first.size());
  return c;
}

/// Letters and digits of any script, whatever the locale of the program is.
bool is_letter_or_digit(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (!unicode) return c >= 0xC0;
  return iswalnum_l(static_cast<wint_t>(c), unicode) != 0;
}

std::string code_point_name(char32_t c) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (int shift = c > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) out += digits[c >> shift & 15];
  return "U+" + out;
}

/// The fields of a foreground call that only make sense in the background.
std::vector<std::string> background_only(const arguments& args) {
  std::vector<std::string> out;
  if (args.flag("notify")) out.emplace_back("notify");
  if (auto patterns = args.get<std::vector<std::string>>("watch_patterns");
      patterns && !patterns->empty()) {
    out.emplace_back("watch_patterns");
  }
  if (args.get<std::int64_t>("heartbeat").value_or(0) > 0) out.emplace_back("heartbeat");
  if (args.flag("persist_on_release")) out.emplace_back("persist_on_release");
  if (args.flag("pty")) out.emplace_back("pty");
  if (args.flag("stdin")) out.emplace_back("stdin=true");
  return out;
}

/// The same call, in the background.
std::string corrected_call(const arguments& args, std::string_view command, bool with_notify) {
  json::object call;
  call["command"] = command;
  call["background"] = true;
  if (with_notify || args.flag("notify")) call["notify"] = true;
  if (auto patterns = args.get<std::vector<std::string>>("watch_patterns")) {
    json::array list;
    for (const auto& pattern : *patterns) list.emplace_back(pattern);
    call["watch_patterns"] = std::move(list);
  }
  if (auto beat = args.get<std::int64_t>("heartbeat")) call["heartbeat"] = *beat;
  if (args.flag("persist_on_release")) call["persist_on_release"] = true;
  if (args.flag("pty")) call["pty"] = true;
  if (args.flag("stdin")) call["stdin"] = true;
  if (!args.text("workdir").empty()) call["workdir"] = args.text("workdir");
  return "terminal(" + to_text(call) + ")";
}

/// The command without the word that detaches it, where that is easy to see; else as it is, which is
/// right for servers and tolerable in the background for the rest.
std::string_view without_detaching(std::string_view command, std::string_view what) {
  auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  while (!command.empty() && blank(command.back())) command.remove_suffix(1);
  if (what == "&" && command.ends_with('&') && !command.ends_with("&&")) {
    command.remove_suffix(1);
    while (!command.empty() && blank(command.back())) command.remove_suffix(1);
  }
  for (std::string_view word : {"nohup ", "setsid "}) {
    if (command.starts_with(word)) command.remove_prefix(word.size());
  }
  return command;
}

std::string refusal_of_foreground(const arguments& args) {
  if (auto names = background_only(args); !names.empty()) {
    std::string list;
    for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
    return list + (names.size() == 1 ? " works" : " work") +
           " only in the background. Nothing was run. Call instead: " +
           corrected_call(args, args.text("command"), false);
  }
  auto command = args.text("command");
  if (auto refused = text::refuse_foreground(command)) {
    auto call = corrected_call(args, without_detaching(command, refused->what), true);
    return refused->reason + " Nothing was run. Call instead: " + call;
  }
  return {};
}

void take_stdin(const arguments& args, spawn_request& request) {
  if (auto data = args.get<std::string>("stdin")) {
    request.stdin_pipe = true;
    request.stdin_data = *data;
    request.stdin_close = true;
  } else if (args.flag("stdin")) {
    request.stdin_pipe = true;
  }
}

/// Notify, patterns and heartbeat: what was asked for, if anybody would hear of it.
void take_events(const arguments& args, const options&, bool can_receive, terminal_plan& plan) {
  auto& request = plan.request;
  request.notify = args.flag("notify");
  request.watch_patterns =
      args.get<std::vector<std::string>>("watch_patterns").value_or(std::vector<std::string>{});
  auto beat = args.get<std::int64_t>("heartbeat").value_or(0);
  if (beat > 0) {
    request.heartbeat_seconds =
        std::max(static_cast<std::uint32_t>(beat), defaults::heartbeat_min_seconds);
    request.notify = true;
    if (beat < defaults::heartbeat_min_seconds) {
      plan.notes["heartbeat_note"] =
          "heartbeats come at most every " + std::to_string(defaults::heartbeat_min_seconds) + " s";
    }
  }
  bool asked = request.notify || !request.watch_patterns.empty() || request.heartbeat_seconds > 0;
  if (asked && !can_receive) {
    request.notify = false;
    request.watch_patterns.clear();
    request.heartbeat_seconds = 0;
    plan.notes.erase("heartbeat_note");
    plan.notes["notify_on_complete"] = false;
    plan.notes["notify_unsupported"] =
        "this client cannot receive events, so notify, watch_patterns and heartbeat are off; use "
        "process(action=wait) or process(action=poll) with the session_id";
  } else if (!asked) {
    plan.notes["hint"] =
        "nothing will be reported by itself (no notify, no watch_patterns); use "
        "process(action=wait) or process(action=poll) with the session_id";
  }
}

}  // namespace

std::string bad_workdir_character(std::string_view workdir) {
  static constexpr std::string_view allowed = "/\\:_-.~ +@=,";
  while (!workdir.empty()) {
    auto shown = std::string{text::first_chars(workdir, 1)};
    auto c = decode_first(workdir);
    if (is_letter_or_digit(c)) continue;
    if (c < 0x80 && allowed.find(static_cast<char>(c)) != std::string_view::npos) continue;
    if (c < 0x20 || (c >= 0x7F && c < 0xA1)) return code_point_name(c);
    return "'" + shown + "' (" + code_point_name(c) + ")";
  }
  return {};
}

std::variant<terminal_plan, terminal_refusal> plan_terminal(const arguments& args,
                                                            const options& opts,
                                                            bool can_receive_events) {
  auto timeout = args.get<double>("timeout");
  if (timeout && *timeout <= 0) {
    return terminal_refusal{"timeout must be positive (got " + to_text(*timeout) + ")"};
  }
  if (auto bad = bad_workdir_character(args.text("workdir")); !bad.empty()) {
    return terminal_refusal{"workdir must not contain the character " + bad +
                            "; letters, digits and / \\ : _ - . ~ space + @ = , are allowed"};
  }
  bool background = args.flag("background");
  if (!background) {
    if (auto text = refusal_of_foreground(args); !text.empty()) {
      return terminal_refusal{std::move(text)};
    }
  }
  terminal_plan plan;
  auto& request = plan.request;
  request.command = args.text("command");
  request.workdir = args.text("workdir");
  request.environment = args.text("environment");
  request.pty = args.flag("pty");
  request.persist_on_release = args.flag("persist_on_release");
  request.pipefail = args.flag("pipefail");
  take_stdin(args, request);
  if (timeout) request.timeout = span_of(*timeout);
  auto cap = seconds(opts.foreground_timeout_max);
  bool promoted = !background && timeout && *timeout > cap;
  request.foreground = !background && !promoted;
  if (request.foreground) {
    if (!timeout) request.timeout = opts.foreground_timeout;
    return plan;
  }
  take_events(args, opts, can_receive_events, plan);
  if (promoted) {
    request.notify = can_receive_events;
    plan.notes.erase("hint");
    plan.notes["requested_timeout"] = *timeout;
    plan.notes["foreground_timeout_max"] = static_cast<std::int64_t>(cap);
    auto note = "a timeout of " + to_text(*timeout) + " s is above the " + to_text(cap) +
                " s that a foreground command may take, so the command was started once in the "
                "background and is running: do not run it again. ";
    plan.notes["promoted_from_foreground"] =
        note + (can_receive_events
                    ? "You will be told when it has ended."
                    : "Use process(action=wait) or process(action=poll) with the session_id.");
  }
  return plan;
}

}  // namespace troupe::tools

#include "troupe/frontends/tools/event_text.hpp"

#include "troupe/frontends/tools/answer.hpp"
#include "troupe/text/exit_meaning.hpp"
#include "troupe/text/truncate.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe::tools {

namespace {

std::string how_it_ended(const exit_info& end) {
  const auto signal = [&] {
    return "signal " + std::to_string(end.signal) + ", " +
           std::string{text::signal_name(end.signal)};
  };
  const auto by = end.source.empty() ? std::string{} : " by " + end.source;
  switch (end.reason) {
    case finish_reason::exited:
      if (end.signal != 0) return "terminated (" + signal() + ")";
      if (end.code == 0) return "completed normally (exit code 0)";
      return "exited (exit code " + std::to_string(end.code.value_or(-1)) + ")";
    case finish_reason::killed:
      if (end.signal == 0 && end.code) {
        return "terminated" + by + " (exit code " + std::to_string(*end.code) + ")";
      }
      return "terminated" + by + (end.signal != 0 ? " (" + signal() + ")" : "");
    case finish_reason::timed_out:
      return "terminated at its time limit" +
             (end.signal != 0 ? " (" + signal() + ")" : std::string{});
    case finish_reason::interrupted:
      return "terminated by an interrupt" +
             (end.signal != 0 ? " (" + signal() + ")" : std::string{});
    case finish_reason::failed_to_start:
      return "could not be started";
    case finish_reason::lost:
      return "is gone, and nobody can know how it ended";
  }
  return "ended";
}

std::string held_back(std::uint64_t lines) {
  return lines == 0 ? std::string{}
                    : " " + text::with_thousands(lines) + " more matching lines were held back.";
}

}  // namespace

std::string event_headline(const event& x) {
  const auto subject = "Background process " + x.process + " ";
  switch (x.kind) {
    case event_kind::completion:
      return subject + (x.exit ? how_it_ended(*x.exit) : "ended") + "." + held_back(x.held_back);
    case event_kind::watch_match:
      return subject + "matched the watch pattern \"" + text::to_valid_utf8(x.pattern) + "\"." +
             held_back(x.held_back);
    case event_kind::watch_disabled:
      return subject + "is not watched any more: " + x.note + "." + held_back(x.held_back);
    case event_kind::watch_overflow:
      return x.note + "." + held_back(x.held_back);
    case event_kind::heartbeat:
      return subject + "is still running; this is new.";
    case event_kind::environment:
      return x.note;
    case event_kind::gap:
      return text::with_thousands(x.held_back) + " events are missing: " + x.note + ".";
  }
  return x.note;
}

std::string event_text(const event& x) {
  std::string out = "[IMPORTANT: " + event_headline(x);
  if (!x.command.empty()) out += "\nCommand: " + text::to_valid_utf8(x.command);
  if (!x.output.empty()) {
    const bool match = x.kind == event_kind::watch_match;
    out += match ? "\nMatching lines:\n" : "\nOutput:\n";
    if (x.output_cut > 0) {
      out += "[" + text::with_thousands(x.output_cut) + " characters before this are not shown]\n";
    }
    out += text::to_valid_utf8(x.output);
    while (out.ends_with('\n')) out.pop_back();
  }
  return out + "]";
}

boost::json::object event_object(const event& x) {
  boost::json::object out;
  out["sequence"] = x.sequence;
  out["kind"] = to_string(x.kind);
  out["at"] = iso8601(x.at);
  if (!x.process.empty()) out["session_id"] = x.process;
  if (!x.command.empty()) out["command"] = text::to_valid_utf8(x.command);
  if (x.exit) add_exit(out, *x.exit);
  if (!x.pattern.empty()) out["pattern"] = text::to_valid_utf8(x.pattern);
  if (x.held_back > 0) out["held_back"] = x.held_back;
  if (!x.output.empty()) out["output"] = text::to_valid_utf8(x.output);
  if (x.output_cut > 0) out["output_cut"] = x.output_cut;
  out["text"] = event_headline(x);
  return out;
}

}  // namespace troupe::tools

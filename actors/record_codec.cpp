#include "troupe/actors/record_codec.hpp"

#include "troupe/text/redact.hpp"

namespace troupe {

persistence::owner_fields owner_fields_of(const caller& owner) {
  return {owner.session, owner.turn,    owner.platform, owner.chat,
          owner.thread,  owner.message, owner.user_id,  owner.user_name};
}

caller caller_of(const persistence::owner_fields& owner) {
  return {owner.session, owner.turn,    owner.platform, owner.chat,
          owner.thread,  owner.message, owner.user_id,  owner.user_name};
}

persistence::process_record record_of(const spawn_request& request, const caller& owner) {
  persistence::process_record x;
  x.id = request.id;
  x.command = request.command;  // whoever writes it masks it
  x.output_assignments = text::prints_environment(request.command);
  x.environment = request.environment;
  x.owner = owner_fields_of(owner);
  x.timeout = request.timeout ? request.timeout->count() : 0;
  x.pty = request.pty;
  x.has_stdin = request.stdin_pipe;
  x.rows = request.rows;
  x.cols = request.cols;
  x.keep_on_owner_death = request.owner_death == "keep";
  x.notify = request.notify;
  x.watch_plain = request.watch_plain;
  x.persist_on_release = request.persist_on_release;
  x.watch_patterns = request.watch_patterns;
  x.heartbeat_seconds = request.heartbeat_seconds;
  x.completion_chars = request.completion_chars;
  return x;
}

spawn_request request_of(const persistence::process_record& record) {
  spawn_request x;
  x.id = record.id;
  x.command = record.command;
  x.environment = record.environment;
  if (record.timeout > 0) x.timeout = caf::timespan{record.timeout};
  x.pty = record.pty;
  x.stdin_pipe = record.has_stdin;
  x.rows = record.rows;
  x.cols = record.cols;
  x.owner_death = record.keep_on_owner_death ? "keep" : "end";
  x.notify = record.notify;
  x.watch_plain = record.watch_plain;
  x.persist_on_release = record.persist_on_release;
  x.watch_patterns = record.watch_patterns;
  x.heartbeat_seconds = record.heartbeat_seconds;
  x.completion_chars = static_cast<std::uint32_t>(record.completion_chars);
  return x;
}

persistence::exit_fields exit_fields_of(const exit_info& end) {
  persistence::exit_fields x;
  x.reason = to_string(end.reason);
  x.code = end.code;
  x.signal = end.signal;
  x.core_dumped = end.core_dumped;
  x.source = end.source;
  x.descendants = end.descendants;
  if (const auto& used = end.usage) {
    x.usage = persistence::usage_fields{
        used->user_us,      used->system_us,          used->max_rss_kib,         used->minor_faults,
        used->major_faults, used->voluntary_switches, used->involuntary_switches};
  }
  return x;
}

exit_info exit_of(const persistence::exit_fields& fields) {
  exit_info x;
  x.code = fields.code;
  x.signal = fields.signal;
  x.core_dumped = fields.core_dumped;
  x.source = fields.source;
  x.descendants = fields.descendants;
  if (!from_string(compat::string_view{fields.reason}, x.reason)) x.reason = finish_reason::lost;
  if (const auto& used = fields.usage) {
    x.usage = resource_usage{
        used->user_us,      used->system_us,          used->max_rss_kib,         used->minor_faults,
        used->major_faults, used->voluntary_switches, used->involuntary_switches};
  }
  return x;
}

}  // namespace troupe

// What is kept of one process (docs/state.md): its record while it runs, its receipt when it is
// finished. Plain values and their JSON. Used by process_files and by whoever fills them in; knows
// nothing of files or actors. Everything here is thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::persistence {

/// Who started it, as given by the caller: `messages`' `caller`, field by field.
struct owner_fields {
  std::string session, turn, platform, chat, thread, message, user_id, user_name;

  friend bool operator==(const owner_fields&, const owner_fields&) = default;
};

/// processes/<id>.json: one running process. Times are nanoseconds (since the epoch).
struct process_record {
  std::string id;       ///< `proc_` and 12 lower-case hex digits
  std::string command;  ///< secrets are masked when it is written
  std::string cwd;
  std::string environment;
  std::string handoff_note;  ///< secrets are masked when it is written
  owner_fields owner;
  /// Slot of the node it belongs to (`events/node-<n>`).
  std::uint32_t node = 0;
  /// Identity of the leader: (boot id, pid, start time in clock ticks since the boot).
  std::string boot_id;
  std::int32_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::int64_t started_at = 0;
  std::int64_t timeout = 0;  ///< from the start; 0: none
  bool kept_by_keeper = false;
  bool pty = false;
  bool has_stdin = false;
  std::uint16_t rows = 0;
  std::uint16_t cols = 0;
  bool keep_on_owner_death = false;
  bool notify = false;
  bool watch_plain = false;
  bool persist_on_release = false;
  bool output_assignments = false;  ///< its output needs `redact_assignments`
  /// Verbatim, because they must work again: the one text here that is not masked.
  std::vector<std::string> watch_patterns;
  std::uint32_t heartbeat_seconds = 0;
  std::uint64_t completion_chars = 0;
  std::string full_output_path;  ///< the file in output/; empty: none yet

  friend bool operator==(const process_record&, const process_record&) = default;
};

/// `resource_usage`: times in microseconds, memory in KiB.
struct usage_fields {
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t max_rss_kib = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;

  friend bool operator==(const usage_fields&, const usage_fields&) = default;
};

/// `exit_info`, with the reason as `to_string` gives it. Starts that failed leave no receipt.
struct exit_fields {
  std::string reason;
  std::optional<std::int32_t> code;
  std::int32_t signal = 0;
  bool core_dumped = false;
  std::string source;
  std::vector<std::int32_t> descendants;
  std::optional<usage_fields> usage;

  friend bool operator==(const exit_fields&, const exit_fields&) = default;
};

/// results/<id>.json: a finished process.
struct receipt {
  process_record process;
  std::int64_t ended_at = 0;
  exit_fields exit;
  std::uint64_t total_bytes = 0;  ///< ever printed
  /// Position of the first byte of `output` in the whole output.
  std::uint64_t output_from = 0;
  /// The last output, raw bytes. Secrets are masked when it is written, without changing its length,
  /// so that cursors stay true.
  std::string output;
  /// Bytes of it that are in `process.full_output_path`, from the first on.
  std::uint64_t full_output_bytes = 0;
  std::uint64_t watch_hits = 0;
  std::uint64_t held_back = 0;

  friend bool operator==(const receipt&, const receipt&) = default;
};

/// `proc_` and 12 lower-case hex digits: the only ids that may name a file.
bool is_process_id(std::string_view id);

/// True if both are the same run of the same process, not only the same id.
bool same_process(const process_record& a, const process_record& b);

/// Masks secrets in command, note and output (forced; docs/state.md). Idempotent.
void mask_secrets(process_record& what);
void mask_secrets(receipt& what);

/// The whole content of a file, as it is: mask first. Ends with a checksum and a line feed.
std::string to_json(const process_record& what);
std::string to_json(const receipt& what);

/// Why a file is not what it should be.
enum class parse_problem : std::uint8_t {
  none,
  damaged,          ///< no JSON, a wrong checksum, a member of the wrong type, or not there
  unknown_version,  ///< intact, and made by a program that we do not know
};

struct parse_result {
  parse_problem problem = parse_problem::none;
  std::string error;  ///< names the member; empty: all is well

  explicit operator bool() const noexcept { return problem == parse_problem::none; }
};

/// Reads the content of a file. `out` is only meaningful without a problem; but `node` is set
/// whenever an intact file says so, also when its version is unknown.
parse_result parse_record(std::string_view bytes, process_record& out);
parse_result parse_receipt(std::string_view bytes, receipt& out);

/// Adds the checksum that a file ends with to a JSON object with at least one member.
std::string sealed(std::string object);

}  // namespace troupe::persistence

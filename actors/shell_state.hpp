// What a shell leaves to the next one: exported variables, functions, aliases and the directory; and
// the scripts around every command that carry it over (behaviour 5). Plain text in, plain text out:
// no actors, no descriptors. Written once, for every backend whose shell is bash.
//
// A command runs as
//
//   bash -c '. /dev/fd/9; . /dev/fd/8; eval "$command"; end'
//
// where the environment holds the exported variables, 9 the rest of the state (`prelude`) and 8 the
// command itself (`command_script`). So the user's text is in no argv, a shell may have read 9 long
// before the command is known (a warm one), and its messages name neither our files nor our lines. At its end, also after `exit` or `set -e`,
// the shell writes a report to a file; after `exec`, a kill or its own EXIT trap with `exit` there is
// none, and nothing that was there before is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// What one shell reported at its end.
struct shell_report {
  std::int32_t code = 0;
  /// Directory in which the command began (not always the one asked for: it may have gone).
  std::string start_cwd;
  std::string cwd;
  /// Codes of the parts of the last pipeline, if the command has one.
  std::vector<std::int32_t> pipestatus;
  std::string exports;    ///< output of `export -p`
  std::string functions;  ///< output of `declare -f`
  std::string aliases;    ///< output of `alias -p`
};

/// Empty if the report is not complete (the shell died while it wrote it).
std::optional<shell_report> parse_report(std::string_view bytes);

/// `declare -x NAME=…` statements of `export -p`, by name. Values may span lines.
std::map<std::string, std::string> parse_exports(std::string_view text);

/// The value in a `declare -x NAME="…"` statement as bash writes it; empty if it has another form or
/// attributes.
std::optional<std::string> exported_value(std::string_view statement);

class shell_state {
 public:
  /// Says which variables must never be kept.
  using name_filter = std::function<bool(std::string_view)>;

  /// The variables of a shell of which nothing is known yet (`NAME=value`).
  void set_base(std::vector<std::string> base) { base_ = std::move(base); }

  /// Takes over what a shell reported. Variables for which `excluded` is true are left as they were.
  /// True if anything changed.
  bool update(const shell_report& report, const name_filter& excluded);

  /// The variables a new shell is started with. Most of the state goes this way: to read it as text
  /// would cost the shell a quarter of its start.
  const std::vector<std::string>& env() const { return known_ ? env_ : base_; }

  /// What a new shell reads first. Deterministic: the same state gives the same text.
  const std::string& prelude() const { return prelude_; }

  /// Counts the changes; a shell that read an older prelude is of no use any more.
  std::uint64_t generation() const { return generation_; }

 private:
  std::map<std::string, std::string> exports_;
  std::vector<std::string> base_;
  std::vector<std::string> env_;
  bool known_ = false;
  std::string prelude_ = make_prelude({}, {}, {});
  std::uint64_t generation_ = 1;

  static std::string make_prelude(const std::map<std::string, std::string>& statements,
                                  const std::string& functions, const std::string& aliases);
};

/// One command for the script on descriptor 8.
struct command_order {
  std::string command;
  std::string process_id;
  /// Where the command begins; empty: where the shell is. `fall_back`: if the directory has gone, the
  /// nearest ancestor that still exists.
  std::string cwd;
  bool fall_back = false;
  std::vector<std::string> env;  ///< `NAME=value`, exported for this command
  bool pipefail = false;
  /// Where to report; empty: no report (background commands change nothing for the next one).
  std::string report_path;
};

std::string command_script(const command_order& order);

/// The script of a login shell that only reports (`bash -l -c`, on descriptor 9).
std::string snapshot_script(const std::string& report_path);

/// The fixed `-c` text of shells that run a command, and of the login shell that is only asked.
inline constexpr const char* shell_runner =
    "builtin . /dev/fd/9 2>/dev/null; builtin . /dev/fd/8 2>/dev/null; "
    "builtin eval \"$__troupe_command\"; { __troupe_end \"$?\"; } 2>/dev/null";
inline constexpr const char* shell_asker = "builtin . /dev/fd/9 >/dev/null 2>&1";

}  // namespace troupe

// What a shell leaves to the next one: exported variables, functions, aliases and the directory
// (behaviour 5). Plain text in, plain text out: no actors, no descriptors. The scripts that carry it
// over are in shell_scripts.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// What one shell reported at its end.
struct shell_report {
  std::int32_t code = 0;
  /// Of a command that changes nothing (`text::plain`): what is below `pipestatus` is not known, and
  /// `cwd` is where it began.
  bool plain = false;
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
  void set_base(std::vector<std::string> base);

  /// Takes over what a shell reported. Variables for which `excluded` is true are left as they were.
  /// True if anything changed.
  bool update(const shell_report& report, const name_filter& excluded);

  /// The variables a new shell is started with. Most of the state goes this way: to read it as text
  /// would cost the shell a quarter of its start.
  const std::vector<std::string>& env() const { return known_ ? env_ : base_; }

  /// What a new shell reads after our functions. Deterministic: the same state gives the same text.
  const std::string& prelude() const { return prelude_; }

  /// Whether a command with these command words (`text::plain`) finds programs and builtins behind
  /// them, and a shell that does as usual: no functions or aliases of these names, and nothing in the
  /// environment that turns a shell into another one.
  bool leaves_alone(const std::vector<std::string_view>& words) const;

  /// Whether such a command needs the prelude all the same: for functions that are exported or called
  /// for unknown commands, and for variables that cannot be given to exec(2).
  bool prelude_matters() const { return prelude_matters_; }

  /// Counts the changes; a shell that read an older prelude is of no use any more.
  std::uint64_t generation() const { return generation_; }

 private:
  std::map<std::string, std::string> exports_;
  std::vector<std::string> base_;
  std::vector<std::string> env_;
  bool known_ = false;
  std::string prelude_ = make_prelude({}, {}, {});
  std::set<std::string, std::less<>> names_;  ///< of functions and aliases
  bool prelude_matters_ = false;
  bool usual_ = false;  ///< nothing in `env()` makes a shell behave otherwise
  std::uint64_t generation_ = 1;

  void look_at_names(const shell_report& report);

  static std::string make_prelude(const std::map<std::string, std::string>& statements,
                                  const std::string& functions, const std::string& aliases);
};

}  // namespace troupe

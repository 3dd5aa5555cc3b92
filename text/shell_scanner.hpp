// A scanner for shell commands: which simple commands a text holds, in which words, and how each one
// ends. Used by the foreground rules, sudo and redaction. It understands quotes, `$'…'`, comments,
// here-documents, expansions, substitutions, arithmetic, `[[ ]]`, groups, subshells, compound
// commands and redirections; it expands nothing. Guarantees: any bytes may be given, time is linear
// and nesting is bounded. Pure and thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::text {

/// A word as the shell would see it: quotes removed, expansions left as they are written.
struct shell_word {
  std::string text;
  size_t begin = 0;     ///< byte offset in the command
  bool quoted = false;  ///< some part of it was quoted, so it is no reserved word
};

/// One simple command (or `[[ … ]]`, whose first word is `[[`).
struct scanned_command {
  std::vector<shell_word> assignments;  ///< `NAME=value` before the command word
  std::vector<shell_word> words;        ///< command word and arguments; no redirections
  std::vector<std::string> inputs;      ///< targets of `<` redirections
  bool negated = false;                 ///< behind `!`
  int substitution = 0;                 ///< depth of `$( )`, backticks and `<( )` around it
};

struct scanned_shell {
  std::vector<scanned_command> commands;  ///< in the order in which they end
  std::vector<size_t> background;         ///< offsets of each `&` that sends a command there
};

scanned_shell scan_shell(std::string_view command);

}  // namespace troupe::text

// Commands that leave nothing behind in the shell that runs them. Used by environments: such a
// command need not be asked at its end what it has changed, which is a third of what a short command
// costs. Pure and thread-safe.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace troupe::text {

/// A list of simple commands that bash can only run as other programs or as builtins that change
/// nothing.
struct plain_command {
  /// The command words, as they are written. If one of them is a function or an alias, all of this is
  /// void; the caller knows those.
  std::vector<std::string_view> words;
  bool pipeline = false;  ///< one of them is a pipeline
};

/// Recognizes a small language on purpose, and says nothing about everything outside it: words,
/// quotes, `$name`, `${name}`, globs, redirections, `|`, `&&`, `||`, `;` and line feeds. Assignments,
/// builtins with a memory, reserved words, substitutions, arithmetic, other expansions,
/// here-documents, comments, groups and `&` are outside. Any bytes may be given; time is linear.
std::optional<plain_command> plain(std::string_view command);

}  // namespace troupe::text

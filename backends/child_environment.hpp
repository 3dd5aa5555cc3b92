// What a child inherits: the variables of the node without provider and messaging credentials
// (behaviour 5), and the variables every child gets. The list of blocked names is documented in
// docs/behaviour.md and lives here.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::backends {

/// True for names of credentials that children must not see: model-provider keys and base URLs, chat
/// tokens, cloud sandbox tokens. Case-insensitive.
bool is_blocked_variable(std::string_view name);

/// True for secrets of Troupe itself (`TROUPE_*` with SECRET, TOKEN, KEY or PASSWORD in the name).
/// Nothing passes them on, not even force or a pass list.
bool is_internal_secret(std::string_view name);

/// The variables of this process as they are now, `NAME=value` each. Not while another thread changes
/// them.
std::vector<std::string> own_environment();

/// The name in `NAME=value` or `_TROUPE_FORCE_NAME=value`.
std::string_view plain_name(std::string_view entry);

/// Computes the environments of children. Immutable after construction; thread-safe.
class child_environment {
 public:
  /// `base`: the variables of the node (`NAME=value` each). `pass`: blocked names that may pass.
  /// `block`: further names that may not.
  explicit child_environment(const std::vector<std::string>& base,
                             std::vector<std::string> pass = {},
                             std::vector<std::string> block = {});

  /// The complete environment of one child: base, then `extra` (`NAME=value`; a blocked name is
  /// dropped unless it is on the pass list; `_TROUPE_FORCE_NAME=value` gives NAME whatever the block
  /// list says), then `TROUPE_PROCESS=<marker>`.
  std::vector<std::string> make(const std::vector<std::string>& extra,
                                std::string_view marker) const;

  /// What of `extra` a child may see, with forced names unwrapped.
  std::vector<std::string> extras(const std::vector<std::string>& extra) const;

  /// True if children may see a variable of this name.
  bool passes(std::string_view name) const;

  /// The variables that every child gets, but for its marker (`NAME=value`, sorted by name).
  const std::vector<std::string>& base() const { return base_; }

  /// Value of a variable of the base, empty if there is none.
  std::string_view base_value(std::string_view name) const;

 private:
  std::vector<std::string> base_;  // sorted by name
  std::set<std::string, std::less<>> pass_;
  std::set<std::string, std::less<>> block_;
};

/// Closes the memory of this program to its children: marks it as not dumpable, and overwrites the
/// values of blocked variables and internal secrets in the initial environment block, which
/// /proc/<pid>/environ shows even to root. The variables are removed from `environ` as well. For
/// programs, at the start, before any thread; `pass` as above. Returns what was removed
/// (`NAME=value`), so that the program can still use it.
std::vector<std::string> close_own_environment(const std::vector<std::string>& pass);

}  // namespace troupe::backends

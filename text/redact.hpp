// Masking of secrets in text that leaves: tool results, events, receipts, logs. Used last, after
// truncation views are made. Guarantees: idempotent; text without secrets comes out identical; text
// without anything that looks like the beginning of a secret costs one pass over its bytes.
//
// Masks: a vendor token of at least 24 characters keeps its first 6 and last 4 (`sk-pro...9aZ4`),
// so that a person can tell which one it was; everything else becomes `***`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::text {

/// Masks vendor tokens, authorization and API-key headers, JWTs, private key blocks and passwords in
/// URLs. `text` may be any bytes. Thread-safe.
std::string redact(std::string_view text);

/// As `redact`, and also the values of secret names in `NAME=value`, `name: value` and
/// `"name": "value"`. For the output of commands that print an environment. Thread-safe.
std::string redact_assignments(std::string_view text);

/// As `redact`, or with `assignments` as `redact_assignments`, but every masked byte becomes a `*`, so
/// that positions in the text stay true. All other bytes are untouched. Thread-safe.
std::string redact_same_length(std::string_view text, bool assignments);

/// True if the output of `command` needs `redact_assignments`: some simple command in it is env,
/// printenv, set, export or declare, or reads a secret-bearing file (`.env`, shell rc files,
/// credential files) with cat, head, grep and the like. Thread-safe.
bool prints_environment(std::string_view command);

/// The policy of one output: on or off as a whole. Immutable, thread-safe.
class redactor {
 public:
  explicit redactor(bool enabled = true) : enabled_(enabled) {}

  bool enabled() const noexcept { return enabled_; }

  /// `text` without its secrets, or as it is when switched off.
  std::string redact(std::string_view text) const;

  /// The same for the output of `command`: assignments too, if it prints an environment.
  std::string redact_output(std::string_view command, std::string_view text) const;

 private:
  bool enabled_;
};

/// Names of the kinds of secrets that `redact` knows, for documentation and tests.
std::vector<std::string_view> redaction_kinds();

}  // namespace troupe::text

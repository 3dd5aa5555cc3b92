// The table of secrets that redaction knows, one row per kind. Internal to text/.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace troupe::text {

/// What a match of a row becomes.
enum class mask_style {
  token,     ///< the whole match is the secret; long ones keep a hint of it
  captured,  ///< the group 1 of the match is the secret and becomes `***`
};

/// One kind of secret.
struct redaction_pattern {
  std::string_view kind;
  /// Literal that begins the match; found first, by a scan over all rows at once. At least 3 bytes.
  std::string_view literal;
  /// RE2, matched at the literal and only there, so it needs no leading context. Bytes, not
  /// characters.
  std::string_view regex;
  mask_style style = mask_style::token;
  /// The literal must not continue a word (letters, digits, underscore).
  bool at_word = true;
  /// Fewest digits that must stand before the literal and belong to the secret, 0 for none.
  int digits_before = 0;
  /// Longest match, in bytes: keeps the cost of hostile text linear.
  size_t limit = 2048;
};

/// All rows. Of those that match at a place the first one wins.
const std::vector<redaction_pattern>& redaction_patterns();

}  // namespace troupe::text

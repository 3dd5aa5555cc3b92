// Untrusted JSON as a plain tree. Used by the tools for their arguments and by the MCP server for its
// frames. simdjson does the parsing; this tree keeps what the callers have to see exactly: numbers as
// they were written (so that a request id of any size can be echoed and a huge number can be named in
// an error), duplicate keys as errors, and bounds on depth and size. Never throws on any input.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe::tools {

struct json_member;

/// One JSON value. Only the member that belongs to `kind` is meaningful.
struct json_value {
  enum class type { null, boolean, number, string, array, object };

  type kind = type::null;
  bool boolean = false;
  /// The text of a string (valid UTF-8), or a number as it was written.
  std::string text;
  std::vector<json_value> items;
  std::vector<json_member> members;

  bool is(type k) const noexcept { return kind == k; }

  /// The member of this name, or nullptr (also if this is no object).
  const json_value* find(std::string_view name) const noexcept;

  /// True for a number without fraction and exponent.
  bool is_integer_token() const noexcept;
};

/// One member of an object. (Not a pair: that may not be named before json_value is complete.)
struct json_member {
  std::string name;
  json_value value;
};

/// What a value is, for error texts: `a string`, `null`, `a number`.
std::string_view describe(const json_value& value) noexcept;

/// A short rendering of a value for error texts, at most about 40 characters.
std::string excerpt(const json_value& value);

/// True if `text` is a number by the grammar of JSON.
bool is_json_number(std::string_view text) noexcept;

struct json_error {
  enum class type { syntax, encoding, too_deep, too_big, duplicate_key };
  type kind = type::syntax;
  /// For people: what is wrong and, for a duplicate key, with which one.
  std::string text;
};

struct json_limits {
  std::size_t depth = 64;
  std::size_t values = 200'000;
};

/// Parses one whole document; anything after it but white space is an error.
std::variant<json_value, json_error> parse_json(std::string_view text, json_limits limits = {});

}  // namespace troupe::tools

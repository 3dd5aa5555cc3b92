// What the tools accept: one table per tool, used both to check a call and to describe the tool to a
// client (JSON Schema, draft 2020-12). Pure values; a wrong call is an error text that names the field
// and the reason.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/json/object.hpp>

#include "troupe/frontends/tools/json_value.hpp"

namespace troupe::tools {

/// What a field may hold. A number may also be sent as a string that holds one.
enum class field_type {
  string,
  integer,
  number,
  boolean,
  process_id,   ///< a string; integers and null become text
  signal,       ///< a name (`TERM`, `SIGTERM`) or a number; checked as a signal, kept as an integer
  stdin_data,   ///< a string, or `true`
  string_list,  ///< an array of strings
};

struct field_spec {
  std::string_view name;
  field_type type = field_type::string;
  std::string_view description;
  bool required = false;
  /// Allowed values of a string; empty: any.
  std::vector<std::string_view> choices = {};
  /// Bounds of a number (both inclusive).
  double minimum = std::numeric_limits<double>::lowest();
  double maximum = std::numeric_limits<double>::max();
  /// Actions (values of the field `action`) that take this field; empty: all.
  std::vector<std::string_view> actions = {};
  /// Actions that cannot do without it.
  std::vector<std::string_view> required_for = {};
  /// Longest string, or longest string in a list, in bytes.
  std::size_t max_bytes = 1 << 20;
  /// True: the text goes to the system as a C string, which holds no NUL.
  bool no_nul = true;
};

struct tool_spec {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::vector<field_spec> fields;
  boost::json::object (*output_schema)();
  bool read_only = false;
  bool destructive = true;
  bool idempotent = false;
  bool open_world = true;
};

/// The checked arguments of a call. Numbers are whole where the table says `integer`.
class arguments {
 public:
  using value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }

  /// The value of a field, or nothing if it was not given.
  template <class T>
  std::optional<T> get(std::string_view name) const {
    auto i = values_.find(name);
    if (i == values_.end()) return std::nullopt;
    if (auto* x = std::get_if<T>(&i->second)) return *x;
    return std::nullopt;
  }

  std::string text(std::string_view name) const {
    return get<std::string>(name).value_or(std::string{});
  }
  bool flag(std::string_view name) const { return get<bool>(name).value_or(false); }

  void set(std::string_view name, value x) { values_.insert_or_assign(std::string{name}, x); }

 private:
  std::map<std::string, value, std::less<>> values_;
};

/// Either checked arguments or what is wrong with them.
struct checked {
  arguments values;
  std::string error;
  bool ok() const noexcept { return error.empty(); }
};

/// Checks a call against its table. Never throws, guesses nothing.
checked validate(const tool_spec& tool, const json_value& input);

/// The table as JSON Schema.
boost::json::object input_schema(const tool_spec& tool);

/// The two tools.
const tool_spec& process_tool();
const tool_spec& terminal_tool();

/// All tools, in the order in which they are listed.
std::vector<const tool_spec*> all_tools();

/// The tool of this name, or nullptr.
const tool_spec* find_tool(std::string_view name);

}  // namespace troupe::tools

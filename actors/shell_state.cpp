#include "troupe/actors/shell_state.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace troupe {

namespace {

/// Variables that describe one shell and not the state it leaves.
constexpr std::string_view never_kept[] = {"_",         "BASHOPTS", "EUID",           "PPID", "PWD",
                                           "SHELLOPTS", "SHLVL",    "TROUPE_PROCESS", "UID"};

constexpr std::string_view report_head = "troupe1";
constexpr std::string_view plain_head = "plain1";
constexpr std::string_view report_tail = "end";

std::string_view take_field(std::string_view& rest) {
  const auto end = rest.find('\0');
  const auto field = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  return field;
}

std::optional<std::int32_t> number(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// End of the statement that begins at `at`: the first line feed outside quotes.
std::size_t statement_end(std::string_view text, std::size_t at) {
  enum class quote { none, single, dollar, twice } inside = quote::none;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    switch (inside) {
      case quote::none:
        if (c == '\n') return at;
        if (c == '\\') {
          ++at;
        } else if (c == '"') {
          inside = quote::twice;
        } else if (c == '\'') {
          inside = at > 0 && text[at - 1] == '$' ? quote::dollar : quote::single;
        }
        break;
      case quote::single:
        if (c == '\'') inside = quote::none;
        break;
      case quote::dollar:
        if (c == '\\') {
          ++at;
        } else if (c == '\'') {
          inside = quote::none;
        }
        break;
      case quote::twice:
        if (c == '\\') {
          ++at;
        } else if (c == '"') {
          inside = quote::none;
        }
        break;
    }
  }
  return text.size();
}

/// The variable a `declare -x NAME…` or `export NAME…` statement is about.
std::string_view statement_name(std::string_view statement) {
  if (statement.starts_with("declare -")) {
    const auto space = statement.find(' ', std::string_view{"declare -"}.size());
    if (space == statement.npos) return {};
    statement.remove_prefix(space + 1);
  } else if (statement.starts_with("export ")) {
    statement.remove_prefix(std::string_view{"export "}.size());
  } else {
    return {};
  }
  return statement.substr(0, statement.find('='));
}

/// Largest part of the state that is given as environment: exec(2) allows a quarter of the stack limit
/// for arguments and environment together, 2 MiB by default, and 128 KiB for one string.
constexpr std::size_t largest_env = 1 << 20;
constexpr std::size_t largest_variable = 100 * 1024;

/// Decodes `$'…'`, from behind the first quote. Empty for escapes that bash does not write.
std::optional<std::string> decode_ansi_c(std::string_view text) {
  constexpr std::string_view names = "abeEfnrtv\\'\"?";
  constexpr std::string_view meant = "\a\b\033\033\f\n\r\t\v\\'\"?";
  std::string value;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\'') {
      return at + 1 == text.size() ? std::optional{std::move(value)} : std::nullopt;
    }
    if (text[at] != '\\') {
      value += text[at];
      continue;
    }
    if (++at == text.size()) return std::nullopt;
    if (const auto name = names.find(text[at]); name != names.npos) {
      value += meant[name];
      continue;
    }
    int code = 0;
    int digits = 0;
    for (; digits < 3 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++digits, ++at) {
      code = code * 8 + (text[at] - '0');
    }
    if (digits == 0) return std::nullopt;
    --at;
    value += static_cast<char>(code);
  }
  return std::nullopt;
}

/// Decodes `"…"`, from behind the first quote.
std::optional<std::string> decode_double_quoted(std::string_view text) {
  constexpr std::string_view escaped = "\\\"$`";
  std::string value;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      return at + 1 == text.size() ? std::optional{std::move(value)} : std::nullopt;
    }
    if (text[at] == '\\' && at + 1 < text.size() && escaped.find(text[at + 1]) != escaped.npos) {
      ++at;
    }
    value += text[at];
  }
  return std::nullopt;
}

/// Whether a shell with these variables begins like any other: bash takes its options, functions and a
/// script to read first from some.
bool is_usual(const std::vector<std::string>& env) {
  constexpr std::string_view unusual[] = {
      "BASHOPTS=", "BASH_COMPAT=", "BASH_ENV=", "BASH_FUNC_", "POSIXLY_CORRECT=", "SHELLOPTS="};
  return std::none_of(env.begin(), env.end(), [&](const std::string& entry) {
    return std::any_of(std::begin(unusual), std::end(unusual),
                       [&](std::string_view name) { return entry.starts_with(name); });
  });
}

template <class F>
void for_each_line(std::string_view text, F act) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    act(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

bool is_never_kept(std::string_view name) {
  return std::find(std::begin(never_kept), std::end(never_kept), name) != std::end(never_kept);
}

}  // namespace

std::optional<shell_report> parse_report(std::string_view bytes) {
  auto rest = bytes;
  take_field(rest);  // what the shell has noted for itself
  shell_report report;
  const auto head = take_field(rest);
  report.plain = head == plain_head;
  if (!report.plain && head != report_head) return std::nullopt;
  const auto code = number(take_field(rest));
  if (!code) return std::nullopt;
  report.code = *code;
  report.start_cwd = report.cwd = take_field(rest);
  if (!report.plain) {
    auto cwd = take_field(rest);
    if (cwd.ends_with('\n')) cwd.remove_suffix(1);
    report.cwd = cwd;
  }
  auto codes = take_field(rest);
  while (!codes.empty()) {
    const auto space = codes.find(' ');
    if (const auto part = number(codes.substr(0, space))) report.pipestatus.push_back(*part);
    codes.remove_prefix(space == codes.npos ? codes.size() : space + 1);
  }
  if (!report.plain) {
    report.exports = take_field(rest);
    report.functions = take_field(rest);
    report.aliases = take_field(rest);
  }
  if (take_field(rest) != report_tail) return std::nullopt;
  return report;
}

std::map<std::string, std::string> parse_exports(std::string_view text) {
  std::map<std::string, std::string> result;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = statement_end(text, at);
    const auto statement = text.substr(at, end - at);
    if (const auto name = statement_name(statement); !name.empty()) {
      result.insert_or_assign(std::string{name}, std::string{statement});
    }
    at = end + 1;
  }
  return result;
}

std::optional<std::string> exported_value(std::string_view statement) {
  constexpr std::string_view plain = "declare -x ";
  if (!statement.starts_with(plain)) return std::nullopt;
  const auto equals = statement.find('=');
  if (equals == statement.npos) return std::nullopt;
  const auto value = statement.substr(equals + 1);
  if (value.starts_with('"')) return decode_double_quoted(value.substr(1));
  if (value.starts_with("$'")) return decode_ansi_c(value.substr(2));
  return std::nullopt;
}

void shell_state::set_base(std::vector<std::string> base) {
  base_ = std::move(base);
  usual_ = is_usual(env());
}

bool shell_state::leaves_alone(const std::vector<std::string_view>& words) const {
  return usual_ && std::none_of(words.begin(), words.end(),
                                [&](std::string_view word) { return names_.contains(word); });
}

bool shell_state::update(const shell_report& report, const name_filter& excluded) {
  if (report.plain) return false;
  auto exports = parse_exports(report.exports);
  std::erase_if(exports,
                [&](const auto& row) { return is_never_kept(row.first) || excluded(row.first); });
  // What was excluded only from this report keeps the value it had.
  for (const auto& [name, statement] : exports_) {
    if (excluded(name)) exports.emplace(name, statement);
  }
  std::vector<std::string> env;
  for (const auto& entry : base_) {
    if (is_never_kept(std::string_view{entry}.substr(0, entry.find('=')))) env.push_back(entry);
  }
  std::map<std::string, std::string> statements;
  std::size_t size = 0;
  for (const auto& [name, statement] : exports) {
    const auto value = exported_value(statement);
    if (value && value->size() <= largest_variable && size + value->size() <= largest_env) {
      size += name.size() + value->size() + 2;
      env.push_back(name + "=" + *value);
    } else {
      statements.emplace(name, statement);
    }
  }
  auto prelude = make_prelude(statements, report.functions, report.aliases);
  if (known_ && prelude == prelude_ && env == env_) return false;
  known_ = true;
  exports_ = std::move(exports);
  env_ = std::move(env);
  prelude_ = std::move(prelude);
  prelude_matters_ = !statements.empty();
  usual_ = is_usual(env_);
  look_at_names(report);
  ++generation_;
  return true;
}

void shell_state::look_at_names(const shell_report& report) {
  names_.clear();
  for_each_line(report.functions, [this](std::string_view line) {
    // Lines that only look like this (in a here-document) do no harm.
    constexpr std::string_view head = "function ";
    constexpr std::string_view tail = " () ";
    if (line.starts_with("export -f ")) prelude_matters_ = true;
    if (!line.ends_with(tail)) return;
    line.remove_suffix(tail.size());
    if (line.starts_with(head)) line.remove_prefix(head.size());
    names_.emplace(line);
  });
  for_each_line(report.aliases, [this](std::string_view line) {
    for (const std::string_view head : {"alias ", "-- "}) {
      if (line.starts_with(head)) line.remove_prefix(head.size());
    }
    names_.emplace(line.substr(0, line.find('=')));
  });
  if (names_.contains("command_not_found_handle")) prelude_matters_ = true;
}

std::string shell_state::make_prelude(const std::map<std::string, std::string>& statements,
                                      const std::string& functions, const std::string& aliases) {
  std::string result;
  for (const auto& [name, statement] : statements) {
    result += statement;
    result += '\n';
  }
  result += functions;
  result += "\nbuiltin shopt -s expand_aliases\n";
  result += aliases;
  result += "\n\\builtin set +e +u\n";
  return result;
}

}  // namespace troupe

#include "troupe/actors/shell_state.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "troupe/text/quote.hpp"

namespace troupe {

namespace {

using text::shell_quote;

/// Variables that describe one shell and not the state it leaves.
constexpr std::string_view never_kept[] = {"_",         "BASHOPTS", "EUID",           "PPID", "PWD",
                                           "SHELLOPTS", "SHLVL",    "TROUPE_PROCESS", "UID"};

constexpr std::string_view report_head = "troupe1";
constexpr std::string_view report_tail = "end";

/// Begins a command (closes our descriptors, changes the directory) and writes the report at its end.
/// Only builtins, by way of `builtin`, so that no function or alias of the user
/// can get in the way and nothing is forked. It is defined before the user's aliases are.
/// The names of functions go through the report file, because a pipe would be a fork.
constexpr const char* own_functions = R"sh(__troupe_begin() {
exec 8<&- 9<&-
SECONDS=0
builtin local __troupe_old=${OLDPWD-}
__troupe_start=$1
if [[ -z $1 ]]; then builtin return; fi
if [[ -n $2 ]]; then
while [[ -n $__troupe_start ]] && ! builtin cd -- "$__troupe_start"; do
__troupe_start=${__troupe_start%/*}
done
__troupe_start=${__troupe_start:-/}
fi
builtin cd -- "$__troupe_start"
OLDPWD=$__troupe_old
}
__troupe_end() {
builtin set +eux
if [[ -n ${__troupe_done-} || -z ${__troupe_report-} ]]; then builtin return "$1"; fi
__troupe_done=1
builtin local IFS=' ' __troupe_line __troupe_code="${__troupe_ps[0]-$1}"
builtin local -a __troupe_names __troupe_all __troupe_exported
builtin declare -F >|"$__troupe_report"
builtin mapfile -t __troupe_all <"$__troupe_report"
for __troupe_line in "${__troupe_all[@]}"; do
case "${__troupe_line##* }" in __troupe_*) builtin continue ;; _[!_]*) builtin continue ;; esac
__troupe_names+=("${__troupe_line##* }")
case "$__troupe_line" in "declare -f"*x*" "*) __troupe_exported+=("${__troupe_line##* }") ;; esac
done
{
builtin printf '%s\0' troupe1 "$__troupe_code" "${__troupe_start-}"
builtin pwd
builtin printf '\0%s\0' "${__troupe_ps[*]:1}"
builtin export -p
builtin printf '\0'
if ((${#__troupe_names[@]})); then builtin declare -f "${__troupe_names[@]}"; fi
if ((${#__troupe_exported[@]})); then builtin printf 'export -f %s\n' "${__troupe_exported[@]}"; fi
builtin printf '\0'
builtin alias -p
builtin printf '\0end\0'
} >|"$__troupe_report"
builtin return "$__troupe_code"
}
)sh";

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

/// What bash takes over from its environment as a variable.
bool is_identifier(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool has_pipeline(std::string_view command) {
  // A line behind the command could become part of it: a here document without its end, a trailing
  // backslash. Then the codes of the parts are not asked for.
  return command.find('|') != command.npos && command.find("<<") == command.npos &&
         !command.ends_with('\\');
}

}  // namespace

std::optional<shell_report> parse_report(std::string_view bytes) {
  auto rest = bytes;
  if (take_field(rest) != report_head) return std::nullopt;
  shell_report report;
  const auto code = number(take_field(rest));
  if (!code) return std::nullopt;
  report.code = *code;
  report.start_cwd = take_field(rest);
  auto cwd = take_field(rest);
  if (cwd.ends_with('\n')) cwd.remove_suffix(1);
  report.cwd = cwd;
  auto codes = take_field(rest);
  while (!codes.empty()) {
    const auto space = codes.find(' ');
    if (const auto part = number(codes.substr(0, space))) report.pipestatus.push_back(*part);
    codes.remove_prefix(space == codes.npos ? codes.size() : space + 1);
  }
  report.exports = take_field(rest);
  report.functions = take_field(rest);
  report.aliases = take_field(rest);
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

bool shell_state::update(const shell_report& report, const name_filter& excluded) {
  auto exports = parse_exports(report.exports);
  std::erase_if(exports, [&](const auto& row) {
    return std::find(std::begin(never_kept), std::end(never_kept), row.first) !=
               std::end(never_kept) ||
           excluded(row.first);
  });
  // What was excluded only from this report keeps the value it had.
  for (const auto& [name, statement] : exports_) {
    if (excluded(name)) exports.emplace(name, statement);
  }
  std::vector<std::string> unset;
  for (const auto& base : base_) {
    const bool kept_out =
        std::find(std::begin(never_kept), std::end(never_kept), base) != std::end(never_kept);
    if (is_identifier(base) && !kept_out && !excluded(base) && !exports.contains(base))
      unset.push_back(base);
  }
  auto prelude = make_prelude(unset, exports, report.functions, report.aliases);
  if (prelude == prelude_) return false;
  exports_ = std::move(exports);
  functions_ = report.functions;
  aliases_ = report.aliases;
  prelude_ = std::move(prelude);
  ++generation_;
  return true;
}

std::string shell_state::make_prelude(const std::vector<std::string>& unset,
                                      const std::map<std::string, std::string>& exports,
                                      const std::string& functions, const std::string& aliases) {
  std::string result = own_functions;
  for (const auto& name : unset) result += "builtin unset -v " + name + "\n";
  for (const auto& [name, statement] : exports) {
    result += statement;
    result += '\n';
  }
  result += functions;
  result += "\nbuiltin shopt -s expand_aliases\n";
  result += aliases;
  result += "\n\\builtin set +e +u\n";
  return result;
}

std::string command_script(const command_order& order) {
  // Aliases of the user are in force here, so every command word is quoted.
  std::string script = "__troupe_begin " + shell_quote(order.cwd) + " " +
                       shell_quote(order.fall_back ? "1" : "") + "\n";
  if (!order.process_id.empty()) {
    script += "\\builtin export TROUPE_PROCESS=" + shell_quote(order.process_id) + "\n";
  }
  for (const auto& entry : order.env) {
    const auto equals = entry.find('=');
    script += "\\builtin export " + entry.substr(0, equals) + "=" +
              shell_quote(std::string_view{entry}.substr(equals + 1)) + "\n";
  }
  if (order.pipefail) script += "\\builtin set -o pipefail\n";
  auto command = order.command;
  if (!order.report_path.empty()) {
    script += "__troupe_report=" + shell_quote(order.report_path) + "\n";
    script += "\\builtin trap '{ __troupe_end \"$?\"; } 2>/dev/null' EXIT\n";
    if (has_pipeline(command)) command += "\n__troupe_ps=(\"$?\" \"${PIPESTATUS[@]}\")";
  }
  script += "__troupe_command=" + shell_quote(command) + "\n";
  return script;
}

std::string snapshot_script(const std::string& report_path) {
  std::string script = "exec 9<&-\n";
  script += own_functions;
  script += "__troupe_report=" + shell_quote(report_path) + "\n__troupe_end 0\nbuiltin exit 0\n";
  return script;
}

}  // namespace troupe

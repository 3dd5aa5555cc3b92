#include "troupe/actors/shell_scripts.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include "troupe/text/quote.hpp"
#include "troupe/text/report_filter.hpp"

namespace troupe {

namespace {

using text::shell_quote;

// Only builtins, by way of `builtin`, so that no function or alias of the user can get in the way.
// All of it is defined before the user's aliases are. A shell that is not warm parses it for every
// command, and system calls are most of what it costs: short and few is fast.

/// Begins a command: closes our descriptors, changes the directory.
constexpr const char* begin_function = R"sh(__troupe_begin() {
exec 8<&- 9<&-
SECONDS=0
__troupe_start=$1
if [[ -z $1 ]]; then builtin return; fi
builtin local __troupe_old=${OLDPWD-}
if ! builtin cd -- "$1" && [[ -n $2 ]]; then
__troupe_start=${1%/*}
while [[ -n $__troupe_start ]] && ! builtin cd -- "$__troupe_start"; do
__troupe_start=${__troupe_start%/*}
done
if [[ -z $__troupe_start ]]; then
__troupe_start=/
builtin cd /
fi
fi
OLDPWD=$__troupe_old
}
)sh";

/// The same where nothing has been read before, and the directory is mostly there.
constexpr const char* lone_begin_fall_back = R"sh(__troupe_old=${OLDPWD-}
if ! builtin cd -- "$__troupe_start"; then
while [[ -n $__troupe_start ]] && ! builtin cd -- "$__troupe_start"; do
__troupe_start=${__troupe_start%/*}
done
if [[ -z $__troupe_start ]]; then
__troupe_start=/
builtin cd /
fi
fi
OLDPWD=$__troupe_old
)sh";

constexpr const char* lone_begin = R"sh(__troupe_old=${OLDPWD-}
builtin cd -- "$__troupe_start"
OLDPWD=$__troupe_old
)sh";

/// Ends a command. `__troupe_report` is the file, or `in_band`; what comes again (the EXIT trap) finds
/// it empty. Our functions are no state of the user's.
constexpr const char* end_head = R"sh(__troupe_end() {
builtin set +eux
if [[ -z ${__troupe_report-} ]]; then builtin return "$1"; fi
builtin local IFS=' ' __troupe_line __troupe_code="${__troupe_ps[0]-$1}"
builtin local -a __troupe_names __troupe_all __troupe_exported
builtin unset -f __troupe_begin __troupe_end
)sh";

/// The names of functions are read from the report itself, which begins with them: a pipe would be a
/// fork.
constexpr const char* names_side = R"sh({
builtin declare -F
if [[ -s $__troupe_report ]]; then builtin mapfile -t __troupe_all <"$__troupe_report"; fi
)sh";

/// Where the command ended inside a function, the redirections of its eval are not undone, and the
/// descriptors are still where the shell had put them aside. (7 is there because the next one that
/// is put aside, stderr, takes its place when they are undone.)
constexpr const char* names_in_band = R"sh(builtin trap - DEBUG RETURN ERR
if builtin true <&"$__troupe_a"; then exec 8<&"$__troupe_a" 9>&"$__troupe_b"; fi
builtin local __troupe_marker
builtin read -r -t 5 __troupe_marker <&8
builtin mapfile -t __troupe_all < <(builtin declare -F)
{
)sh";

/// Where the eval is going to put 7, 8 and 9 aside: the lowest numbers from 10 on.
constexpr const char* aside_function = R"sh(__troupe_aside() {
if [[ -n ${__troupe_report-} ]]; then
exec {__troupe_line}<&7 {__troupe_a}<&8 {__troupe_b}>&9
exec {__troupe_line}<&- {__troupe_a}<&- {__troupe_b}>&-
builtin unset __troupe_line
fi
builtin unset -f __troupe_aside
}
)sh";

constexpr const char* choose_names = R"sh(for __troupe_line in "${__troupe_all[@]}"; do
case "${__troupe_line##* }" in _[!_]*) builtin continue ;; esac
__troupe_names+=("${__troupe_line##* }")
case "$__troupe_line" in "declare -f"*x*" "*) __troupe_exported+=("${__troupe_line##* }") ;; esac
done
)sh";

constexpr const char* end_fields =
    R"sh(builtin printf '\0%s\0%s\0%s\0' troupe1 "$__troupe_code" "${__troupe_start-}"
builtin pwd
builtin printf '\0%s\0' "${__troupe_ps[*]:1}"
builtin export -p
builtin printf '\0'
if ((${#__troupe_names[@]})); then builtin declare -f "${__troupe_names[@]}"; fi
if ((${#__troupe_exported[@]})); then builtin printf 'export -f %s\n' "${__troupe_exported[@]}"; fi
builtin printf '\0'
builtin alias -p
builtin printf '\0end\0'
)sh";

constexpr const char* end_side = R"sh(} >|"$__troupe_report"
__troupe_report=
builtin return "$__troupe_code"
}
)sh";

constexpr const char* end_in_band = R"sh(} >&9
exec 7<&- 8<&- 9>&-
__troupe_report=
builtin return "$__troupe_code"
}
)sh";

/// What a plain command reports, where it has something to say; the file follows.
constexpr const char* plain_report =
    R"sh(\builtin printf '%s\0' '' plain1 "${__troupe_ps[0]-0}" "$__troupe_start" "${__troupe_ps[*]:1}" end 2>/dev/null >|)sh";

constexpr const char* keep_codes = "\n__troupe_ps=(\"$?\" \"${PIPESTATUS[@]}\")";

std::string join(std::initializer_list<std::string_view> parts) {
  std::string result;
  for (const auto part : parts) result += part;
  return result;
}

std::string print_token(std::string_view format) {
  return join({"builtin printf '", format, "' \"$__troupe_marker\"\n"});
}

std::string side_functions() {
  return join({begin_function, end_head, names_side, choose_names, end_fields, end_side});
}

std::string in_band_functions() {
  const auto begin = print_token(text::report_filter::begin_format);
  const auto end = print_token(text::report_filter::end_format);
  return join({begin_function, aside_function, end_head, names_in_band, choose_names, begin,
               end_fields, end, end_in_band});
}

/// The number in a pipe on 8, the output on 9. While the command runs both are closed (`shell_runner`),
/// and what the shell has put aside for then has close-on-exec: no program of the command finds them.
std::string open_in_band(const std::string& marker) {
  return "exec 7</dev/null 8<<<" + shell_quote(marker) + " 9>&1\n__troupe_report=in_band\n";
}

bool has_pipeline(std::string_view command) {
  // A line behind the command could become part of it: a here document without its end, a trailing
  // backslash. Then the codes of the parts are not asked for.
  return command.find('|') != command.npos && command.find("<<") == command.npos &&
         !command.ends_with('\\');
}

// Aliases of the user are in force behind the prelude, so every command word is quoted, and none is a
// keyword.

std::string exports(const command_order& order) {
  std::string script;
  if (!order.process_id.empty()) {
    script += "\\builtin export TROUPE_PROCESS=" + shell_quote(order.process_id) + "\n";
  }
  for (const auto& entry : order.env) {
    const auto equals = entry.find('=');
    script += "\\builtin export " + entry.substr(0, equals) + "=" +
              shell_quote(std::string_view{entry}.substr(equals + 1)) + "\n";
  }
  if (order.pipefail) script += "\\builtin set -o pipefail\n";
  return script;
}

/// Tells where a plain command begins if that is not where it should.
std::string report_start(const command_order& order) {
  if (order.report_path.empty() || !order.fall_back || order.cwd.empty()) return {};
  return "\\builtin test \"$__troupe_start\" = " + shell_quote(order.cwd) + " || " + plain_report +
         shell_quote(order.report_path) + "\n";
}

std::string plain_text(const command_order& order) {
  if (!order.pipeline || order.report_path.empty()) return order.command;
  return order.command + keep_codes + "\n" + plain_report + shell_quote(order.report_path) +
         "\n\\builtin exit \"${__troupe_ps[0]}\"";
}

std::string set_command(const std::string& text) {
  return "__troupe_command=" + shell_quote(text) + "\n";
}

}  // namespace

const std::string& own_functions(report_channel channel) {
  static const auto side = side_functions();
  static const auto in_band = in_band_functions();
  return channel == report_channel::side ? side : in_band;
}

std::string command_script(const command_order& order) {
  auto script = "__troupe_begin " + shell_quote(order.cwd) + " " +
                shell_quote(order.fall_back ? "1" : "") + "\n" + exports(order);
  if (order.plain) return script + report_start(order) + set_command(plain_text(order));
  auto command = order.command;
  if (!order.report_path.empty() || !order.report_marker.empty()) {
    if (order.report_marker.empty()) {
      script += "__troupe_report=" + shell_quote(order.report_path) + "\n";
    } else {
      script += open_in_band(order.report_marker);
    }
    script +=
        "\\builtin trap '\\builtin eval \"${__troupe_report:+__troupe_end $? 2>/dev/null}\"' "
        "EXIT\n";
    if (has_pipeline(command)) command += keep_codes;
  }
  return script + set_command(command);
}

std::string lone_script(const command_order& order, std::string_view prelude) {
  std::string script = "exec 9<&-\n";
  if (!order.cwd.empty()) {
    script += "__troupe_start=" + shell_quote(order.cwd) + "\n";
    script += order.fall_back ? lone_begin_fall_back : lone_begin;
  }
  script += prelude;
  return script + exports(order) + report_start(order) + set_command(plain_text(order));
}

std::string snapshot_script(const std::string& report_path, const std::string& report_marker) {
  std::string script = "exec 9<&-\n";
  if (report_marker.empty()) {
    script += own_functions(report_channel::side) + "__troupe_report=" + shell_quote(report_path);
  } else {
    script += own_functions(report_channel::in_band) + open_in_band(report_marker);
  }
  script += "\n__troupe_end 0\nbuiltin exit 0\n";
  return script;
}

const char* shell_runner(report_channel channel) {
  if (channel == report_channel::side) {
    return "{ builtin . /dev/fd/9; builtin . /dev/fd/8; } 2>/dev/null; "
           "builtin eval \"$__troupe_command\"; { __troupe_end \"$?\"; } 2>/dev/null";
  }
  return "{ builtin . /dev/fd/9; builtin . /dev/fd/8; } 2>/dev/null; "
         "__troupe_aside; builtin eval \"$__troupe_command\" 7<&- 8<&- 9>&-; { __troupe_end "
         "\"$?\"; } "
         "2>/dev/null";
}

const char* lone_runner() {
  return "{ builtin . /dev/fd/9; } 2>/dev/null; builtin eval \"$__troupe_command\"";
}

const char* shell_asker(report_channel channel) {
  return channel == report_channel::side ? "builtin . /dev/fd/9 >/dev/null 2>&1"
                                         : "builtin . /dev/fd/9 2>/dev/null";
}

std::string make_report_marker() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::system_error{errno, std::generic_category(), "random bytes"};
  }
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (const auto byte : bytes) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

}  // namespace troupe

// What exit codes and signals mean, in words for a reader of results. Used by the terminal tool. The
// exit code itself is never changed. Pure and thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe::text {

/// The meaning of a well-known benign code of the command that decided the result (grep family, diff,
/// test, find, git 1; curl 6, 7, 22, 28), or of 128 + signal for signals 3, 4, 6, 7, 8, 9, 11, 13, 15,
/// 24 and 25. Nothing for 0 and for codes that say nothing by themselves.
std::optional<std::string> exit_code_meaning(std::string_view command, int code);

/// What to do about a well-known recoverable failure: command or module not found, permission denied,
/// exit 126 and 137. Looks at the first 4,000 characters of `output`. Nothing for exit 0.
std::optional<std::string> recovery_hint(std::string_view command, int code,
                                         std::string_view output);

/// `SIGKILL` for 9; `SIGRTMIN+3` for a real-time signal; `signal 99` for an unknown one.
std::string signal_name(int signal);

/// The number of a signal given as `TERM`, `SIGTERM` or `15`, in any case.
std::optional<int> signal_number(std::string_view name);

}  // namespace troupe::text

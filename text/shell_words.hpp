// Rules about shell commands, on top of the scanner: what the foreground refuses, which command
// decided the result, where a word stands in command position. Used by the terminal tool. Nothing
// here runs or changes a command. Pure and thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/text/shell_scanner.hpp"

namespace troupe::text {

/// Why a command must not run in the foreground.
struct foreground_refusal {
  std::string reason;  ///< a sentence for the caller, with what to do instead
  std::string what;    ///< the word or operator that was found, e.g. `nohup`, `&`, `npm run dev`
};

/// Refuses commands that detach by themselves (nohup, disown, setsid in command position, any `&`
/// that sends a command to the background) and long-lived servers (dev, start, serve, watch of npm,
/// pnpm, yarn and bun; compose up; next dev; vite; nodemon; uvicorn; gunicorn; python -m
/// http.server). Not refused: help and version calls, compose up with `-d`, servers bounded by
/// `timeout`. Quoted text, comments and here-documents do not count.
std::optional<foreground_refusal> refuse_foreground(std::string_view command);

/// A simple command by itself.
struct simple_command {
  std::vector<std::string> words;  ///< command word and arguments, without quotes; never empty
  bool negated = false;            ///< behind `!`: its exit code was inverted
};

/// The simple command whose exit code most likely is that of the whole: the last one of the text,
/// without assignments and without wrappers such as env, sudo, time, nohup and command.
std::optional<simple_command> deciding_command(std::string_view command);

/// Byte offsets at which `word`, as it is or behind a path, stands unquoted in command position,
/// also behind assignments and wrappers; in ascending order.
std::vector<size_t> command_positions(std::string_view command, std::string_view word);

/// Index of the first word that is not a wrapper (env, sudo, time, nohup, command, exec, nice, …),
/// one of their options or assignments; the size if there is none. `wrappers`, if given, receives the
/// indices of the wrapper words.
size_t unwrapped(const std::vector<shell_word>& words, std::vector<size_t>* wrappers = nullptr);

/// `path` behind its last slash.
std::string_view program_name(std::string_view path);

}  // namespace troupe::text

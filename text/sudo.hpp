// Commands that need a password: sudo in command position is made to read it from stdin, one line per
// invocation, so that it is in no argv and no environment. Pure and thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::text {

struct sudo_rewrite {
  std::string command;        ///< with `-S -p ''` behind every sudo that asks for a password
  std::size_t passwords = 0;  ///< how many lines they may read
};

/// Left alone: sudo whose stdin is a pipe (it would take the first line of the data for the password),
/// and sudo with options that say where the password comes from, or that there is none.
sudo_rewrite sudo_reads_stdin(std::string_view command);

/// True if `command` has sudo in command position and `output` says that the password was not
/// accepted.
bool sudo_auth_failed(std::string_view command, std::string_view output);

}  // namespace troupe::text

// Children started with posix_spawn, for the raw counterparts: the argv (`bash -c COMMAND`) and the
// environment are those the core gives, stdin and stdout are /dev/null unless a pipe is asked for.
// Used in the raw process only; not thread-safe. Everything throws std::system_error.
#pragma once

#include <sys/types.h>

#include <string>

namespace troupe::bench {

struct raw_options {
  bool pipe_output = false;
  bool pipe_input = false;
  bool own_group = false;
};

struct raw_child {
  pid_t pid = 0;
  int output = -1;  ///< read end, blocking; the caller closes it
  int input = -1;   ///< write end
};

raw_child raw_spawn(const std::string& command, raw_options options = {});

/// The same with a new terminal (forkpty); `output` is its master.
raw_child raw_spawn_pty(const std::string& command);

/// Waits for this child with waitid.
void raw_wait(pid_t pid);

/// Waits for any child and gives its pid.
pid_t raw_wait_any();

/// Reads until the end (or a line feed, with `line`), gives what was read.
std::string raw_read(int file, bool line = false);

}  // namespace troupe::bench

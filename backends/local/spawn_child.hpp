// What happens in the child between clone and exec. Internal to spawn.
#pragma once

#include <sys/resource.h>

#include "troupe/backends/backend.hpp"

namespace troupe::backends::local {

/// Everything the child needs, made before the clone. The child shares our memory: it only reads
/// this, and writes the two `failed_` fields.
struct child_plan {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  const char* cwd = nullptr;
  int in = -1;
  int out = -1;
  /// To become descriptors 9 and 8; -1: none.
  int state = -1;
  int command = -1;
  bool pty = false;
  /// The descriptor table is still the parent's: take an own copy below `first_free` first.
  bool shared = false;
  unsigned first_free = 3;
  /// Where close_range is missing: close one by one up to here.
  unsigned close_limit = 3;
  bool set_nofile = false;
  rlimit nofile{};

  stage failed_stage = stage::none;
  int failed_errno = 0;
};

/// Where a shell finds its scripts. Slots lie above.
inline constexpr unsigned command_descriptor = 8;
inline constexpr unsigned state_descriptor = 9;

/// The child's first function (`arg` is its child_plan). Never returns.
int run_child(void* arg) noexcept;

}  // namespace troupe::backends::local

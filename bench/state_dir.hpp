// A state directory for as long as a workload needs one, and the keeper that belongs to it.
#pragma once

#include <string>

#include "troupe/config/options.hpp"

namespace troupe::bench {

/// A new directory below $TMPDIR, or below the working directory. Declare it before the core that
/// uses it: at the end it waits for the keeper to go. The files stay until `remove_state_dirs`: where
/// thousands have just been removed, ext4 without a journal takes five times as long to make one, and the
/// next workload would pay for that.
class state_dir {
 public:
  state_dir();
  ~state_dir();
  state_dir(const state_dir&) = delete;
  state_dir& operator=(const state_dir&) = delete;

  const std::string& path() const noexcept { return path_; }

  /// The default options of the bench with this directory, and with the keeper beside this program
  /// if there is to be one. What goes wrong is shown on stderr.
  options kept_options(bool keeper) const;

 private:
  std::string path_;
};

/// User and system time of our keepers in seconds, in steps of a clock tick. Throws if there is
/// none: then the core did without.
double keeper_cpu_seconds();

/// For a program that is stopped: removes the directories that exist.
void remove_state_dirs();

}  // namespace troupe::bench

// The scripts around every command of a shell that carries state (behaviour 5). A command runs as
//
//   bash -c '. /dev/fd/9; . /dev/fd/8; eval "$command"; end'
//
// where the environment holds the exported variables, 9 our functions and the rest of the state
// (`shell_state::prelude`) and 8 the command itself (`command_script`). So the user's text is in no
// argv, a shell may have read 9 long before the command is known (a warm one), and its messages name
// neither our files nor our lines. At its end, also after `exit` or `set -e`, the shell writes a
// report (`parse_report`); after `exec`, a kill or its own EXIT trap with `exit` there is none, and
// nothing that was there before is lost.
//
// The report goes to a file (`report_channel::side`) or, where no file of the shell can be read from
// here, into the output of the command (`in_band`), between two tokens with a random number of this
// command, from where `text::report_filter` takes it. The number is nowhere while the command runs
// but in a pipe that no program started by it inherits. Who reads /proc/$$/fd, or guesses numbers
// of descriptors in the shell itself, can find it: it protects against output, not against the
// user's own shell.
//
// Two kinds of commands do without: those that nobody asks for a report, and those that can leave nothing
// behind in the shell (`text::plain`). A new shell reads one script for them and has no function of
// ours (`lone_script`):
//
//   bash -c '. /dev/fd/9; eval "$command"'
//
// A plain one only writes to the report file if it is a pipeline, whose codes are wanted, or if its
// directory has gone.
//
// Text only: no actors, no descriptors. The same for every backend whose shell is bash.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "troupe/config/options.hpp"

namespace troupe {

/// One command for the script on descriptor 8.
struct command_order {
  std::string command;
  std::string process_id;
  /// Where the command begins; empty: where the shell is. `fall_back`: if the directory has gone, the
  /// nearest ancestor that still exists.
  std::string cwd;
  bool fall_back = false;
  std::vector<std::string> env;  ///< `NAME=value`, exported for this command
  bool pipefail = false;
  /// Where to report: a file, or the number for the output. Both empty: no report (background
  /// commands change nothing for the next one).
  std::string report_path;
  std::string report_marker;
  /// `text::plain` says so, and none of its command words is a function or an alias here. Not
  /// together with `report_marker`.
  bool plain = false;
  bool pipeline = false;  ///< a plain one with a pipeline in it
};

/// What a shell reads before everything else on descriptor 9: `__troupe_begin` and `__troupe_end`.
const std::string& own_functions(report_channel channel);

/// What a shell with our functions reads on descriptor 8.
std::string command_script(const command_order& order);

/// All that a new shell reads, on descriptor 9: for a plain command, or one without a report.
/// `prelude`: what of the state it needs (`shell_state::prelude`), or nothing.
std::string lone_script(const command_order& order, std::string_view prelude);

/// The script of a login shell that only reports (`bash -l -c`, on descriptor 9).
std::string snapshot_script(const std::string& report_path, const std::string& report_marker);

/// The fixed `-c` text of shells that run a command, and of the login shell that is only asked.
const char* shell_runner(report_channel channel);
const char* lone_runner();
const char* shell_asker(report_channel channel);

/// A number for one report: 128 random bits in hex. Throws std::system_error if the kernel has none.
std::string make_report_marker();

}  // namespace troupe

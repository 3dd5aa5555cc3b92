// Looks at the tree of one child: who is in it, and whether it waits for input on its terminal.
// Judged by what the kernel says about each process, never by output. Runs on the table's thread.
#pragma once

#include <string>

#include "troupe/backends/backend.hpp"
#include "troupe/backends/local/process_table.hpp"

namespace troupe::backends::local {

/// The terminal as the loop sees it, taken from the master.
struct terminal_state {
  /// "/dev/pts/7"; empty without a terminal.
  std::string path;
  int foreground_group = 0;
};

/// `master` < 0: no terminal. Does not block.
terminal_state terminal_state_of(int master);

/// True if a thread of `pid` is blocked reading this terminal: in read(2) of it, or in poll, select
/// or epoll with it in the set. Where the kernel does not show system calls, by its wait channel.
bool waits_for_terminal(int pid, const std::string& terminal_path);

/// Full command line; "[name]" where there is none.
std::string command_line(const process_row& row);

description inspect_tree(const snapshot& all, const tree_identity& identity,
                         const terminal_state& terminal);

}  // namespace troupe::backends::local

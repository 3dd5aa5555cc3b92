// Ctrl-C and SIGTERM: no child is left behind. Children are in sessions of their own, so the
// terminal does not reach them; we are their subreaper and kill every descendant before we end.
#pragma once

namespace troupe::bench {

/// Blocks SIGINT, SIGTERM and SIGHUP in this thread (and those it starts), makes this process a
/// subreaper. Call in main, before any thread or child.
void block_stop_signals();

/// Starts the thread that waits for these signals. It ends the program with 128 + signal once no
/// descendant is alive.
void watch_stop_signals();

/// To be called before each start: once we are stopping it does not return.
void stop_point();

}  // namespace troupe::bench

// All typed actor interfaces, one comment per message. A host needs this header and `records.hpp`.
//
// Ids in requests may be the whole id or a unique prefix (behaviour 1). Every request carries its
// caller; a process of another session is `errc::not_found`. Requests never time out by themselves:
// what waits is bounded by the record that asks for it.
#pragma once

#include <caf/typed_actor.hpp>

#include "troupe/messages/type_ids.hpp"

namespace troupe {

/// The front door of a node: what a host (in this process or behind the middleman) may ask.
using registry_actor = caf::typed_actor<
    // Starts a background process (or, with `foreground`, one whose end `run` is not waiting for).
    // A start that fails is a result with `failure`, not an error.
    caf::result<start_result>(start_atom, caller, spawn_request),
    // Starts a foreground command and answers when it has ended, timed out, was interrupted or
    // yielded.
    caf::result<run_result>(run_atom, caller, spawn_request),
    // All processes of the caller's session, running ones first, oldest first.
    caf::result<std::vector<process_summary>>(list_atom, caller),
    // Where a process is now; with a cursor, what it printed since.
    caf::result<poll_result>(poll_atom, caller, std::string, poll_options),
    // Lines of the output kept.
    caf::result<log_result>(log_atom, caller, std::string, log_options),
    // The next output after a cursor, as soon as there is any.
    caf::result<output_chunk>(follow_atom, caller, std::string, follow_options),
    // Answers at the end of the process, at a match, an open port, or the deadline.
    caf::result<wait_result>(wait_atom, caller, std::string, wait_options),
    // The kill ladder; answers when everything is gone or survivors are known.
    caf::result<kill_result>(kill_atom, caller, std::string, kill_options),
    // One signal to the process group (PTY: its foreground group), no ladder.
    caf::result<process_summary>(signal_atom, caller, std::string, std::int32_t),
    // Queues data (and EOF) for stdin.
    caf::result<write_result>(write_atom, caller, std::string, write_request),
    // Rows and columns of the PTY.
    caf::result<void>(resize_atom, caller, std::string, std::uint16_t, std::uint16_t),
    // Turns a running foreground command into a background process: its `run` is answered with
    // `yielded`.
    caf::result<process_summary>(detach_atom, caller, std::string),
    // Moves a running process to another session, with a one-line purpose.
    caf::result<process_summary>(handoff_atom, caller, std::string, std::string, std::string),
    // Ends the waits and kills the foreground commands of this turn and of nobody else; the turn
    // stays interrupted. Answers the number of waits ended.
    caf::result<std::uint32_t>(interrupt_atom, caller),
    // Ends the waits of this turn and keeps the processes. Answers the number of waits ended.
    caf::result<std::uint32_t>(yield_atom, caller),
    // Kills the processes of the caller's session.
    caf::result<kill_all_result>(kill_all_atom, caller, kill_all_options),
    // Does the session have a running process not older than this (0: of any age)?
    caf::result<bool>(active_atom, caller, caf::timespan),
    // Numbers of the node.
    caf::result<node_status>(status_atom)>;

/// The registry as its own family sees it. Not published to remote hosts.
using registry_internal_actor = registry_actor::extend<
    // A process has started (pid) …
    caf::result<void>(started_atom, std::string, std::int32_t),
    // … or is finished: called exactly once per process, before its waiters are answered. With a
    // start failure the process leaves no trace.
    caf::result<void>(finished_atom, std::string, exit_info, std::uint64_t),
    // A foreground command became a background process.
    caf::result<void>(detach_atom, std::string),
    // A process actor is gone without having finished (a bug; the process counts as lost).
    caf::result<void>(lost_atom, std::string),
    // The next finished process may have reached the end of its retention.
    caf::result<void>(retention_atom),
    // Starts nothing any more, ends every process by policy within the grace given, and answers
    // when all of them are finished or the time is up.
    caf::result<kill_all_result>(shutdown_atom, caf::timespan)>;

/// One process, foreground and background alike. Requests arrive from the registry, which has
/// checked the owner; the caller still matters for its turn.
using process_actor = caf::typed_actor<
    // What the io loop saw. Never leaves the process.
    caf::result<void>(loop_event),
    // A timer of a waiter (or, with id 0, of the process itself) fired.
    caf::result<void>(deadline_atom, std::uint64_t),
    // The port that the waiter with this token asked for accepts connections.
    caf::result<void>(port_atom, std::uint64_t),
    // Answers when the child runs or could not be started.
    caf::result<start_result>(start_atom, caller),
    // The one foreground wait.
    caf::result<run_result>(run_atom, caller), caf::result<process_summary>(summary_atom),
    caf::result<poll_result>(poll_atom, caller, poll_options),
    caf::result<log_result>(log_atom, caller, log_options),
    caf::result<output_chunk>(follow_atom, caller, follow_options),
    caf::result<wait_result>(wait_atom, caller, wait_options),
    caf::result<kill_result>(kill_atom, caller, kill_options),
    caf::result<process_summary>(signal_atom, caller, std::int32_t),
    caf::result<write_result>(write_atom, caller, write_request),
    caf::result<void>(resize_atom, caller, std::uint16_t, std::uint16_t),
    caf::result<process_summary>(detach_atom, caller),
    caf::result<process_summary>(handoff_atom, caller, std::string, std::string),
    caf::result<std::uint32_t>(interrupt_atom, caller),
    caf::result<std::uint32_t>(yield_atom, caller)>;

}  // namespace troupe

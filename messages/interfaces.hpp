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
    caf::result<node_status>(status_atom),
    // The same for several processes: answers when all of them, or any of them, are there.
    caf::result<wait_many_result>(wait_atom, caller, wait_many_options),
    // From now on the handler gets the events of a session. Answers with the number after which it
    // gets them. Ends with the handler; the same handler replaces its subscription.
    caf::result<std::uint64_t>(subscribe_atom, subscription, event_handler_actor),
    // The next events of a session, for hosts that rather ask.
    caf::result<drain_result>(drain_atom, drain_request),
    // Answers when the session of the caller has nothing to expect any more (every promised
    // completion delivered or consumed), or after this time.
    caf::result<linger_result>(linger_atom, caller, caf::timespan)>;

/// The ordered journal of a node: numbers, keeps, delivers and forgets events (design 8).
using events_actor = caf::typed_actor<
    // Something happened. Answers when the event is journalled (handed to the kernel). `consumed`:
    // its owner is being shown the same fact right now.
    caf::result<void>(publish_atom, event, bool),
    // A match of a watch pattern, which the breaker over all processes may hold back: answers with
    // the time for which nothing should be tried again, zero if it was published.
    caf::result<caf::timespan>(watch_atom, event),
    // The session was shown the end of this process.
    caf::result<void>(consume_atom, std::string, std::string),
    // The process will have a completion for this session; an empty session takes it back.
    caf::result<void>(promise_atom, std::string, std::string),
    caf::result<std::uint64_t>(subscribe_atom, subscription, event_handler_actor),
    caf::result<drain_result>(drain_atom, drain_request),
    caf::result<linger_result>(linger_atom, caller, caf::timespan),
    // A timer with this token fired.
    caf::result<void>(deadline_atom, std::uint64_t),
    // The subscriber with this token is gone.
    caf::result<void>(lost_atom, std::uint64_t)>;

/// Owner of the files below the state directory; the only actor that may block on a disk. Detached.
/// Success means: handed to the kernel, or, with `sync_always`, on disk. What cannot be written is
/// kept in memory within a limit, answered with success all the same, and written later; the listener
/// hears of it (docs/state.md). Apart from the journal's own three, the payloads are defined in
/// actors/store.hpp and never leave the process.
using store_actor = caf::typed_actor<
    // Appends a record (kind, number, payload) to the journal and drops segments that hold only events
    // below the last number. An error says that it is in memory only.
    caf::result<void>(append_atom, std::uint8_t, std::uint64_t, std::string, std::uint64_t),
    // Time to sync what was written; a failed write is tried again.
    caf::result<void>(sync_atom),
    // Everything written and synced.
    caf::result<void>(close_atom),
    // A process runs.
    caf::result<void>(record_atom, stored_record),
    // It is gone and leaves nothing behind. No error if there is no record.
    caf::result<void>(drop_atom, std::string),
    // A process is finished: writes the receipt, then removes the record (unless it is to stay), then
    // answers.
    caf::result<void>(receipt_atom, stored_receipt),
    // The receipts that a session means by an id or a prefix of one. Finding none is no error.
    caf::result<found_receipts>(find_atom, std::string, std::string),
    // At most so many bytes of a file in output/ or in the spool of our keeper, from an offset.
    caf::result<file_part>(read_atom, std::string, std::uint64_t, std::uint64_t),
    // Removes a spool of our keeper. No error if there is none.
    caf::result<void>(discard_atom, std::string),
    // Who hears, from now on, that files cannot be written, and that they can again.
    caf::result<void>(listen_atom, store_listener_actor)>;

/// Writes the whole output of foreground commands whose results had to be cut. Detached.
using spill_actor = caf::typed_actor<
    // The next part. Answers with the path of the file, how many bytes of the output are in it, and
    // whether it is full, when the kernel has it; after an error there is no file.
    caf::result<std::string, std::uint64_t, bool>(spill_job),
    // Lines of an output that is partly in a file.
    caf::result<log_result>(archive_query)>;

/// One per process with watch patterns: decides which matches are told (behaviour 4).
using watcher_actor = caf::typed_actor<
    // Matching lines; the answer asks for the next, unless it says that watching is over.
    caf::result<watch_summary>(watch_atom, watch_batch),
    // The process changed hands.
    caf::result<void>(handoff_atom, caller),
    // The end of the output: what was told and what was not. Nothing is published after it.
    caf::result<watch_summary>(close_atom)>;

/// One per process with a heartbeat.
using heartbeat_actor = caf::typed_actor<
    // Time for the next one.
    caf::result<void>(heartbeat_atom), caf::result<void>(handoff_atom, caller),
    // Nothing is published after the answer.
    caf::result<void>(close_atom)>;

/// The registry as its own family sees it. Not published to remote hosts.
using registry_internal_actor = registry_actor::extend<
    // A process has started (pid) …
    caf::result<void>(started_atom, std::string, std::int32_t),
    // … or is finished: called exactly once per process, before its waiters are answered. With a
    // start failure the process leaves no trace.
    caf::result<void>(finished_atom, std::string, exit_info, std::uint64_t),
    // A foreground command became a background process.
    caf::result<void>(detach_atom, std::string),
    // An environment goes to sleep and leaves what it must be given when it is needed again.
    caf::result<void>(environment_retired),
    // A process actor is gone without having finished (a bug; the process counts as lost).
    caf::result<void>(lost_atom, std::string),
    // The state directory is in trouble, or out of it.
    caf::result<void>(warn_atom, std::string),
    // The next finished process may have reached the end of its retention.
    caf::result<void>(retention_atom),
    // Starts nothing any more, ends every process by policy within the grace given, and answers
    // when all of them are finished or the time is up.
    caf::result<kill_all_result>(shutdown_atom, caf::timespan)>;

/// Who hears what the io loop saw of a child.
using loop_listener_actor = caf::typed_actor<caf::result<void>(loop_event)>;

/// One environment: turns commands into what a backend runs. Never leaves the process.
using environment_actor = caf::typed_actor<
    // Start the command of this process, as soon as the environment is ready.
    caf::result<void>(launch_job),
    // A command has ended; what its shell left for the next one.
    caf::result<void>(command_left),
    // What the io loop saw of the login shell that is asked for the snapshot.
    caf::result<void>(loop_event),
    // A timer of the environment fired.
    caf::result<void>(deadline_atom, std::uint64_t)>;

/// One process, foreground and background alike. Requests arrive from the registry, which has
/// checked the owner; the caller still matters for its turn.
using process_actor = caf::typed_actor<
    // What the io loop saw. Never leaves the process.
    caf::result<void>(loop_event),
    // What the command has become; the child is started. Never leaves the process.
    caf::result<void>(launch_order),
    // It was there in an earlier life of the node: go on with it.
    caf::result<void>(adopt_atom),
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
    caf::result<std::uint32_t>(yield_atom, caller),
    // Ends the waits of a group: they are answered with where the process is now.
    caf::result<void>(yield_atom, std::uint64_t),
    // What was printed after a cursor: the last characters, and how many were left out before them.
    caf::result<heartbeat_text>(heartbeat_atom, std::uint64_t),
    // Nobody can find it any more: it leaves when everything about its end is told.
    caf::result<void>(retention_atom)>;

}  // namespace troupe

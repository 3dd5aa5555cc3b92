// The type-id block. Append only: ids travel between nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <caf/fwd.hpp>
#include <caf/type_id.hpp>

#include "troupe/messages/errors.hpp"
#include "troupe/messages/events.hpp"
#include "troupe/messages/records.hpp"

namespace troupe {

/// What the io loop tells a process actor (defined in actors/loop_event.hpp). Never leaves the
/// process, so it is not serializable.
struct loop_event;

/// What passes between registry, environments and processes (defined in actors/launch.hpp). Likewise.
struct launch_job;
struct launch_order;
struct command_left;
struct environment_retired;

/// Files that the store has written and somebody has to sync (defined in actors/store.hpp). Never
/// leaves the process either.
struct sync_job;

/// Output on its way to a file (defined in actors/spill.hpp). Likewise.
struct spill_job;
struct archive_query;

/// What the store keeps of processes, and parts of files (defined in actors/store.hpp). Likewise.
struct stored_record;
struct stored_receipt;
struct found_receipts;
struct file_part;

/// Hears, in words, when the store cannot write any more and when it can again.
struct warn_atom;
using store_listener_actor = caf::typed_actor<caf::result<void>(warn_atom, std::string)>;

/// Gets the events of a subscription, in order and one list at a time. Its answer acknowledges them:
/// the next list comes after it.
using event_handler_actor = caf::typed_actor<caf::result<void>(std::vector<event>)>;

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe, first_custom_type_id)

CAF_ADD_TYPE_ID(troupe, (troupe::errc))
CAF_ADD_TYPE_ID(troupe, (troupe::finish_reason))
CAF_ADD_TYPE_ID(troupe, (troupe::process_status))
CAF_ADD_TYPE_ID(troupe, (troupe::start_stage))
CAF_ADD_TYPE_ID(troupe, (troupe::output_view))
CAF_ADD_TYPE_ID(troupe, (troupe::wait_status))
CAF_ADD_TYPE_ID(troupe, (troupe::run_status))
CAF_ADD_TYPE_ID(troupe, (troupe::kill_status))
CAF_ADD_TYPE_ID(troupe, (troupe::caller))
CAF_ADD_TYPE_ID(troupe, (troupe::spawn_request))
CAF_ADD_TYPE_ID(troupe, (troupe::start_failure))
CAF_ADD_TYPE_ID(troupe, (troupe::start_result))
CAF_ADD_TYPE_ID(troupe, (troupe::resource_usage))
CAF_ADD_TYPE_ID(troupe, (troupe::exit_info))
CAF_ADD_TYPE_ID(troupe, (troupe::process_summary))
CAF_ADD_TYPE_ID(troupe, (std::vector<troupe::process_summary>))
CAF_ADD_TYPE_ID(troupe, (troupe::poll_options))
CAF_ADD_TYPE_ID(troupe, (troupe::tree_entry))
CAF_ADD_TYPE_ID(troupe, (std::vector<troupe::tree_entry>))
CAF_ADD_TYPE_ID(troupe, (troupe::output_chunk))
CAF_ADD_TYPE_ID(troupe, (troupe::poll_result))
CAF_ADD_TYPE_ID(troupe, (troupe::log_options))
CAF_ADD_TYPE_ID(troupe, (troupe::log_match))
CAF_ADD_TYPE_ID(troupe, (std::vector<troupe::log_match>))
CAF_ADD_TYPE_ID(troupe, (troupe::log_result))
CAF_ADD_TYPE_ID(troupe, (troupe::follow_options))
CAF_ADD_TYPE_ID(troupe, (troupe::wait_options))
CAF_ADD_TYPE_ID(troupe, (troupe::wait_result))
CAF_ADD_TYPE_ID(troupe, (troupe::run_result))
CAF_ADD_TYPE_ID(troupe, (troupe::kill_options))
CAF_ADD_TYPE_ID(troupe, (troupe::kill_result))
CAF_ADD_TYPE_ID(troupe, (troupe::write_request))
CAF_ADD_TYPE_ID(troupe, (troupe::write_result))
CAF_ADD_TYPE_ID(troupe, (troupe::kill_all_options))
CAF_ADD_TYPE_ID(troupe, (troupe::kill_all_result))
CAF_ADD_TYPE_ID(troupe, (troupe::node_status))
CAF_ADD_TYPE_ID(troupe, (std::vector<std::int32_t>))
CAF_ADD_TYPE_ID(troupe, (troupe::loop_event))
CAF_ADD_TYPE_ID(troupe, (troupe::launch_job))
CAF_ADD_TYPE_ID(troupe, (troupe::launch_order))
CAF_ADD_TYPE_ID(troupe, (troupe::command_left))
CAF_ADD_TYPE_ID(troupe, (troupe::environment_retired))

CAF_ADD_ATOM(troupe, troupe, start_atom)
CAF_ADD_ATOM(troupe, troupe, run_atom)
CAF_ADD_ATOM(troupe, troupe, list_atom)
CAF_ADD_ATOM(troupe, troupe, poll_atom)
CAF_ADD_ATOM(troupe, troupe, log_atom)
CAF_ADD_ATOM(troupe, troupe, follow_atom)
CAF_ADD_ATOM(troupe, troupe, wait_atom)
CAF_ADD_ATOM(troupe, troupe, kill_atom)
CAF_ADD_ATOM(troupe, troupe, signal_atom)
CAF_ADD_ATOM(troupe, troupe, write_atom)
CAF_ADD_ATOM(troupe, troupe, resize_atom)
CAF_ADD_ATOM(troupe, troupe, detach_atom)
CAF_ADD_ATOM(troupe, troupe, handoff_atom)
CAF_ADD_ATOM(troupe, troupe, interrupt_atom)
CAF_ADD_ATOM(troupe, troupe, yield_atom)
CAF_ADD_ATOM(troupe, troupe, kill_all_atom)
CAF_ADD_ATOM(troupe, troupe, active_atom)
CAF_ADD_ATOM(troupe, troupe, status_atom)
CAF_ADD_ATOM(troupe, troupe, shutdown_atom)
CAF_ADD_ATOM(troupe, troupe, summary_atom)
CAF_ADD_ATOM(troupe, troupe, deadline_atom)
CAF_ADD_ATOM(troupe, troupe, port_atom)
CAF_ADD_ATOM(troupe, troupe, retention_atom)
CAF_ADD_ATOM(troupe, troupe, started_atom)
CAF_ADD_ATOM(troupe, troupe, finished_atom)
CAF_ADD_ATOM(troupe, troupe, lost_atom)

// Events and waiting for several (after 0.1's first block; appended as everything is).
CAF_ADD_TYPE_ID(troupe, (troupe::event_kind))
CAF_ADD_TYPE_ID(troupe, (troupe::event))
CAF_ADD_TYPE_ID(troupe, (std::vector<troupe::event>))
CAF_ADD_TYPE_ID(troupe, (troupe::subscription))
CAF_ADD_TYPE_ID(troupe, (troupe::drain_request))
CAF_ADD_TYPE_ID(troupe, (troupe::drain_result))
CAF_ADD_TYPE_ID(troupe, (troupe::linger_result))
CAF_ADD_TYPE_ID(troupe, (troupe::wait_many_options))
CAF_ADD_TYPE_ID(troupe, (troupe::wait_many_result))
CAF_ADD_TYPE_ID(troupe, (troupe::watch_batch))
CAF_ADD_TYPE_ID(troupe, (troupe::watch_summary))
CAF_ADD_TYPE_ID(troupe, (troupe::heartbeat_text))
CAF_ADD_TYPE_ID(troupe, (troupe::event_handler_actor))
CAF_ADD_TYPE_ID(troupe, (troupe::sync_job))

CAF_ADD_ATOM(troupe, troupe, publish_atom)
CAF_ADD_ATOM(troupe, troupe, consume_atom)
CAF_ADD_ATOM(troupe, troupe, promise_atom)
CAF_ADD_ATOM(troupe, troupe, subscribe_atom)
CAF_ADD_ATOM(troupe, troupe, drain_atom)
CAF_ADD_ATOM(troupe, troupe, linger_atom)
CAF_ADD_ATOM(troupe, troupe, watch_atom)
CAF_ADD_ATOM(troupe, troupe, heartbeat_atom)
CAF_ADD_ATOM(troupe, troupe, close_atom)
CAF_ADD_ATOM(troupe, troupe, append_atom)
CAF_ADD_ATOM(troupe, troupe, sync_atom)

// The whole output of foreground commands.
CAF_ADD_TYPE_ID(troupe, (troupe::spill_job))

// Records and receipts of processes.
CAF_ADD_TYPE_ID(troupe, (troupe::stored_record))
CAF_ADD_TYPE_ID(troupe, (troupe::stored_receipt))
CAF_ADD_TYPE_ID(troupe, (troupe::found_receipts))
CAF_ADD_TYPE_ID(troupe, (troupe::file_part))
CAF_ADD_TYPE_ID(troupe, (troupe::store_listener_actor))

CAF_ADD_ATOM(troupe, troupe, record_atom)
CAF_ADD_ATOM(troupe, troupe, drop_atom)
CAF_ADD_ATOM(troupe, troupe, receipt_atom)
CAF_ADD_ATOM(troupe, troupe, find_atom)
CAF_ADD_ATOM(troupe, troupe, read_atom)
CAF_ADD_ATOM(troupe, troupe, discard_atom)
CAF_ADD_ATOM(troupe, troupe, warn_atom)
CAF_ADD_ATOM(troupe, troupe, listen_atom)

// Going on after a restart.
CAF_ADD_TYPE_ID(troupe, (troupe::archive_query))
CAF_ADD_ATOM(troupe, troupe, adopt_atom)

CAF_END_TYPE_ID_BLOCK(troupe)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::loop_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::launch_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::launch_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::command_left)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::environment_retired)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::sync_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::spill_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::archive_query)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::stored_record)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::stored_receipt)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::found_receipts)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::file_part)

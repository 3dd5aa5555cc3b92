// The type-id block. Append only: ids travel between nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <caf/type_id.hpp>

#include "troupe/messages/errors.hpp"
#include "troupe/messages/records.hpp"

namespace troupe {

/// What the io loop tells a process actor (defined in actors/loop_event.hpp). Never leaves the
/// process, so it is not serializable.
struct loop_event;

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

CAF_END_TYPE_ID_BLOCK(troupe)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::loop_event)

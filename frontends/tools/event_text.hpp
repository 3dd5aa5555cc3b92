// Events as text for a conversation and as JSON for a client. Pure.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "troupe/messages/events.hpp"

namespace troupe::tools {

/// `[IMPORTANT: Background process <id> completed normally (exit code 0).` … `]` (behaviour 4). A
/// signal is named.
std::string event_text(const event& x);

/// One line, without command and output.
std::string event_headline(const event& x);

/// The members that apply, under the names of the process tool.
boost::json::object event_object(const event& x);

}  // namespace troupe::tools

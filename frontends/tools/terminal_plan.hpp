// What a call of the `terminal` tool means: refuse it, run it in the foreground, or start it in the
// background. A pure function of the checked arguments.
#pragma once

#include <string>
#include <variant>

#include <boost/json/object.hpp>

#include "troupe/config/options.hpp"
#include "troupe/frontends/tools/schema.hpp"
#include "troupe/messages/records.hpp"

namespace troupe::tools {

struct terminal_plan {
  spawn_request request;
  /// Fields the answer gets beside its own, if the start succeeds.
  boost::json::object notes;
};

/// Nothing is run; the text says why and, where there is one, shows the right call.
struct terminal_refusal {
  std::string text;
};

std::variant<terminal_plan, terminal_refusal> plan_terminal(const arguments& args,
                                                            const options& opts,
                                                            bool can_receive_events);

/// The first character that a working directory may not have, as shown to people; empty if none.
std::string bad_workdir_character(std::string_view workdir);

}  // namespace troupe::tools

// Arguments of tool calls that a session makes itself. Internal to the session.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "troupe/frontends/tools/json_value.hpp"

namespace troupe::mcp {

inline tools::json_value text_value(std::string text) {
  tools::json_value out;
  out.kind = tools::json_value::type::string;
  out.text = std::move(text);
  return out;
}

inline tools::json_value object_of(std::vector<tools::json_member> members) {
  tools::json_value out;
  out.kind = tools::json_value::type::object;
  out.members = std::move(members);
  return out;
}

}  // namespace troupe::mcp

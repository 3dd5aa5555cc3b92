// Incoming frames: one line of JSON becomes a request, a notification, a response, a batch, or a
// fault with the exact JSON-RPC error for it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "troupe/frontends/mcp/protocol.hpp"
#include "troupe/frontends/tools/json_value.hpp"

namespace troupe::mcp {

struct request {
  /// The id as JSON, exactly as it has to be echoed.
  std::string id;
  std::string method;
  tools::json_value params;  ///< null if not given
};

struct notification {
  std::string method;
  tools::json_value params;
};

/// An answer of the client to something we never asked; ignored.
struct response {};

/// A frame that is answered with an error.
struct fault {
  std::string id = "null";
  rpc_error code = rpc_error::invalid_request;
  std::string text;
};

using message = std::variant<request, notification, response, fault>;

struct frame {
  bool batch = false;
  /// Exactly one if this is no batch.
  std::vector<message> messages;
};

frame parse_frame(std::string_view line);

/// The id of a request as JSON, or nothing if this may not be an id (fractions, null, objects).
std::string id_text(const tools::json_value& id);

}  // namespace troupe::mcp

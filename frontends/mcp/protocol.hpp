// The Model Context Protocol as text: versions, what each can do, and the frames a server writes.
// Pure functions; a frame is one line of JSON without its line feed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "troupe/frontends/tools/answer.hpp"

namespace troupe::mcp {

/// JSON-RPC 2.0 error codes.
enum class rpc_error : int {
  parse = -32700,
  invalid_request = -32600,
  unknown_method = -32601,
  invalid_params = -32602,
  busy = -32000,  ///< too much under way; ours, from the range left to servers
  no_resource = -32002,
};

/// What a version of the protocol can do. The versions are dates, so newer ones compare greater.
struct protocol_version {
  std::string_view name;

  bool batches() const { return name == "2025-03-26"; }
  bool annotations() const { return name >= "2025-03-26"; }
  bool progress_messages() const { return name >= "2025-03-26"; }
  bool structured_content() const { return name >= "2025-06-18"; }
  bool titles() const { return name >= "2025-06-18"; }
  bool descriptions() const { return name >= "2025-11-25"; }
  bool tasks() const { return name >= "2025-11-25"; }
};

inline constexpr std::string_view newest_version = "2025-11-25";

/// The version asked for if it is known, else the newest.
protocol_version negotiate(std::string_view asked);

/// Levels of log messages to the client, as in syslog.
enum class log_level { debug, info, notice, warning, error, critical, alert, emergency };

/// False if there is no such level.
bool parse_log_level(std::string_view name, log_level& out);

/// `id` is the id as it stood in the request (JSON), or `null`.
std::string result_frame(std::string_view id, const boost::json::object& result);
std::string error_frame(std::string_view id, rpc_error code, std::string_view text);
std::string notification_frame(std::string_view method, const boost::json::object& params);

/// Notification of progress. `token` is JSON as it stood in the request.
std::string progress_frame(std::string_view token, std::uint64_t progress, std::string_view message,
                           protocol_version version);

std::string log_frame(log_level level, std::string_view text);

boost::json::object initialize_result(protocol_version version, std::string_view server_version);
/// Resources: the events of the session, and one per process.
inline constexpr std::string_view events_uri = "troupe://events";
inline constexpr std::string_view process_uri_head = "troupe://process/";

/// `processes` is the answer of the tool `process` to `list`.
boost::json::object resources_list_result(const boost::json::object& processes,
                                          protocol_version version);
boost::json::object resource_templates_result(protocol_version version);
boost::json::object resource_text_result(std::string_view uri, std::string_view text);

boost::json::object tools_list_result(protocol_version version);
boost::json::object tool_call_result(const tools::tool_answer& answer, protocol_version version);

}  // namespace troupe::mcp

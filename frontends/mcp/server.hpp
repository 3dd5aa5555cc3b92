// The MCP server on two descriptors: reads frames, runs tool calls, writes answers. A thin shell
// around `session`; it owns the threads and the locking.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <spdlog/fwd.h>

#include "troupe/frontends/mcp/session.hpp"
#include "troupe/frontends/tools/tool_set.hpp"

namespace troupe::mcp {

struct server_settings {
  /// The session that owns what the client starts.
  std::string session = "default";
  std::string version = "0";
  std::size_t max_frame_bytes = 16 << 20;
  std::size_t max_calls = 1'024;
  /// Above this many unwritten bytes no more requests are read.
  std::size_t max_unwritten_bytes = 4 << 20;
  /// At the end of the input: how long calls under way may still take before their processes are
  /// ended.
  std::chrono::milliseconds settle{500};
  /// How long the last answers may take to be written.
  std::chrono::milliseconds flush{2'000};
};

class server {
 public:
  /// Reads `in` and writes `out`; `stop` is a descriptor that becomes readable when the server is
  /// to end. None of them is owned.
  server(tools::tool_set tools, server_settings settings, int in, int out, int stop,
         std::shared_ptr<spdlog::logger> logger);
  ~server();

  /// Serves until the end of the input, `stop`, or a client that cannot be written to. Blocks. Calls
  /// may still be under way afterwards: end their processes, then call `finish`.
  void serve();

  /// Writes the answers of calls that have ended and stops writing. Bounded by `settle` and `flush`.
  void finish();

 private:
  struct core;
  bool read_once(std::string& buffer);
  bool wait_for_relief();

  std::shared_ptr<core> core_;
  int in_;
  int stop_;
};

}  // namespace troupe::mcp

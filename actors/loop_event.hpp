// What the io loop tells a process actor, and the sink that posts it. One message type with one
// alternative per call of `backends::sink`; it never leaves the process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "troupe/backends/backend.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe {

struct loop_event {
  struct advanced {};
  struct eof {};
  struct reported {
    std::string report;
  };
  struct drained {
    std::vector<int> holders;
  };
  struct written {
    std::uint64_t token;
    backends::write_outcome outcome;
  };
  struct signalled {
    std::uint64_t token;
    int error_number;
  };
  struct kill_done {
    std::vector<int> survivors;
  };
  struct described {
    std::uint64_t token;
    backends::description what;
  };

  std::variant<advanced, backends::start_info, backends::start_error, eof, backends::exit_status,
               reported, drained, written, signalled, kill_done, described>
      what;
};

/// A sink that turns calls on the loop's thread into messages to `receiver`. The backend drops it,
/// and with it the reference to the actor, on `release`.
std::shared_ptr<backends::sink> make_actor_sink(loop_listener_actor receiver);

}  // namespace troupe

// Who waits for what on one process. Plain records owned by the process actor; every entry holds the
// promise of the request it answers, and every entry is answered exactly once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <caf/typed_response_promise.hpp>

#include "troupe/actors/spill.hpp"
#include "troupe/actors/until_matcher.hpp"
#include "troupe/messages/records.hpp"
#include "troupe/text/noise.hpp"
#include "troupe/text/truncate.hpp"
#include "troupe/text/view.hpp"

namespace troupe {

/// The wait of a foreground command, with the output it will be answered with. Fed while it streams,
/// so that memory is bounded whatever the command prints.
struct run_wait {
  caf::typed_response_promise<run_result> promise;
  caller who;
  text::noise_filter noise;
  text::stream_view view;
  text::head_tail output;
  std::shared_ptr<spill_feed> spill;  ///< null: nothing was left out yet
  std::string clean;

  explicit run_wait(std::size_t cap) : output(cap) {}
};

struct end_wait {
  std::uint64_t token = 0;
  caf::typed_response_promise<wait_result> promise;
  caller who;
  std::uint64_t timer = 0;
  std::uint64_t probe = 0;
  std::unique_ptr<until_matcher> until;
  std::uint64_t group = 0;
};

struct follow_wait {
  std::uint64_t token = 0;
  caf::typed_response_promise<output_chunk> promise;
  caller who;
  follow_options what;
  std::uint64_t timer = 0;
};

struct describe_wait {
  caf::typed_response_promise<poll_result> promise;
  poll_options what;
  caller who;
};

struct kill_wait {
  caf::typed_response_promise<kill_result> promise;
  bool was_running = false;  ///< asked before the end was observed
  caller who;
};

struct waiters {
  std::vector<caf::typed_response_promise<start_result>> starts;
  std::unique_ptr<run_wait> run;
  std::vector<end_wait> waits;
  std::vector<follow_wait> follows;
  std::vector<kill_wait> kills;
  std::map<std::uint64_t, caf::typed_response_promise<write_result>> writes;
  std::map<std::uint64_t, caf::typed_response_promise<process_summary>> signals;
  std::map<std::uint64_t, describe_wait> describes;

  /// All that a caller can pile up; bounded by `defaults::waiters_per_process`.
  std::size_t count() const {
    return starts.size() + waits.size() + follows.size() + kills.size() + writes.size() +
           signals.size() + describes.size();
  }
};

}  // namespace troupe

// The JSON tools `process` and `terminal`: a call in, one answer out. Used by every front end that
// speaks JSON. A call never blocks its thread; any number may be under way at once, and each is
// answered exactly once, in whatever order they finish.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <caf/fwd.hpp>

#include "troupe/config/options.hpp"
#include "troupe/frontends/tools/answer.hpp"
#include "troupe/frontends/tools/json_value.hpp"
#include "troupe/frontends/tools/schema.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe::tools {

/// Who calls, and what can be given back beside the answer.
struct call_context {
  /// `session` owns what is started; `turn` is what `interrupt` ends.
  troupe::caller who;
  /// False: nobody would read completion and watch events; such options are dropped, and the answer
  /// says so.
  bool can_receive_events = false;
  /// New output of a foreground command while it runs (text view). Called on actor threads, one call
  /// after the other, never after the answer; must not block.
  std::function<void(const output_chunk&)> on_output;
};

/// Events of one session, on their way to a client. The list that was handed over is acknowledged
/// with `told`; the next one comes after it. Ends with the object; what was not acknowledged is kept.
class event_feed {
 public:
  virtual ~event_feed() = default;
  virtual void told() = 0;
};

class tool_set {
 public:
  /// The system must outlive every call under way. Thread-safe.
  tool_set(caf::actor_system& system, registry_actor registry, options opts);

  /// Called exactly once per call, on the calling thread (wrong calls) or an actor thread; must not
  /// block and must not throw.
  using done = std::function<void(tool_answer)>;

  void call(std::string_view tool, const json_value& input, call_context context, done then) const;

  /// The same for arguments as JSON text.
  void call(std::string_view tool, std::string_view input, call_context context, done then) const;

  /// Ends the waits and foreground commands of this turn, now and later.
  void interrupt(const troupe::caller& who) const;

  /// Has the events of a session handed over, list by list, on an actor thread.
  std::shared_ptr<event_feed> listen(const std::string& session,
                                     std::function<void(const std::vector<event>&)> on_list) const;

  const options& opts() const noexcept;

 private:
  struct parts;
  std::shared_ptr<const parts> parts_;
};

}  // namespace troupe::tools

// One client of the Model Context Protocol: what each frame means, which calls are under way, and
// what is written back. Plain logic without threads, actors or descriptors; the server feeds it lines
// and answers. Not thread-safe: its owner guards it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "troupe/frontends/mcp/frame.hpp"
#include "troupe/frontends/mcp/protocol.hpp"
#include "troupe/frontends/tools/answer.hpp"
#include "troupe/messages/events.hpp"

namespace troupe::mcp {

/// Numbers a call within one session, whatever its id is.
using call_number = std::uint64_t;

/// A tool call that is to be started.
struct tool_call {
  call_number number = 0;
  std::string tool;
  tools::json_value arguments;
  bool wants_progress = false;
};

/// What a session asks of its owner. Called from within the session's own member functions.
class session_owner {
 public:
  virtual ~session_owner() = default;
  /// One frame for the client, without line feed.
  virtual void send(std::string frame) = 0;
  /// Starts a call; `session::answered` follows exactly once, now or later.
  virtual void start(tool_call call) = 0;
  /// Interrupts a call that was started. It is still answered.
  virtual void interrupt(call_number number) = 0;
  /// The client knows the events of the last `happened`.
  virtual void told() {}
};

struct session_settings {
  std::string server_version = "0";
  std::size_t max_calls = 1'024;
};

class session {
 public:
  session(session_owner& owner, session_settings settings);

  /// One line from the client; blank lines are ignored.
  void receive(std::string_view line);

  /// A line was longer than allowed and thrown away.
  void oversized(std::size_t limit);

  void answered(call_number number, const tools::tool_answer& answer);

  /// New output of a call that wants progress; `progress` increases from call to call.
  void progressed(call_number number, std::uint64_t progress, std::string_view text);

  /// What happened to the processes of the session. The next list comes after `told`: when all of
  /// these were logged, shown as updated resources, or put into the answer of a tool call.
  void happened(const std::vector<event>& list);

  /// A log message for the client, if it wants that level.
  void log(log_level level, std::string_view text);

  /// Calls started and not answered yet, those that were cancelled included.
  std::size_t under_way() const noexcept { return calls_.size(); }

  std::string_view version() const noexcept { return version_.name; }

 private:
  /// Answers of a batch go out together; the last one sends them.
  struct batch;
  using batch_ptr = std::shared_ptr<batch>;

  struct call {
    std::string id;
    std::string progress_token;  ///< JSON; empty: none
    std::uint64_t progress = 0;
    bool cancelled = false;
    batch_ptr group;
    /// Resource requests are answered from a tool call.
    enum class purpose { tool, list_resources, read_process, task, nothing } what = purpose::tool;
    std::string uri;  ///< of the resource; the id of the task
  };

  /// A tool call that its client looks after as a task. With `background` it lasts as long as the
  /// process.
  struct task {
    std::string status = "working";
    std::string message;
    caf::timestamp created;
    caf::timestamp updated;
    std::int64_t ttl = 0;  ///< milliseconds from its creation
    bool background = false;
    std::string process;
    call_number under_way = 0;
    std::optional<tools::tool_answer> result;
    /// Requests for the result, answered at the end.
    std::vector<std::pair<std::string, batch_ptr>> waiting;
  };

  void handle(message& m, const batch_ptr& group);
  void on(request& r, const batch_ptr& group);
  void on(const notification& n);
  void initialize(const request& r, const batch_ptr& group);
  void list_tools(const request& r, const batch_ptr& group);
  void call_tool(request& r, const batch_ptr& group);
  void set_level(const request& r, const batch_ptr& group);
  void cancel(const notification& n);
  void list_resources(const request& r, const batch_ptr& group);
  void read_resource(const request& r, const batch_ptr& group);
  void subscribe(const request& r, bool on, const batch_ptr& group);
  void begin(const request& r, call entry, std::string tool, tools::json_value arguments);
  std::string answer_resource(const call& entry, const tools::tool_answer& answer);
  void call_as_task(request& r, const tools::json_value& wish, const batch_ptr& group);
  void on_task(const request& r, const batch_ptr& group);
  void start_for_task(const std::string& id, call::purpose what, std::string tool,
                      tools::json_value arguments, std::string progress_token = {});
  void task_answered(const std::string& id, const tools::tool_answer& answer);
  void end_task(const std::string& id, std::string status);
  void cancel_task(const std::string& id);
  void answer_task_result(const std::string& id, const std::string& request_id,
                          const batch_ptr& group);
  void forget_old_tasks();
  boost::json::object task_object(const std::string& id, const task& x) const;
  bool tell(const event& x);
  tools::tool_answer with_notices(const tools::tool_answer& answer);
  void settle_events();
  void reply(std::string frame, const batch_ptr& group);
  void refuse(const std::string& id, rpc_error code, std::string_view text, const batch_ptr& group);

  session_owner& owner_;
  session_settings settings_;
  bool initialized_ = false;
  protocol_version version_{newest_version};
  log_level level_ = log_level::warning;
  bool level_chosen_ = false;  ///< the client reads log messages
  std::set<std::string> subscribed_;
  std::deque<std::string> recent_events_;  ///< as text, for the resource
  std::deque<event> untold_;
  std::map<std::string, task> tasks_;
  bool holds_list_ = false;
  call_number next_ = 1;
  std::map<call_number, call> calls_;
  /// Ids of calls that will be answered.
  std::unordered_map<std::string, call_number> ids_;
};

}  // namespace troupe::mcp

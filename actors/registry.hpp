// The registry actor: one per node. It owns the table id → process, admission (limits), retention and
// the turns that were interrupted; it answers every request of a host by delegating to the process
// it is about. It supervises all processes and never does their work.
//
// Files: registry.cpp (requests about one process, life of the table), registry_many.cpp (requests
// about many processes), registry_past.cpp (processes of earlier lives).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include "troupe/actors/environment.hpp"
#include "troupe/actors/process.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe {

/// What a registry has of a state directory; empty without one.
struct kept_state {
  store_actor store;
  std::uint32_t slot = 0;
  std::string boot_id;
  bool has_keeper = false;
  recovery_plan plan;
};

class registry_state {
 public:
  registry_state(registry_internal_actor::pointer self, std::shared_ptr<const options> opts,
                 std::shared_ptr<backends::io_loop> loop,
                 std::shared_ptr<backends::backend> backend, events_actor events,
                 std::shared_ptr<const metrics> numbers, kept_state kept);
  ~registry_state();
  registry_state(const registry_state&) = delete;
  registry_state& operator=(const registry_state&) = delete;

  registry_internal_actor::behavior_type make_behavior();

  static constexpr const char* name = "troupe.registry";

 private:
  struct entry {
    process_actor handle;
    std::string session;
    bool foreground = false;
    bool finished = false;
    bool persist_on_release = false;
    bool keep = false;  ///< outlives this node
    backends::io_loop::clock::time_point started;
    backends::io_loop::clock::time_point ended;
    std::uint64_t number = 0;  ///< order of starts
  };
  /// Ordered, for look-up by prefix.
  using table = std::map<std::string, entry, std::less<>>;

  // -- one process --
  /// A process that exists and is counted, and the environment that is to launch it. The request of
  /// the caller must be on its way to the process before `launch` is.
  struct admitted {
    process_actor process;
    environment_actor environment;
    spawn_request request;
    caller owner;
  };
  caf::expected<admitted> admit(const caller& who, spawn_request request);
  void launch(admitted one);
  caf::expected<environment_actor> environment_of(const caller& who, const std::string& name);
  caf::result<start_result> on_start(const caller& who, spawn_request request);
  caf::result<run_result> on_run(const caller& who, spawn_request request);
  template <class Result, class Atom, class... Args>
  caf::result<Result> pass_on(Atom atom, const caller& who, const std::string& id, Args&&... args);
  caf::result<wait_many_result> on_wait_many(const caller& who, wait_many_options what);
  caf::result<process_summary> on_handoff(const caller& who, const std::string& id,
                                          std::string session, std::string note);
  /// Those in memory that an id or prefix may mean, at most two.
  std::vector<table::iterator> matches(const caller& who, std::string_view id);
  caf::expected<table::iterator> find(const caller& who, std::string_view id);

  // -- earlier lives (registry_past.cpp) --
  void take_over(recovery_plan plan);
  void add_running(past_process past);
  table::iterator add_finished(past_result past, bool adopt);
  process_actor supervised(process_actor process, const std::string& id);
  template <class Result, class Atom, class... Args>
  caf::result<Result> pass_on_past(Atom atom, const caller& who, const std::string& id,
                                   Args&&... args);
  caf::expected<process_actor> revive(const caller& who, const std::string& id,
                                      const found_receipts& found);

  // -- the table --
  void on_finished(const std::string& id, const exit_info& end, std::uint64_t output_bytes);
  void on_background(const std::string& id);
  void on_lost(const std::string& id);
  void on_warning(const std::string& text);
  void on_retention();
  void on_environment_retired(const environment_retired& what);
  void forget(table::iterator it);
  void arm_retention();

  // -- many processes --
  caf::result<std::vector<process_summary>> on_list(const caller& who);
  caf::result<std::uint32_t> on_interrupt(const caller& who);
  caf::result<std::uint32_t> on_yield(const caller& who);
  caf::result<kill_all_result> on_kill_all(const caller& who, const kill_all_options& what);
  caf::result<kill_all_result> on_shutdown(caf::timespan grace);
  caf::result<bool> on_active(const caller& who, caf::timespan max_age) const;
  node_status on_status() const;
  template <class Result, class Part, class Select, class Ask, class Merge, class Done>
  caf::result<Result> gather(Select select, Ask ask, Merge merge, Done done);
  caf::result<kill_all_result> kill_selected(
      const std::function<bool(const table::value_type&)>& select, kill_options what);
  bool is_interrupted(const caller& who) const;

  registry_internal_actor::pointer self_;
  std::shared_ptr<const options> opts_;
  std::shared_ptr<process_services> services_;

  table processes_;
  std::unordered_map<std::string, std::size_t> running_of_;  // by session
  std::unordered_map<std::string, std::deque<std::string>>
      finished_of_;  // by session, oldest first
  std::deque<std::pair<backends::io_loop::clock::time_point, std::string>> retention_;
  std::uint64_t retention_timer_ = 0;
  std::size_t running_ = 0;

  std::map<std::string, environment_actor> environments_;
  /// Environments that sleep, with the order in which they went to sleep.
  std::map<std::string, std::shared_ptr<const environment_memory>> asleep_;
  std::deque<std::string> asleep_order_;

  using turn_key = std::pair<std::string, std::string>;
  std::set<turn_key> interrupted_;
  std::deque<turn_key> interrupted_order_;

  std::uint64_t next_number_ = 1;
  std::uint64_t next_group_ = 1;
  std::uint64_t started_total_ = 0;
  std::uint64_t output_bytes_total_ = 0;
  bool shutting_down_ = false;
};

}  // namespace troupe

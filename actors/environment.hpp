// The environment actor: one per environment key. It remembers what shells leave to each other
// (variables, functions, aliases, the directory), takes the snapshot of a login shell once, turns
// every command into what the backend runs, keeps a few warm shells ready, and goes to sleep when
// nothing happens. Processes of it are actors of their own; it never waits for one.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/typed_event_based_actor.hpp>

#include "troupe/actors/launch.hpp"
#include "troupe/actors/loop_event.hpp"
#include "troupe/actors/process.hpp"
#include "troupe/backends/child_environment.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe {

struct command_order;

class environment_state {
 public:
  environment_state(environment_actor::pointer self,
                    std::shared_ptr<const process_services> services, std::string key,
                    environment_options what, std::shared_ptr<const environment_memory> memory);
  ~environment_state();
  environment_state(const environment_state&) = delete;
  environment_state& operator=(const environment_state&) = delete;

  environment_actor::behavior_type make_behavior();

  static constexpr const char* name = "troupe.environment";

 private:
  enum class phase { fresh, asking, ready };

  void on_job(launch_job job);
  void on_left(const command_left& what);
  void take_over(const command_left& what);
  void on_idle();

  // -- the snapshot --
  void ask_login_shell(const caller& owner);
  void on_snapshot_event(loop_event& event);
  void snapshot_timed_out();
  void snapshot_over(const std::string& failure);
  void tell_snapshot_failed(const std::string& why) const;

  // -- starting --
  void launch(const launch_job& job);
  std::string start_directory(const spawn_request& request) const;
  std::string expand(const std::string& workdir) const;
  std::vector<std::string> shell_argv(const char* text) const;
  bool is_bash() const;

  // -- warm shells --
  struct warm_shell {
    backends::child_id id;
    std::uint64_t generation;
  };
  void look_whether_plain(command_order& command) const;
  backends::child_id take_warm(const spawn_request& request);
  void refill();

  environment_actor::pointer self_;
  std::shared_ptr<const process_services> services_;
  std::string key_;
  environment_options what_;
  std::shared_ptr<const backends::child_environment> child_env_;
  phase phase_ = phase::fresh;
  shell_state shell_;
  std::string cwd_;
  std::deque<launch_job> waiting_;
  std::size_t running_ = 0;

  // while the login shell is asked
  backends::child_id snapshot_child_ = 0;
  std::shared_ptr<backends::arena::lease> snapshot_output_;
  std::string snapshot_report_;               ///< path
  std::optional<std::string> snapshot_told_;  ///< report, as it came in the output
  caller snapshot_owner_;
  std::uint64_t snapshot_timer_ = 0;

  std::vector<warm_shell> warm_;
  backends::io_loop::clock::time_point last_used_;
  std::uint64_t idle_timer_ = 0;
};

}  // namespace troupe

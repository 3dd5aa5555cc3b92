// A host for tests: an actor system with a runtime, and blocking calls on its registry. Every call
// has a generous limit and fails the test when it passes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include "troupe/actors/runtime.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe::testing {

/// Limit of every blocking call; far above what anything takes on a busy machine.
inline constexpr std::chrono::seconds generous{60};

class host {
 public:
  explicit host(options opts = quick_options());
  ~host();

  /// Defaults with a short grace, so that ladders end soon.
  static options quick_options();

  caf::actor_system& system() { return *system_; }
  runtime& core() { return *runtime_; }
  const registry_actor& registry() { return runtime_->registry(); }

  /// Sends a request and returns the answer; throws std::runtime_error with code and text on errors.
  template <class Result, class... Args>
  Result ask(Args&&... args) {
    Result result{};
    caf::error failure;
    caf::scoped_actor self{*system_};
    compat::request_within(self.ptr(), generous, registry(), std::forward<Args>(args)...)
        .receive([&](Result& answer) { result = std::move(answer); },
                 [&](caf::error& err) { failure = std::move(err); });
    if (failure) fail(failure);
    return result;
  }

  /// The error code of a request that must fail; `errc::none` if it did not.
  template <class Result, class... Args>
  errc ask_error(Args&&... args) {
    errc code = errc::none;
    caf::scoped_actor self{*system_};
    compat::request_within(self.ptr(), generous, registry(), std::forward<Args>(args)...)
        .receive([&](Result&) {}, [&](const caf::error& err) { code = error_code_of(err); });
    return code;
  }

  start_result start(const std::string& command, std::function<void(spawn_request&)> adjust = {});
  run_result run(const std::string& command, std::function<void(spawn_request&)> adjust = {});
  wait_result wait(const std::string& id, wait_options what = {});
  poll_result poll(const std::string& id, poll_options what = {});
  kill_result kill(const std::string& id, kill_options what = {});
  log_result log(const std::string& id, log_options what = {});
  write_result write(const std::string& id, std::string data, bool eof = false);

  /// Waits until the output of the process matches.
  std::string wait_until(const std::string& id, const std::string& pattern);

  caller who{"test", "turn-1", "", "", "", "", "", ""};

 private:
  [[noreturn]] static void fail(const caf::error& err);

  std::unique_ptr<node_config> config_;
  std::unique_ptr<caf::actor_system> system_;
  std::unique_ptr<runtime> runtime_;
};

/// Pids whose environment carries `TROUPE_PROCESS=<id>`; zombies do not count.
std::vector<int> alive_with_marker(const std::string& id);

/// Keepers that work for a state directory.
std::vector<int> keepers_of(const std::string& state_dir);

/// Number of zombie children of this process.
int zombie_children();

/// Open descriptors of this process.
int open_descriptors();

/// What a flood of output may add to our memory. Sanitizers keep what is freed for a while.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr long allowed_kib = 512 * 1024;
#else
inline constexpr long allowed_kib = 16 * 1024;
#endif

/// Resident memory of this process in KiB.
long resident_kib();

/// Blocks until `condition` holds, looking again after short pauses; false when `limit` passes. Only
/// for facts of the kernel that have no event (a zombie is gone, memory is given back).
bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit = generous);

}  // namespace troupe::testing

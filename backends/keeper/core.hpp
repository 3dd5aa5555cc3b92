// The node's side of a keeper: which children are where, and the connection. Internal to
// keeper_backend. Everything belongs to the loop's thread, except what says otherwise.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "troupe/backends/keeper/channel.hpp"
#include "troupe/backends/keeper/keeper_backend.hpp"
#include "troupe/backends/keeper/left.hpp"

namespace troupe::backends {

/// The way from any thread to rings that have stalled, and from the end of a lease to the loop.
/// Thread-safe.
class keeper_slots {
 public:
  void open(std::shared_ptr<arena> rings, keeper::unique_fd bell);
  void close();
  void set(child_id id, std::uint32_t slot);
  void erase(child_id id);
  /// Tells the keeper that the ring of this child has room again; false if there is no such child.
  bool resume(child_id id);
  template <class Action>
  void while_open(Action action) {
    const std::lock_guard lock(mutex_);
    if (rings_) {
      action();
    }
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<arena> rings_;
  keeper::unique_fd bell_;
  std::unordered_map<child_id, std::uint32_t> slots_;
};

class keeper_backend::core : public std::enable_shared_from_this<core> {
 public:
  core(io_loop& loop, keeper_options options);

  void prepare(child_id id, spawn_spec&& spec);
  void discard(child_id id);
  void start(child_id id, spawn_spec&& spec, std::shared_ptr<sink> out);
  void write(child_id id, std::uint64_t token, std::string&& data, bool eof);
  void signal(child_id id, std::uint64_t token, int number);
  void kill(child_id id, kill_plan plan);
  void resize(child_id id, std::uint16_t rows, std::uint16_t cols);
  void resume(child_id id);
  void describe(child_id id, std::uint64_t token);
  void recover(std::function<void(recovery)> done);
  void adopt(child_id id, std::shared_ptr<sink> out);
  void adopt_running(child_id id, int pid, std::uint64_t start_ticks, std::string&& marker,
                     std::shared_ptr<sink> out);
  void set_owner_death(child_id id, owner_death what);
  void release(child_id id);
  void close();
  /// On any other thread, after `close`.
  void join() { local_.reset(); }

  /// Thread-safe.
  keeper_slots& slots() { return slots_; }

 private:
  enum class link { none, connecting, attached, unavailable, taken_over };
  /// Where a child is looked after.
  enum class place { keeper, here, orphaned };

  struct child {
    place where = place::keeper;
    std::shared_ptr<sink> out;  ///< null: found, and not adopted yet
    std::string marker;
    bool pty = false;
    bool started = false;
    int pid = 0;
    std::uint64_t start_ticks = 0;
    std::uint32_t slot = 0;
    std::weak_ptr<arena::lease> lease;
    keeper::unique_fd output;
    keeper::unique_fd input;
    bool input_ends = false;  ///< EOF has been asked for: the pipe ends only when nobody has it
    bool eof = false;
    std::optional<exit_status> exit;
    std::optional<std::vector<int>> holders;
    /// What has not been answered.
    std::vector<std::uint64_t> writes;
    std::vector<std::uint64_t> signals;
    std::vector<std::uint64_t> describes;
    std::optional<kill_plan> killing;
  };

  // connect.cpp: the connection
  void connect(bool launch);
  void attempt();
  void launch();
  void begin(keeper::unique_fd socket);
  void lost(const std::string& why);
  void unavailable(const std::string& why);
  void welcomed(keeper::message&& m);
  void listed();
  void report(const std::string& what);
  void run_waiting();

  // events.cpp: what the keeper says
  void received(keeper::message&& m);
  template <class Record, class Action>
  void with(const keeper::message& m, Action action);
  void started(const keeper::started& s, std::vector<keeper::unique_fd>&& files);
  void found(keeper::found&& f, std::vector<keeper::unique_fd>&& files);
  void tell_mark(child& c);
  void ring_done(child_id id);
  void await_bell();

  // stand_in.cpp: without a keeper
  local_backend& local();
  void keeper_died(const std::string& why);
  void take_here(child_id id, child& c);
  void superseded(std::uint64_t by);

  /// Runs `action` when it is known whether there is a keeper.
  void when_known(std::function<void()> action);
  child* find(child_id id);
  std::shared_ptr<arena::lease> lease_of(child_id id, std::uint32_t slot);
  std::optional<start_error> refusal() const;

  io_loop& loop_;
  keeper_options options_;
  link link_ = link::none;
  bool closed_ = false;
  bool may_launch_ = false;
  int attempts_ = 0;
  std::string why_not_;
  bool busy_ = false;
  keeper::unique_fd dir_;
  std::shared_ptr<keeper::channel> channel_;
  int keeper_pid_ = 0;
  io_loop::timer_id limit_ = 0;
  std::shared_ptr<arena> rings_;
  std::optional<boost::asio::posix::stream_descriptor> bell_;
  std::vector<child_id> by_slot_;
  keeper_slots slots_;
  std::deque<std::function<void()>> waiting_;

  std::unordered_map<child_id, child> children_;
  recovery found_;
  bool list_complete_ = false;
  std::function<void(recovery)> recovered_;
  std::map<child_id, std::string> left_;  ///< names of records
  std::unique_ptr<local_backend> local_;
};

}  // namespace troupe::backends

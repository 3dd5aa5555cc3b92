// The keeper's side of the protocol: one node at a time, the children it asked for, and what becomes
// of them when it goes. Children run in a `local_backend`; this is its owner in the node's place.
// Everything here belongs to the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "troupe/apps/troupe-keeper/spool.hpp"
#include "troupe/backends/arena.hpp"
#include "troupe/backends/keeper/channel.hpp"
#include "troupe/backends/local/local_backend.hpp"

namespace troupe::keeper_app {

using backends::child_id;
namespace wire = backends::keeper;

struct server_settings {
  std::string dir;
  wire::unique_fd dir_fd;
  wire::unique_fd listener;
  /// Where children get their limit from if the node does not say.
  std::uint64_t nofile_soft = 0;
  /// Nothing is left to do. Called once.
  std::function<void()> done;
};

class server {
 public:
  server(backends::io_loop& loop, backends::local::worker& worker, server_settings settings);
  ~server();
  void begin();

 private:
  class kept;
  friend class kept;
  using channel_ptr = std::shared_ptr<wire::channel>;

  // server.cpp: nodes come and go
  void accept_soon();
  void accept_all();
  void greet(const channel_ptr& from, int pid, wire::message&& m);
  void refuse(const channel_ptr& whom, int other, const std::string& why);
  void take_over_from_node(const channel_ptr& to, int pid, const wire::hello& h);
  bool make_backend(const wire::hello& h);
  void attach(const channel_ptr& to, int pid, const wire::hello& h);
  void attached_for_good();
  void detach();
  void end_if_idle();

  // children.cpp: what becomes of children
  void grace_over();
  void list(kept& child);
  void end_of_list();
  void settle(kept& child);
  bool flush(kept& child);
  bool directory_is_gone() const;
  void flush_again_later();
  void forget(child_id id);

  // dispatch.cpp: requests
  void received(wire::message&& m);
  template <class Record, class Action>
  void carry_out(const wire::message& m, Action action);
  void start(wire::start_order&& order);
  void await_bell();

  template <class Record>
  void tell(const Record& record, std::vector<wire::unique_fd> files = {}) {
    if (node_) {
      node_->send(record, std::move(files));
    }
  }
  kept* find(child_id id);

  backends::io_loop& loop_;
  backends::local::worker& worker_;
  server_settings settings_;
  boost::asio::posix::stream_descriptor listener_;

  std::shared_ptr<backends::arena> rings_;
  std::unique_ptr<backends::local_backend> backend_;
  wire::unique_fd node_bell_;
  std::optional<boost::asio::posix::stream_descriptor> bell_;

  /// Connections that have not said hello.
  std::vector<channel_ptr> guests_;
  channel_ptr node_;
  int node_pid_ = 0;
  wire::hello terms_;
  /// The next node, while the one before lets go.
  std::function<void()> successor_;

  std::unordered_map<child_id, std::shared_ptr<kept>> children_;
  std::vector<child_id> by_slot_;
  std::set<child_id> prepared_;
  /// Starts that an earlier node asked for and that are not in the list for this one yet.
  std::set<child_id> unlisted_;
  bool list_open_ = false;
  child_id next_id_ = 1;
  spool_limits spools_;
  wire::unique_fd spool_folder_;
  backends::io_loop::timer_id grace_timer_ = 0;
  bool grace_is_over_ = false;
  bool flush_planned_ = false;
  bool ended_ = false;
};

/// One child as the keeper knows it, and the sink of the backend for it.
class server::kept : public backends::sink {
 public:
  kept(server& owner, child_id id, const backends::spawn_spec& spec);

  void started(const backends::start_info& info) override;
  void failed(const backends::start_error& error) override;
  void advanced() override;
  void eof() override;
  void exited(const backends::exit_status& status) override;
  void reported(std::string report) override;
  void drained(const std::vector<int>& who) override;
  void written(std::uint64_t token, const backends::write_outcome& outcome) override;
  void signalled(std::uint64_t token, int error_number) override;
  void kill_done(const std::vector<int>& survivors) override;
  void described(std::uint64_t token, const backends::description& what) override;

  /// The consumer's part while there is none: makes room in the ring before it is full.
  void consume();
  void ring_done();
  /// What any node is told, in time or by the record, but for its id, policy, stdin and end.
  backends::found_child known() const;
  bool over() const { return exit && holders; }

  server& owner;
  const child_id id;
  const std::string marker;
  const bool pty;
  const bool has_stdin;
  backends::owner_death on_owner_death;
  std::optional<backends::start_info> info;
  std::shared_ptr<backends::arena::lease> lease;
  bool output_ended = false;
  bool ending = false;       ///< its owner's death is being carried out
  bool owner_ended = false;  ///< it has been, while the child still ran
  std::optional<backends::exit_status> exit;
  std::optional<std::vector<int>> holders;
  spool spilled;
  /// Once the ring is gone.
  std::uint64_t total_bytes = 0;
  std::array<std::uint64_t, 8> notes{};
};

}  // namespace troupe::keeper_app

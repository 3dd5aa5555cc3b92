// What a node and its keeper say to each other; docs/keeper.md is the document. One record per
// message, its `id` is the child it is about. A change of any record changes `protocol_version`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "troupe/backends/backend.hpp"
#include "troupe/backends/keeper/wire.hpp"

namespace troupe::backends {

// How the seam's own records and enums travel.
inline stage last_of(stage) {
  return stage::exec;
}
inline write_status last_of(write_status) {
  return write_status::line_too_long;
}
inline owner_death last_of(owner_death) {
  return owner_death::end;
}
template <class Visitor>
void visit_fields(Visitor& v, spawn_spec& r) {
  v(r.argv), v(r.env), v(r.cwd), v(r.marker), v(r.pty), v(r.rows), v(r.cols), v(r.stdin_pipe);
  v(r.state_script), v(r.command_script), v(r.prepared), v(r.report_marker), v(r.on_owner_death);
}
template <class Visitor>
void visit_fields(Visitor& v, start_error& r) {
  v(r.where), v(r.error_number), v(r.text);
}
template <class Visitor>
void visit_fields(Visitor& v, exit_status& r) {
  v(r.known), v(r.code), v(r.signal), v(r.core_dumped), v(r.user_us), v(r.system_us);
  v(r.max_rss_kib), v(r.minor_faults), v(r.major_faults), v(r.voluntary_switches);
  v(r.involuntary_switches);
}
template <class Visitor>
void visit_fields(Visitor& v, write_outcome& r) {
  v(r.status), v(r.accepted), v(r.queued);
}
template <class Visitor>
void visit_fields(Visitor& v, tree_member& r) {
  v(r.pid), v(r.parent), v(r.state), v(r.command);
}
template <class Visitor>
void visit_fields(Visitor& v, description& r) {
  v(r.tree), v(r.awaiting_input);
}
template <class Visitor>
void visit_fields(Visitor& v, kill_plan& r) {
  v(r.first_signal), v(r.grace), v(r.settle);
}

}  // namespace troupe::backends

namespace troupe::backends::keeper {

inline constexpr std::uint32_t protocol_version = 3;

/// What a message is. In the order of the document; numbers are never given to something else.
enum class kind : std::uint16_t {
  // node to keeper
  hello = 1,
  prepare = 2,
  discard = 3,
  start = 4,
  write = 5,
  signal = 6,
  kill = 7,
  resize = 8,
  describe = 9,
  set_owner_death = 10,
  release = 11,
  ring_done = 12,
  adopt = 13,
  // keeper to node
  welcome = 32,
  refused = 33,
  found = 34,
  list_end = 35,
  started = 36,
  failed = 37,
  eof = 38,
  exited = 39,
  drained = 40,
  written = 41,
  signalled = 42,
  kill_done = 43,
  described = 44,
  taken_over = 45,
  reported = 46,
};

/// The first message of a node. Its first field never changes, so that versions can be told apart.
struct hello {
  static constexpr auto is = kind::hello;
  std::uint32_t version = protocol_version;
  bool take_over = false;
  std::uint64_t slots = 0;
  std::uint64_t ring_bytes = 0;
  std::chrono::milliseconds drain_limit{};
  std::uint64_t stdin_queue_bytes = 0;
  std::optional<std::uint64_t> nofile_soft;
  bool share_descriptors = true;
  std::uint64_t spool_bytes = 0;
  std::uint64_t spool_total_bytes = 0;
  std::chrono::milliseconds owner_grace{};
  kill_plan owner_plan;
};
/// With the memory file of the rings, the eventfd that wakes the node, and the one that wakes the
/// keeper.
struct welcome {
  static constexpr auto is = kind::welcome;
  std::uint32_t version = protocol_version;
  int pid = 0;
  child_id next_id = 1;
};
struct refused {
  static constexpr auto is = kind::refused;
  int other_pid = 0;  ///< the node that is attached; 0: another reason
  std::string text;
};
/// `start` and `prepare`.
template <kind Is>
struct order {
  static constexpr auto is = Is;
  child_id id = 0;
  spawn_spec spec;
};
/// Messages that only name a child.
template <kind Is>
struct about {
  static constexpr auto is = Is;
  child_id id = 0;
};
struct write_request {
  static constexpr auto is = kind::write;
  child_id id = 0;
  std::uint64_t token = 0;
  bool eof = false;
  std::string data;
};
struct signal_request {
  static constexpr auto is = kind::signal;
  child_id id = 0;
  std::uint64_t token = 0;
  int number = 0;
};
struct kill_request {
  static constexpr auto is = kind::kill;
  child_id id = 0;
  kill_plan plan;
};
struct resize_request {
  static constexpr auto is = kind::resize;
  child_id id = 0;
  std::uint16_t rows = 0;
  std::uint16_t cols = 0;
};
struct describe_request {
  static constexpr auto is = kind::describe;
  child_id id = 0;
  std::uint64_t token = 0;
};
struct owner_death_request {
  static constexpr auto is = kind::set_owner_death;
  child_id id = 0;
  owner_death what = owner_death::end;
};
/// `list_end` and `taken_over`.
template <kind Is>
struct notice {
  static constexpr auto is = Is;
  std::uint64_t number = 0;
};

/// A child that runs. With its output, and with the write end of its stdin if it has one.
struct started {
  static constexpr auto is = kind::started;
  child_id id = 0;
  int pid = 0;
  std::uint64_t start_ticks = 0;
  std::uint32_t slot = 0;
};
/// A child of the node before, as far as it has come. With its output if that is open, and its stdin.
struct found {
  static constexpr auto is = kind::found;
  found_child child;  ///< without what only files tell
  std::uint32_t slot = 0;
  bool has_output = false;
  bool eof = false;
  std::optional<exit_status> exit;
  std::optional<std::vector<int>> holders;  ///< set: drained
  /// The consumer has given the ring back: `slot` means nothing then.
  bool ring_gone = false;
};
/// `failed`, `exited`, `reported`, `drained`, `kill_done`.
template <kind Is, class What>
struct told {
  static constexpr auto is = Is;
  child_id id = 0;
  What what{};
};
/// `written`, `signalled`, `described`.
template <kind Is, class What>
struct answer {
  static constexpr auto is = Is;
  child_id id = 0;
  std::uint64_t token = 0;
  What what{};
};

template <class Visitor>
void visit_fields(Visitor& v, hello& r) {
  v(r.version), v(r.take_over), v(r.slots), v(r.ring_bytes), v(r.drain_limit);
  v(r.stdin_queue_bytes), v(r.nofile_soft), v(r.share_descriptors), v(r.spool_bytes);
  v(r.spool_total_bytes), v(r.owner_grace), v(r.owner_plan);
}
template <class Visitor>
void visit_fields(Visitor& v, welcome& r) {
  v(r.version), v(r.pid), v(r.next_id);
}
template <class Visitor>
void visit_fields(Visitor& v, refused& r) {
  v(r.other_pid), v(r.text);
}
template <class Visitor, kind Is>
void visit_fields(Visitor& v, order<Is>& r) {
  v(r.id), v(r.spec);
}
template <class Visitor, kind Is>
void visit_fields(Visitor& v, about<Is>& r) {
  v(r.id);
}
template <class Visitor>
void visit_fields(Visitor& v, write_request& r) {
  v(r.id), v(r.token), v(r.eof), v(r.data);
}
template <class Visitor>
void visit_fields(Visitor& v, signal_request& r) {
  v(r.id), v(r.token), v(r.number);
}
template <class Visitor>
void visit_fields(Visitor& v, kill_request& r) {
  v(r.id), v(r.plan);
}
template <class Visitor>
void visit_fields(Visitor& v, resize_request& r) {
  v(r.id), v(r.rows), v(r.cols);
}
template <class Visitor>
void visit_fields(Visitor& v, describe_request& r) {
  v(r.id), v(r.token);
}
template <class Visitor>
void visit_fields(Visitor& v, owner_death_request& r) {
  v(r.id), v(r.what);
}
template <class Visitor, kind Is>
void visit_fields(Visitor& v, notice<Is>& r) {
  v(r.number);
}
template <class Visitor>
void visit_fields(Visitor& v, started& r) {
  v(r.id), v(r.pid), v(r.start_ticks), v(r.slot);
}
template <class Visitor>
void visit_fields(Visitor& v, found& r) {
  auto& c = r.child;
  v(c.id), v(c.marker), v(c.pid), v(c.start_ticks), v(r.slot), v(c.pty), v(r.has_output);
  v(c.has_stdin), v(c.on_owner_death), v(c.owner_ended), v(r.eof), v(r.exit), v(r.holders);
  v(c.spool_path), v(c.spool_from), v(c.spool_bytes), v(c.tail_bytes), v(r.ring_gone);
  v(c.total_bytes), v(c.notes);
}
template <class Visitor, kind Is, class What>
void visit_fields(Visitor& v, told<Is, What>& r) {
  v(r.id), v(r.what);
}
template <class Visitor, kind Is, class What>
void visit_fields(Visitor& v, answer<Is, What>& r) {
  v(r.id), v(r.token), v(r.what);
}

using start_order = order<kind::start>;
using prepare_order = order<kind::prepare>;
using failed = told<kind::failed, start_error>;
using exited = told<kind::exited, exit_status>;
using reported = told<kind::reported, std::string>;
using drained = told<kind::drained, std::vector<int>>;
using kill_done = told<kind::kill_done, std::vector<int>>;
using written = answer<kind::written, write_outcome>;
using signalled = answer<kind::signalled, int>;
using described = answer<kind::described, description>;

}  // namespace troupe::backends::keeper

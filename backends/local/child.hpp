// One child on the loop: reads its output into the ring, feeds its stdin, notices its exit, drains
// what is left, and runs the kill ladder. Passive: it reacts to readiness and to requests, and tells
// everything to its sink. Belongs to the loop's thread.
//
//   starting ──began──▶ running ──leader exits──▶ draining ──▶ discarding ──EOF──▶ over
//
// Exit is not EOF and EOF is not exit: after the exit, what the pipe held at that moment reaches the
// ring whatever it takes; beyond that, reading ends when it would block, at the end, or at one
// absolute limit. Afterwards the descriptor stays open and what still comes is thrown away, so that
// a descendant does not die of SIGPIPE.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/backends/backend.hpp"
#include "troupe/backends/io_loop.hpp"
#include "troupe/backends/local/kill_run.hpp"
#include "troupe/backends/local/process_table.hpp"
#include "troupe/backends/local/spawn.hpp"
#include "troupe/backends/local/stdin_queue.hpp"
#include "troupe/text/echo_filter.hpp"
#include "troupe/text/report_filter.hpp"
#include "troupe/text/terminal_queries.hpp"

namespace troupe::backends::local {

/// What all children of a backend share. Outlives them.
struct child_services {
  io_loop& loop;
  process_table& table;
  std::chrono::milliseconds drain_limit{50};
  std::size_t stdin_queue_bytes = 8 << 20;
  /// Children are waited for by their pidfd; otherwise somebody else calls `leader_exited`.
  bool pidfds = true;
  /// A leader has been reaped, whoever did it.
  std::function<void(int pid)> reaped;
  /// Nobody has the output of a child open that has not been reaped: it may be about to end.
  std::function<void(int pid)> may_have_ended = {};
  /// The child is released and nothing of it is left to do.
  std::function<void(child_id)> forget;
  std::vector<char> scratch = std::vector<char>(64 * 1024);
};

/// A process that was started by somebody who is gone, and how far it had come. Its end is seen, but
/// its status can be taken only if it is (or has become) a child of this process.
struct adopted {
  spawned process;  ///< without pidfd: it has ended
  std::shared_ptr<arena::lease> lease;
  bool exited = false;   ///< `exited` has been told
  bool drained = false;  ///< so has `drained`
};

class child : public std::enable_shared_from_this<child> {
 public:
  child(child_services& services, child_id id, std::shared_ptr<sink> out, const spawn_spec& spec);
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  /// The launcher's good news. Tells `started`, then does what was asked for in the meantime.
  void began(spawned&& s, std::shared_ptr<arena::lease> lease);

  /// Takes over one that has been running. `started` is not told, everything else that is still to come
  /// is.
  void adopt(adopted&& a);

  /// For a third party that is to have them too; -1: none (any more).
  int output_handle();
  int input_handle();

  void write(std::uint64_t token, std::string data, bool eof);
  void signal(std::uint64_t token, int signal_number);
  void kill(kill_plan plan);
  void resize(std::uint16_t rows, std::uint16_t cols);
  void resume();
  void describe(std::uint64_t token);
  void release();
  /// The consumer is done with the ring, before `release`.
  void drop_output();
  bool is_drained() const noexcept { return drained_told_; }

  /// The leader has ended and was reaped by the orphan handling.
  void leader_exited(const exit_status& status);
  /// Lets go of everything at once, telling nothing. The child itself is not touched.
  void close();

 private:
  using descriptor = boost::asio::posix::stream_descriptor;
  enum class phase { starting, running, draining, discarding, over };
  enum class read_result { data, again, full, end };

  // child.cpp: life
  void connect(spawned&& s);
  bool defer(std::function<void()> later);
  void await_exit();
  void exit_readable();
  void begin_drain();
  void drain_limit_reached();
  void await_end_of_pipe();
  bool drain_is_over(read_result last);
  void finish_drain(bool eof);
  void tell_drained(const std::vector<int>& holders);
  void tell_kill_done();
  void forget_if_done();
  bool signal_leader(int signal_number);
  tree_identity identity() const;
  void learn(const std::vector<process_key>& members);

  // child_output.cpp: reading
  void pump();
  void arm_read();
  read_result read_some();
  read_result read_pipe();
  read_result read_reported();
  read_result read_terminal();
  template <class Stage, class Feed, class Finish>
  read_result read_through(Stage& stage, Feed feed, Finish finish);
  bool flush_pending(std::string& pending);
  void expect_echo(const std::string& typed);
  read_result discard();
  void tell_advanced();
  void output_ended();

  // child_input.cpp: stdin, the terminal, signals
  void flush_stdin();
  void arm_write();
  void close_stdin();

  child_services& services_;
  child_id id_;
  std::shared_ptr<sink> sink_;
  std::shared_ptr<arena::lease> lease_;
  std::string marker_;
  std::string first_marker_;
  bool pty_;

  phase phase_ = phase::starting;
  bool released_ = false;
  bool closed_ = false;
  bool exited_ = false;
  bool drained_told_ = false;
  bool foreign_ = false;  ///< started by somebody else
  bool output_over_ = false;
  bool stalled_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool limit_passed_ = false;
  /// Bytes that must still be read whatever the limit says.
  std::int64_t must_read_ = 0;
  /// How much of the output `advanced` has announced.
  std::uint64_t told_ = 0;

  int pid_ = 0;
  std::uint64_t start_ticks_ = 0;
  io_loop::clock::time_point reaped_at_;
  std::set<process_key> known_;
  std::optional<descriptor> pidfd_;
  std::optional<descriptor> output_;
  std::optional<descriptor> input_;
  io_loop::timer_id drain_timer_ = 0;
  io_loop::timer_id end_timer_ = 0;
  bool end_awaited_ = false;
  stdin_queue stdin_;

  /// PTY only: filters queries; what did not fit into the ring yet.
  struct terminal {
    text::query_responder responder;
    text::echo_filter echoes;
    std::string unfiltered;
    std::string pending;
    std::string answers;
    bool ended = false;
  };
  std::unique_ptr<terminal> terminal_;

  /// Only with a `report_marker`: takes the report out, first of all filters. `pending` is used
  /// without a PTY only.
  struct reporting {
    explicit reporting(std::string_view number) : filter(number) {}
    text::report_filter filter;
    std::string pending;
    bool ended = false;
  };
  std::unique_ptr<reporting> report_;

  std::shared_ptr<kill_run> kill_;
  std::optional<std::vector<int>> survivors_;
  std::vector<std::function<void()>> deferred_;
};

}  // namespace troupe::backends::local

// The process actor: one per command, foreground and background alike. It owns the consumer's end of
// the output, the waiters, what is known of the end, and says exactly one terminal message to the
// registry. The state class holds named handlers; `make_behavior` is a thin table.
//
// Files: process_start.cpp (from the environment to the child), process.cpp (life), process_wait.cpp (who waits for what), process_view.cpp (what is shown),
// process_keep.cpp (what outlives the node), process_act.cpp (kill, signal, stdin, ownership), process_spill.cpp (output for the result and for
// the disk), process_archive.cpp (all of it, in the background), process_events.cpp (what is told unasked).
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include "troupe/actors/heartbeat.hpp"
#include "troupe/actors/launch.hpp"
#include "troupe/actors/loop_event.hpp"
#include "troupe/actors/metrics.hpp"
#include "troupe/actors/output.hpp"
#include "troupe/actors/recovery.hpp"
#include "troupe/actors/run_directory.hpp"
#include "troupe/actors/spill.hpp"
#include "troupe/actors/store.hpp"
#include "troupe/actors/waiters.hpp"
#include "troupe/actors/watch_matcher.hpp"
#include "troupe/actors/watcher.hpp"
#include "troupe/backends/backend.hpp"
#include "troupe/backends/io_loop.hpp"
#include "troupe/config/options.hpp"
#include "troupe/messages/interfaces.hpp"

namespace troupe {

/// What a process with watch patterns or a heartbeat has beside itself.
struct process_reports {
  std::unique_ptr<watch_matcher> matcher;  ///< null: none, or watching has ended
  watcher_actor watcher;
  heartbeat_actor heartbeat;
  bool batch_under_way = false;
  /// Every line that ends before this position was fed to the matcher.
  std::uint64_t lines_to = 0;
};

/// The whole output of a background process, in a file.
struct output_archive {
  std::string path;           ///< empty: not known yet
  std::uint64_t sent = 0;     ///< handed to the writer up to here
  std::uint64_t written = 0;  ///< in the file up to here; bytes behind it may not be given up
  std::size_t unanswered = 0;
  bool over = false;       ///< full, or it failed: nothing more is written
  bool open = false;       ///< the writer has it
  bool closing = false;    ///< the last part is on its way
  bool finishing = false;  ///< the output is over
  std::function<void()> then;
};

/// Going on with a process of an earlier life.
struct takeover {
  past_process what;
  std::uint64_t at = 0;  ///< next byte of the spool to be looked at
  std::string kept;      ///< the end of an output that is over
  /// Requests that want to see output: they are asked again when it is all there.
  std::vector<std::function<void()>> later;
};

/// What all processes of a node share. The registry owns loop and backend; processes end before
/// them.
struct process_services {
  std::shared_ptr<const options> opts;
  /// Variables of this program when it began, for the environments of children.
  std::vector<std::string> node_env;
  std::shared_ptr<const run_directory> run_dir;
  /// Where environments begin that say nothing else.
  std::string default_cwd;
  std::shared_ptr<backends::io_loop> loop;
  std::shared_ptr<backends::backend> backend;
  registry_internal_actor registry;
  events_actor events;
  spill_actor spill;
  store_actor store;  ///< null: nothing outlives the node
  std::uint32_t slot = 0;
  std::string boot_id;
  bool has_keeper = false;
  std::shared_ptr<const metrics> numbers;
  /// Names of children, unique per backend.
  backends::child_id next_child() const {
    return last_child.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  mutable std::atomic<backends::child_id> last_child{0};
};

/// Token of the deadline of the process itself; waiters count from 1.
inline constexpr std::uint64_t process_deadline = 0;

redaction redaction_for(const options& opts, const persistence::process_record& record);

/// How a foreground command ended for its caller.
run_status run_status_of(const exit_info& end);

class process_state {
 public:
  /// Exists before its child does: the environment sends the `launch_order` that starts it. Its
  /// deadline runs from here.
  process_state(process_actor::pointer self, std::shared_ptr<const process_services> services,
                spawn_request request, caller owner,
                std::shared_ptr<const watch_patterns> patterns);
  /// One of an earlier life. It goes on with `adopt_atom`.
  process_state(process_actor::pointer self, std::shared_ptr<const process_services> services,
                past_process past, std::shared_ptr<const watch_patterns> patterns);
  /// One that has ended in an earlier life, or was forgotten since: what its receipt says.
  process_state(process_actor::pointer self, std::shared_ptr<const process_services> services,
                past_result past);
  ~process_state();
  process_state(const process_state&) = delete;
  process_state& operator=(const process_state&) = delete;

  process_actor::behavior_type make_behavior();

  static constexpr const char* name = "troupe.process";

 private:
  // -- start (process_start.cpp) --
  void on_launch(launch_order order);
  void fail_start(start_failure failure);
  void end_unstarted();
  void take_report();
  void report_lost();
  void leave_environment();

  // -- what outlives the node (process_keep.cpp) --
  void on_adopt();
  void begin_catch_up();
  void begin_spool();
  void next_spool_part();
  void take_spooled(const std::string& bytes);
  void end_catch_up();
  void caught_up();
  void end_lost();
  template <class Result, class... What>
  caf::result<Result> ask_again(What... what);
  bool outlives_node() const;
  persistence::process_record record() const;
  void keep_record(std::function<void()> then);
  void keep_receipt(std::function<void()> then);
  void drop_left();
  void drop_record();
  void warn(const std::string& text) const;

  // -- life (process.cpp) --
  void on(const loop_event::advanced&);
  void on(const backends::start_info& info);
  void on(const backends::start_error& error);
  void on(const loop_event::eof&);
  void on(const backends::exit_status& status);
  void on(const loop_event::reported& event);
  void on(const loop_event::drained& event);
  void on(const loop_event::written& event);
  void on(const loop_event::signalled& event);
  void on(const loop_event::kill_done& event);
  void on(const loop_event::described& event);
  void take_output();
  void report_end();
  void tell_registry();
  void settle_everything();
  void leave_if_done();
  caf::error gone() const;
  void arm(std::uint64_t token, caf::timespan delay, std::uint64_t& timer);
  void disarm(std::uint64_t& timer);
  void on_deadline(std::uint64_t token);
  bool finished() const { return status_ == process_status::finished; }

  // -- waiting (process_wait.cpp) --
  caf::result<start_result> on_start();
  caf::result<run_result> on_run(const caller& who);
  caf::result<wait_result> on_wait(const caller& who, wait_options what);
  caf::result<output_chunk> on_follow(const caller& who, follow_options what);
  caf::result<std::uint32_t> on_interrupt(const caller& who);
  caf::result<std::uint32_t> on_yield(const caller& who);
  caf::result<process_summary> on_detach();
  void on_port_open(std::uint64_t token);
  void on_group_over(std::uint64_t group);
  void answer_run(run_status how);
  void finish_wait(std::size_t index, wait_status how, std::string match);
  void end_follows_of(const caller& who);
  void answer_waits();
  void answer_follows();
  void leave_foreground();
  wait_result make_wait_result(wait_status how) const;

  // -- output of a foreground command (process_spill.cpp) --
  void feed_run(run_wait& run, std::string_view bytes);
  void feed_run_text(run_wait& run, std::string_view text);
  void begin_spill(run_wait& run);
  spill_job next_spill(spill_feed& feed) const;
  void push_spill(const std::shared_ptr<spill_feed>& feed);
  void go_on(const std::shared_ptr<spill_feed>& feed);
  void make_room();
  void lose_spill(spill_feed& feed, const caf::error& error);
  void answer_with_file(std::unique_ptr<run_wait> run, run_result result);

  // -- the whole output of a background process (process_archive.cpp) --
  void feed_archive();
  void send_archive(std::string bytes, bool last, std::function<void()> then);
  void go_on_archiving();
  void finish_archive(std::function<void()> then);
  void finish_archiving();
  bool archived(std::uint64_t cursor) const;
  void read_archive(std::uint64_t cursor, output_view view, std::size_t max_bytes,
                    std::function<void(output_chunk)> then);
  caf::result<output_chunk> follow_archive(const follow_options& what);
  caf::result<poll_result> poll_archive(const caller& who, const poll_options& what);
  caf::result<log_result> log_archive(const caller& who, const log_options& what);

  // -- showing (process_view.cpp) --
  process_summary summary(std::size_t preview_chars) const;
  caf::result<poll_result> on_poll(const caller& who, const poll_options& what);
  poll_result make_poll_result(const poll_options& what) const;
  caf::result<log_result> on_log(const caller& who, const log_options& what);

  // -- telling (process_events.cpp) --
  event_origin origin() const;
  void begin_reports(std::shared_ptr<const watch_patterns> patterns);
  void begin_heartbeat();
  void promise_completion();
  void send_matches();
  void watch(std::string_view piece, std::uint64_t position);
  void note_watched() const;
  void on_watched(const watch_summary& watched);
  void finish_reports();
  void close_heartbeat();
  void tell_end();
  void publish_completion(bool consumed);
  bool owner_waits() const;
  void consumed_by(const caller& who);
  void hand_over_reports();
  heartbeat_text on_heartbeat(std::uint64_t cursor) const;
  void count_end() const;

  // -- acting (process_act.cpp) --
  caf::result<kill_result> on_kill(const caller& who, const kill_options& what);
  void begin_kill(finish_reason reason, std::string source, const kill_options& what);
  kill_result make_kill_result(kill_status how, std::vector<std::int32_t> survivors) const;
  void answer_kills(const std::vector<int>& survivors);
  caf::result<process_summary> on_signal(std::int32_t signal_number);
  caf::result<write_result> on_write(write_request what);
  caf::result<void> on_resize(std::uint16_t rows, std::uint16_t cols);
  caf::result<process_summary> on_handoff(std::string session, std::string note);

  process_actor::pointer self_;
  std::shared_ptr<const process_services> services_;
  backends::child_id child_;
  spawn_request request_;
  caller owner_;
  std::string cwd_;
  std::string handoff_note_;

  // what the environment made of the command
  environment_actor environment_;
  std::string start_cwd_;
  std::string report_path_;
  bool own_workdir_ = false;
  bool launched_ = false;
  std::optional<std::string> told_report_;  ///< as it came in the output
  std::optional<shell_report> report_;

  process_status status_ = process_status::starting;
  std::int32_t pid_ = 0;
  caf::timestamp started_at_;
  caf::timestamp ended_at_;
  process_output output_;
  /// Up to here a caller has been shown the output; `until` looks at what follows.
  std::uint64_t shown_to_ = 0;
  /// With `hold_output`: up to here a follower has been given the output.
  std::uint64_t followed_to_ = 0;
  std::uint64_t held_from() const { return request_.hold_output ? followed_to_ : UINT64_MAX; }
  bool ending_reported_ = false;

  /// The first cause of the end (design 3.3).
  struct cause {
    finish_reason reason;
    std::string source;
  };
  std::optional<cause> cause_;
  std::optional<exit_info> exit_;

  std::uint64_t next_token_ = 1;
  std::uint64_t deadline_timer_ = 0;
  waiters waiters_;
  bool kill_under_way_ = false;

  std::uint64_t start_ticks_ = 0;
  bool recorded_ = false;   ///< there is (or will be) a record of it on disk
  bool has_child_ = true;   ///< the backend knows it under `child_`
  bool detached_ = false;   ///< found again by its identity only
  bool retained_ = false;   ///< known by its receipt only
  std::string left_spool_;  ///< goes when its receipt is written
  bool untold_ = false;     ///< its completion was never journalled
  std::unique_ptr<output_archive> archive_;
  std::unique_ptr<takeover> takeover_;  ///< until it is caught up with
  watch_summary watched_;
  std::size_t open_answers_ = 0;  ///< results that wait for their file
  std::chrono::steady_clock::time_point kill_began_;

  std::unique_ptr<process_reports> reports_;  ///< null in processes that have nothing to watch
  bool forgotten_ = false;                    ///< the registry keeps it no more
  bool promised_ = false;                     ///< the events actor expects a completion
  bool completion_open_ = false;  ///< its completion is told to those who did not see it
};

template <class Result, class... What>
caf::result<Result> process_state::ask_again(What... what) {
  if (takeover_->later.size() >= defaults::waiters_per_process) {
    return make_error(errc::limit_reached, "too many requests wait on this process");
  }
  auto promise = self_->make_response_promise<Result>();
  takeover_->later.push_back([this, promise, what...]() mutable {
    compat::request(self_, caf::actor_cast<process_actor>(self_), what...)
        .then([promise](Result& answer) mutable { promise.deliver(std::move(answer)); },
              [promise](caf::error& error) mutable { promise.deliver(std::move(error)); });
  });
  return promise;
}

}  // namespace troupe

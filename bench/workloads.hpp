// The workloads of troupe-bench: what each one gives, and the table of all of them. A workload is a
// function in a file of its own name. Names of workloads and cases never change: figures of
// different versions are compared by them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::bench {

class raw_server;

/// What the issue asks of a case.
struct target {
  enum class kind { min_ratio, max_ratio, max_value };
  kind what = kind::max_value;
  double limit = 0;
};

/// One figure. `raw` is the same thing done with system calls in the same run, in the same unit;
/// the ratio shown is value / raw.
struct result {
  std::string name;  ///< `spawn/1`
  double value = 0;
  std::string unit;
  std::optional<double> raw;
  std::optional<target> goal;
  std::string note;  ///< for people

  std::optional<double> ratio() const;
  /// Empty without a target.
  std::optional<bool> reached() const;
};

using results = std::vector<result>;

/// What a workload is given.
struct context {
  bool quick = false;
  raw_server& raw;
  /// This program, quoted for a shell.
  std::string self;

  /// `full` rounds or samples, or `fast` with --quick.
  template <class T>
  T pick(T full, T fast) const {
    return quick ? fast : full;
  }
};

/// Shows where we are, on stderr.
void progress(std::string_view text);

results run_spawn(context& ctx);
results run_spawn_state(context& ctx);
results run_spawn_keeper(context& ctx);
results run_spawn_keeper_2gb(context& ctx);
results run_foreground(context& ctx);
results run_foreground_keeper(context& ctx);
results run_login(context& ctx);
results run_parallel(context& ctx);
results run_interrupt(context& ctx);
results run_ingest(context& ctx);
results run_ingest_keeper(context& ctx);
results run_tail(context& ctx);
results run_idle(context& ctx);
results run_kill_all(context& ctx);
results run_stdin(context& ctx);
results run_wakeup(context& ctx);
results run_follow(context& ctx);
results run_recovery(context& ctx);
results run_start_at(context& ctx);
results run_strip(context& ctx);
results run_chaos(context& ctx);

struct workload {
  std::string_view name;
  std::string_view what;
  results (*run)(context&);
  bool only_by_name = false;
};

inline constexpr std::array workloads = {
    workload{"spawn", "start-to-finished rate of `true`, 1 and 8 in flight", run_spawn},
    workload{"spawn_state", "the same with a state directory", run_spawn_state},
    workload{"spawn_keeper", "the same with a state directory and the keeper", run_spawn_keeper},
    workload{"spawn_keeper_2GB", "the same while this program has 2 GB in memory",
             run_spawn_keeper_2gb},
    workload{"foreground", "latency of `true` as a foreground command; 1 GB of output",
             run_foreground},
    workload{"foreground_keeper", "`true` in the foreground through the keeper",
             run_foreground_keeper},
    workload{"login", "first and second command with slow login files", run_login},
    workload{"parallel", "500 foreground commands at once in one environment", run_parallel},
    workload{"interrupt", "one of 200 foreground commands interrupted", run_interrupt},
    workload{"ingest", "1 GB through a pipe, memory meanwhile; a PTY", run_ingest},
    workload{"ingest_keeper", "1 GB through the keeper", run_ingest_keeper},
    workload{"tail", "poll latency with 1, 100 and 1,000 running", run_tail},
    workload{"idle", "memory and CPU of 1,000 idle processes", run_idle},
    workload{"kill_all", "200 obedient and 200 stubborn processes ended", run_kill_all},
    workload{"stdin", "bytes written to a process", run_stdin},
    workload{"wakeup", "from the exit to the answered waiter", run_wakeup},
    workload{"follow", "from a printed line to the answered follower", run_follow},
    workload{"recovery", "5,000 records of an earlier life until all are listed", run_recovery},
    workload{"start_at", "start rate with 10 and with 5,000 running", run_start_at},
    workload{"strip", "ANSI, UTF-8 and redaction per MB", run_strip},
    workload{"chaos", "nodes killed while 50 processes run, without end; only by name", run_chaos,
             true},
};

}  // namespace troupe::bench

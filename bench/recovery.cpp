// 5,000 processes of an earlier life: their records are there, of this boot, and none of them lives any
// more. The time from making the core until `list` is answered with all of them. Raw: the same files
// opened, read and closed, nothing else.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "troupe/actors/recovery.hpp"
#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/state_dir.hpp"
#include "troupe/bench/workloads.hpp"
#include "troupe/persistence/process_files.hpp"

namespace troupe::bench {

namespace {

constexpr std::size_t record_count = 5'000;
/// Above the largest pid_max there is.
constexpr std::int32_t first_pid = 5'000'000;

/// text: the directory. Gives seconds and the number of files.
std::vector<double> raw_read_files(const raw_args& args) {
  const auto start = now_ns();
  DIR* dir = ::opendir(args.text);
  if (dir == nullptr) throw std::runtime_error{"the records cannot be listed"};
  std::vector<char> buffer(64 * 1024);
  double count = 0;
  while (const dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] == '.') continue;
    const int file = ::openat(::dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0 || ::read(file, buffer.data(), buffer.size()) <= 0) {
      throw std::runtime_error{"a record cannot be read"};
    }
    ::close(file);
    ++count;
  }
  ::closedir(dir);
  return {seconds_since(start), count};
}

void write_records(const std::string& state) {
  persistence::process_files files{persistence::real_files(), state, false};
  if (files.open()) throw std::runtime_error{"the directory of records cannot be made"};
  persistence::process_record record;
  record.command = "make -j8 everything";
  record.cwd = "/home/somebody/project";
  record.environment = "local";
  record.owner.session = "bench";
  record.owner.turn = "0";
  record.boot_id = current_boot_id();
  record.keep_on_owner_death = true;
  for (std::size_t i = 0; i < record_count; ++i) {
    char id[32];
    std::snprintf(id, sizeof id, "proc_%012zx", i + 1);
    record.id = id;
    record.pid = first_pid + static_cast<std::int32_t>(i);
    record.start_ticks = 1'000 + i;
    record.started_at = std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count();
    if (files.write_record(record)) throw std::runtime_error{"a record cannot be written"};
  }
}

struct recovery_times {
  double listed = 0;
  double settled = 0;  ///< all of them are finished, and their receipts written
};

recovery_times recover(const state_dir& dir) {
  auto opts = dir.kept_options(false);
  opts.running_per_session = opts.running_per_node = record_count + 1;
  opts.finished_per_session = opts.receipts_kept = record_count + 1;
  recovery_times result;
  const auto start = now_ns();
  core host{std::move(opts)};
  for (;;) {
    const auto rows = host.ask<std::vector<process_summary>>(list_atom_v, host.who());
    if (rows.size() != record_count) {
      throw std::runtime_error{"recovery: " + std::to_string(rows.size()) + " are listed"};
    }
    if (result.listed == 0) result.listed = seconds_since(start);
    const auto ended = [](const process_summary& row) { return row.exit.has_value(); };
    if (std::all_of(rows.begin(), rows.end(), ended)) break;
    if (seconds_since(start) > 120) throw std::runtime_error{"recovery takes more than 2 minutes"};
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  result.settled = seconds_since(start);
  return result;
}

}  // namespace

results run_recovery(context& ctx) {
  std::vector<double> listed;
  std::vector<double> settled;
  std::vector<double> raw;
  for (int round = 0; round < ctx.pick(5, 2); ++round) {
    const state_dir dir;
    write_records(dir.path());
    const auto files = raw_args::make(0, 0, dir.path() + "/processes");
    raw.push_back(ctx.raw.call(raw_read_files, files).at(0));
    const auto times = recover(dir);
    listed.push_back(times.listed);
    settled.push_back(times.settled);
  }
  result one{"recovery/5000", median(listed), "s", median(raw), {}, {}};
  one.goal = target{target::kind::max_value, 1};
  one.note = "all known as lost after " + std::to_string(median(settled)) + " s";
  return {std::move(one)};
}

}  // namespace troupe::bench

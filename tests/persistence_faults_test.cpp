// Every operation on the disk fails once, one after another, in every way: nothing crashes, what is read
// afterwards is true, what was there before is still there, and a disk that works again gets everything.
#include <chrono>
#include <map>

#include "troupe/persistence/kept_processes.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/faulty_files.hpp"
#include "troupe/tests/support/process_samples.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe::persistence;
using namespace troupe::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr receipt_limits limits{100, 24h * 365 * 100, UINT64_MAX};
constexpr receipt_selection everything{INT64_MIN / 2, 1'000'000, UINT64_MAX};
constexpr unsigned old_ones[] = {0xa1, 0xa2};
constexpr unsigned old_record = 0xb1;
constexpr unsigned other_node = 7;

/// "Start three, finish two, prune", on top of what an earlier life and another node left.
struct scenario {
  temporary_dir dir;
  faulty_files disk;
  process_files files;
  kept_processes kept;
  /// What was answered without an error.
  std::map<std::string, bool> answered;

  explicit scenario(bool sync_each, std::size_t backlog = 1 << 20)
      : files(disk, dir.path(), sync_each), kept(files, limits, backlog) {
    disk.real_syncs = false;
    process_files before{real_files(), dir.path(), false};
    REQUIRE_FALSE(before.open());
    for (const unsigned n : old_ones) REQUIRE_FALSE(before.write_receipt(masked_receipt(n)));
    auto record = masked_record(old_record);
    record.node = other_node;
    REQUIRE_FALSE(before.write_record(record));
  }

  static process_record masked_record(unsigned n) {
    auto x = sample_record(n);
    mask_secrets(x);
    return x;
  }
  static receipt masked_receipt(unsigned n) {
    auto x = sample_receipt(n);
    mask_secrets(x);
    return x;
  }

  void play() {
    const auto now = std::chrono::system_clock::now();
    answered["open"] = !files.open();
    for (unsigned n = 1; n <= 3; ++n) {
      answered["start " + std::to_string(n)] = !kept.put_record(sample_record(n));
    }
    for (unsigned n = 1; n <= 2; ++n) {
      answered["finish " + std::to_string(n)] = !kept.put_receipt(sample_receipt(n), now);
    }
    files.prune(limits, now);
    const auto todo = files.take_unsynced();
    for (const auto& path : todo.files) disk.sync_file(path);
    for (const auto& path : todo.directories) disk.sync_directory(path);
  }

  struct view {
    std::map<std::string, process_record> running;
    std::map<std::string, receipt> finished;
    std::size_t problems = 0;
  };

  /// What a node sees that starts now, on a disk that works.
  view reload() const {
    process_files fresh{real_files(), dir.path(), false};
    view result;
    auto records = fresh.load_records(0);
    auto receipts = fresh.load_receipts(everything);
    for (auto& one : records.found) result.running[one.id] = one;
    for (auto& one : receipts.found) result.finished[one.process.id] = one;
    result.problems = records.problems.size() + receipts.problems.size();
    return result;
  }

  /// Nothing but what was told, and all of what was there before.
  void check_truth(const view& seen) const {
    for (const unsigned n : old_ones) {
      REQUIRE(seen.finished.count(process_id(n)) == 1);
      REQUIRE(seen.finished.at(process_id(n)) == masked_receipt(n));
    }
    process_files other{real_files(), dir.path(), false};
    const auto others = other.load_records(other_node);
    REQUIRE(others.found.size() == 1);
    REQUIRE(others.found[0].command == masked_record(old_record).command);
    for (const auto& [id, record] : seen.running) {
      bool told = false;
      for (unsigned n = 1; n <= 3; ++n) told = told || record == masked_record(n);
      REQUIRE(told);
      REQUIRE(seen.finished.count(id) == 0);
    }
    for (const auto& [id, end] : seen.finished) {
      bool told = false;
      for (const unsigned n : {1U, 2U, old_ones[0], old_ones[1]}) {
        told = told || end == masked_receipt(n);
      }
      REQUIRE(told);
    }
  }

  /// What was answered without an error is there.
  void check_answers(const view& seen) {
    for (unsigned n = 1; n <= 2; ++n) {
      if (answered["finish " + std::to_string(n)]) REQUIRE(seen.finished.count(process_id(n)) == 1);
    }
    // Until there is a receipt there is a record: nothing that was started vanishes.
    for (unsigned n = 1; n <= 3; ++n) {
      const auto id = process_id(n);
      if (answered["start " + std::to_string(n)]) {
        REQUIRE(seen.running.count(id) + seen.finished.count(id) == 1);
      }
    }
  }
};

enum class way { no_space, io_error, torn, read_only };

std::uint64_t operations_of(bool sync_each) {
  scenario s{sync_each};
  s.play();
  for (const auto& [what, worked] : s.answered) REQUIRE(worked);
  const auto seen = s.reload();
  s.check_truth(seen);
  s.check_answers(seen);
  REQUIRE(seen.problems == 0);
  REQUIRE(seen.running.size() == 1);
  REQUIRE(seen.finished.size() == 4);
  return s.disk.operations;
}

void arrange(faulty_files& disk, way how, std::uint64_t at, bool once) {
  disk.code = how == way::io_error ? EIO : how == way::read_only ? EROFS : ENOSPC;
  disk.torn = how == way::torn;
  disk.fail_from = at;
  disk.fail_to = once ? at + 1 : UINT64_MAX;
}

}  // namespace

TEST_CASE(
    "any operation may fail, once or from there on: no lie, and no loss when it works again") {
  for (const bool sync_each : {false, true}) {
    const auto count = operations_of(sync_each);
    REQUIRE(count > 20);
    for (const auto how : {way::no_space, way::io_error, way::torn, way::read_only}) {
      for (std::uint64_t at = 0; at < count; ++at) {
        for (const bool once : {true, false}) {
          CAPTURE(sync_each, static_cast<int>(how), at, once);
          scenario s{sync_each};
          arrange(s.disk, how, at, once);
          s.play();
          // A node that died now would leave this.
          const auto after_death = s.reload();
          s.check_truth(after_death);
          s.check_answers(after_death);
          REQUIRE(after_death.problems == 0);
          // What was answered is found, written or not.
          s.disk.fail_from = UINT64_MAX;
          for (unsigned n = 1; n <= 2; ++n) {
            const auto found = s.kept.find("s1", process_id(n));
            REQUIRE(found.only);
            REQUIRE(*found.only == scenario::masked_receipt(n));
          }
          REQUIRE_FALSE(s.kept.retry());
          REQUIRE_FALSE(s.kept.behind());
          REQUIRE(s.kept.take_dropped() == 0);
          REQUIRE(s.kept.backlog_size() == 0);
          const auto in_the_end = s.reload();
          s.check_truth(in_the_end);
          REQUIRE(in_the_end.running.size() == 1);
          REQUIRE(in_the_end.running.count(process_id(3)) == 1);
          REQUIRE(in_the_end.finished.size() == 4);
          REQUIRE(in_the_end.problems == 0);
        }
      }
    }
  }
}

TEST_CASE("any operation may fail while a node starts: nothing is lost by it") {
  scenario model{false};
  model.play();
  const auto before = model.disk.operations.load();
  model.files.load_records(0);
  model.files.load_receipts(everything);
  const auto count = model.disk.operations - before;
  for (const int code : {EIO, EACCES, ENOSPC}) {
    for (std::uint64_t at = 0; at < count; ++at) {
      for (const bool once : {true, false}) {
        CAPTURE(code, at, once);
        scenario s{false};
        s.play();
        // The record of a finished process that a death left there.
        process_files real{real_files(), s.dir.path(), false};
        REQUIRE_FALSE(real.write_record(sample_record(1)));
        s.disk.code = code;
        s.disk.fail_from = s.disk.operations + at;
        s.disk.fail_to = once ? s.disk.fail_from + 1 : UINT64_MAX;
        const auto records = s.files.load_records(0);
        const auto receipts = s.files.load_receipts(everything);
        for (const auto& one : records.found) REQUIRE(one == scenario::masked_record(3));
        s.disk.fail_from = UINT64_MAX;
        const auto seen = s.reload();
        s.check_truth(seen);
        REQUIRE(seen.running.size() == 1);
        REQUIRE(seen.finished.size() == 4);
        REQUIRE(seen.problems == 0);
      }
    }
  }
}

TEST_CASE(
    "power may fail at any operation: what was synced is there, the rest is true or set aside") {
  for (const bool sync_each : {false, true}) {
    const auto count = operations_of(sync_each);
    for (std::uint64_t at = 0; at <= count; ++at) {
      CAPTURE(sync_each, at);
      scenario s{sync_each};
      s.disk.remember = true;
      arrange(s.disk, way::torn, at, false);  // nothing after it happens
      s.play();
      s.disk.power_loss();
      const auto seen = s.reload();
      s.check_truth(seen);
      if (sync_each) {
        REQUIRE(seen.problems == 0);
        s.check_answers(seen);
      } else if (at == count) {  // the group was synced
        s.check_answers(seen);
        REQUIRE(seen.problems == 0);
      }
      // What was set aside is set aside once.
      REQUIRE(s.reload().problems == 0);
    }
  }
}

TEST_CASE("a disk that stays full costs the oldest receipts, not the memory") {
  scenario s{false, 10'000};
  s.disk.room = 0;
  const auto size = to_json(sample_receipt(1)).size();
  const auto now = std::chrono::system_clock::now();
  CHECK(s.kept.put_record(sample_record(0x500)).value() == ENOSPC);
  for (unsigned n = 1; n <= 100; ++n) {
    CHECK(s.kept.put_receipt(sample_receipt(n), now).value() == ENOSPC);
    REQUIRE(s.kept.backlog_size() <= 10'000);
  }
  CHECK(s.kept.find("s1", process_id(100)).only);
  CHECK(s.kept.find("s2", process_id(100)).ids.empty());
  CHECK(s.kept.find("s1", process_id(1)).ids.empty());
  CHECK(s.kept.find("s1", "proc_00000000").ids.size() == 2);
  CHECK(s.kept.retry().value() == ENOSPC);
  CHECK(s.kept.behind());
  s.disk.room = SIZE_MAX;
  while (s.kept.retry()) {
  }
  CHECK_FALSE(s.kept.behind());
  const auto dropped = s.kept.take_dropped();
  CHECK(dropped >= 100 - 10'000 / size);
  const auto seen = s.reload();
  CHECK(seen.finished.size() == 100 - dropped + 2);
  CHECK(seen.running.count(process_id(0x500)) == 1);
}

TEST_CASE(
    "a process whose receipt waits is found, and its record stays until the receipt is there") {
  scenario s{false};
  const auto now = std::chrono::system_clock::now();
  REQUIRE_FALSE(s.kept.put_record(sample_record(1)));
  s.disk.read_only = true;
  CHECK(s.kept.put_receipt(sample_receipt(1), now).value() == EROFS);
  CHECK(s.reload().running.count(process_id(1)) == 1);
  const auto found = s.kept.find("s1", "proc_00000000000");
  CHECK(found.ids == std::vector<std::string>{process_id(1)});
  CHECK(found.only);
  // On disk and in memory together are more than one.
  CHECK(s.kept.find("s1", "proc_0000000000").ids.size() == 2);
  CHECK(s.kept.drop_record(process_id(2)).value() == EROFS);
  s.disk.read_only = false;
  CHECK_FALSE(s.kept.retry());
  CHECK(s.reload().running.empty());
  CHECK(s.reload().finished.count(process_id(1)) == 1);
}

TEST_CASE("receipts beyond the limits go while they are written") {
  temporary_dir dir;
  process_files files{real_files(), dir.path(), false};
  REQUIRE_FALSE(files.open());
  kept_processes kept{files, {32, 24h, UINT64_MAX}, 1 << 20};
  const auto now = std::chrono::system_clock::now();
  for (unsigned n = 1; n <= 100; ++n) REQUIRE_FALSE(kept.put_receipt(sample_receipt(n), now));
  CHECK(files.load_receipts(everything).found.size() <= 40);
  CHECK(kept.find("s1", process_id(100)).only);
  CHECK_FALSE(kept.find("s1", process_id(1)).only);
  kept_processes small{files, {1'000, 24h, 20'000}, 1 << 20};
  for (unsigned n = 1; n <= 50; ++n) REQUIRE_FALSE(small.put_receipt(sample_receipt(n), now));
  CHECK(files.load_receipts(everything).found.size() <= 25);
}

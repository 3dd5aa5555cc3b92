// The directories of records and receipts: who sees what, what is set aside, and what goes when.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <iostream>

#include "troupe/persistence/process_files.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/faulty_files.hpp"
#include "troupe/tests/support/process_samples.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe::persistence;
using namespace troupe::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

struct fixture {
  temporary_dir dir;
  faulty_files disk;
  process_files files{disk, dir.path(), false};

  fixture() { REQUIRE_FALSE(files.open()); }

  std::string record_path(unsigned n) const {
    return dir.path() + "/processes/" + process_id(n) + ".json";
  }
  std::string receipt_path(unsigned n) const {
    return dir.path() + "/results/" + process_id(n) + ".json";
  }
  void write(unsigned n, const std::string& session = "s1", std::chrono::seconds age = 0s) {
    auto end = sample_receipt(n);
    end.process.owner.session = session;
    end.ended_at = end.process.started_at - std::chrono::nanoseconds{age}.count();
    REQUIRE_FALSE(files.write_receipt(end));
    fs::last_write_time(receipt_path(n), fs::file_time_type::clock::now() - age);
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator{dir.path() + "/results"}) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::vector<std::string> find(const std::string& session, const std::string& id) {
    return files.find_receipts(session, id);
  }
};

constexpr receipt_limits no_limits{1'000'000, std::chrono::hours{1'000'000}, UINT64_MAX};
constexpr receipt_selection everything{INT64_MIN / 2, 1'000'000, UINT64_MAX};

unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 0777U;
}

}  // namespace

TEST_CASE("files and directories are for us alone, and no temporary name is left") {
  fixture f;
  REQUIRE_FALSE(f.files.write_record(sample_record(1)));
  f.write(1);
  CHECK(mode_of(f.record_path(1)) == 0600);
  CHECK(mode_of(f.receipt_path(1)) == 0600);
  CHECK(mode_of(f.dir.path() + "/processes") == 0700);
  CHECK(mode_of(f.dir.path() + "/results") == 0700);
  CHECK(f.left().size() == 1);
}

TEST_CASE("a record costs no sync, and syncing is grouped; what is gone by then is skipped") {
  fixture f;
  f.files.take_unsynced();
  for (unsigned n = 1; n <= 3; ++n) REQUIRE_FALSE(f.files.write_record(sample_record(n)));
  REQUIRE_FALSE(f.files.remove_record(process_id(2)));
  CHECK(f.disk.syncs == 0);
  const auto todo = f.files.take_unsynced();
  CHECK(todo.files == std::vector<std::string>{f.record_path(1), f.record_path(3)});
  CHECK(todo.directories == std::vector<std::string>{f.dir.path() + "/processes"});
  CHECK_FALSE(f.files.has_unsynced());
  f.files.give_back(todo);
  CHECK(f.files.take_unsynced().files == todo.files);
}

TEST_CASE("only ids of ours may name a file") {
  fixture f;
  for (const char* id : {"", "proc_", "../x", "proc_0000000000zz", "proc_00000000000A",
                         "proc_000000000001/../../x", "proc_0000000000011"}) {
    auto record = sample_record(1);
    record.id = id;
    CHECK(f.files.write_record(record).value() == EINVAL);
    CHECK(f.files.remove_record(id).value() == EINVAL);
    std::error_code ec;
    f.files.read_receipt(id, ec);
    CHECK(ec.value() == ENOENT);
  }
}

TEST_CASE("a node sees the records of its slot") {
  fixture f;
  for (unsigned n = 1; n <= 3; ++n) {
    auto record = sample_record(n);
    record.node = n % 2;
    REQUIRE_FALSE(f.files.write_record(record));
  }
  const auto mine = f.files.load_records(1);
  REQUIRE(mine.found.size() == 2);
  CHECK(mine.found[1].id == process_id(3));
  CHECK(mine.problems.empty());
  CHECK(f.files.load_records(0).found.size() == 1);
  CHECK(f.files.load_records(2).found.empty());
}

TEST_CASE("a process with a receipt is finished, if it is the same run") {
  fixture f;
  REQUIRE_FALSE(f.files.write_record(sample_record(1)));
  REQUIRE_FALSE(f.files.write_record(sample_record(2)));
  auto earlier = sample_receipt(2);
  earlier.process.start_ticks -= 1;
  f.write(1);
  REQUIRE_FALSE(f.files.write_receipt(earlier));
  const auto left = f.files.load_records(0);
  REQUIRE(left.found.size() == 1);
  CHECK(left.found[0].id == process_id(2));
  // The record says that there may be something to tell yet.
  REQUIRE(left.ended.size() == 1);
  CHECK(left.ended[0].process.id == process_id(1));
  CHECK(fs::exists(f.record_path(1)));
}

TEST_CASE("a receipt that cannot be read leaves open how its process ended") {
  fixture f;
  REQUIRE_FALSE(f.files.write_record(sample_record(1)));
  f.write(1);
  f.disk.code = EIO;
  f.disk.fail_from = f.disk.operations + 2;  // the list, the record, then the receipt
  f.disk.fail_to = f.disk.fail_from + 1;
  const auto left = f.files.load_records(0);
  CHECK(left.found.empty());
  REQUIRE(left.problems.size() == 1);
  CHECK_THAT(left.problems[0], ContainsSubstring("EIO: cannot read"));
  CHECK(fs::exists(f.record_path(1)));
  CHECK(f.left() == std::vector<std::string>{process_id(1) + ".json"});
}

TEST_CASE("what is damaged is set aside with its content, and nothing is overwritten by it") {
  fixture f;
  for (unsigned n = 1; n <= 4; ++n) REQUIRE_FALSE(f.files.write_record(sample_record(n)));
  const auto good = slurp(f.record_path(1));
  spit(f.record_path(1), good.substr(0, 100));
  spit(f.record_path(1) + ".damaged", "older");
  fs::rename(f.record_path(3), f.record_path(2));  // about another process
  fs::remove(f.record_path(4));
  fs::create_symlink(f.dir.path() + "/elsewhere", f.record_path(4));
  spit(f.dir.path() + "/elsewhere", to_json(sample_record(4)));
  spit(f.dir.path() + "/processes/notes.json", "{}");
  const auto all = f.files.load_records(0);
  CHECK(all.found.empty());
  REQUIRE(all.problems.size() == 3);
  CHECK_THAT(all.problems[0], ContainsSubstring("not JSON") && ContainsSubstring(".damaged-1"));
  CHECK_THAT(all.problems[1], ContainsSubstring("about another process"));
  CHECK_THAT(all.problems[2], ContainsSubstring("ELOOP") && ContainsSubstring("set aside"));
  CHECK(slurp(f.record_path(1) + ".damaged") == "older");
  CHECK(slurp(f.record_path(1) + ".damaged-1") == good.substr(0, 100));
  CHECK(fs::exists(f.dir.path() + "/elsewhere"));
  CHECK(fs::exists(f.dir.path() + "/processes/notes.json"));
  CHECK(f.files.load_records(0).problems.empty());
}

TEST_CASE("a record of a later version is set aside by its own node only") {
  fixture f;
  for (unsigned n = 0; n < 2; ++n) {
    spit(f.record_path(n), sealed("{\"version\":2,\"id\":\"" + process_id(n) +
                                  "\",\"node\":" + std::to_string(n) + "}"));
  }
  const auto all = f.files.load_records(0);
  REQUIRE(all.problems.size() == 2);
  CHECK_THAT(all.problems[0], ContainsSubstring("version 2") && ContainsSubstring("set aside"));
  CHECK_THAT(all.problems[1], ContainsSubstring("left to the node"));
  CHECK(fs::exists(f.record_path(1)));
}

TEST_CASE("links, pipes and directories in the place of files are not followed") {
  fixture f;
  const auto secret = f.dir.path() + "/secret";
  spit(secret, to_json(sample_receipt(1)));
  fs::create_symlink(secret, f.receipt_path(1));
  CHECK(f.find("s1", process_id(1)).empty());
  REQUIRE(::mkfifo(f.receipt_path(2).c_str(), 0600) == 0);
  CHECK(f.find("s1", process_id(2)).empty());
  fs::create_directory(f.receipt_path(3));
  CHECK(f.find("s1", process_id(3)).empty());
  CHECK(f.files.take_problems().size() == 3);
  // Writing replaces a link, never what it points to.
  fs::create_symlink(secret, f.receipt_path(4));
  fs::create_symlink(secret, f.receipt_path(4) + ".tmp");
  f.write(4);
  CHECK(fs::is_regular_file(fs::symlink_status(f.receipt_path(4))));
  CHECK(slurp(secret) == to_json(sample_receipt(1)));
}

TEST_CASE("directories that are links or open to others are refused") {
  temporary_dir dir;
  fs::create_directory(dir.path() + "/real");
  fs::create_directory_symlink(dir.path() + "/real", dir.path() + "/results");
  process_files linked{real_files(), dir.path(), false};
  CHECK(linked.open().value() == EPERM);
  fs::remove(dir.path() + "/results");
  fs::create_directory(dir.path() + "/results");
  ::chmod((dir.path() + "/results").c_str(), 0750);
  CHECK(linked.open().value() == EPERM);
}

TEST_CASE("a directory that somebody removed is made again") {
  fixture f;
  fs::remove_all(f.dir.path() + "/processes");
  CHECK_FALSE(f.files.write_record(sample_record(1)));
  CHECK(f.files.load_records(0).found.size() == 1);
}

TEST_CASE("receipts are found by id or unique prefix, among those of the owner") {
  fixture f;
  f.write(0xabcd01);
  f.write(0xabcd02);
  f.write(0xabcd03, "s2");
  f.write(0xffff04);
  const auto id = process_id(0xabcd01);
  CHECK(f.find("s1", id) == std::vector<std::string>{id});
  CHECK(f.find("s1", id.substr(5)) == std::vector<std::string>{id});
  CHECK(f.find("s2", id).empty());
  CHECK(f.find("", id).empty());
  CHECK(f.find("s1", "proc_000000abcd").size() == 2);
  CHECK(f.find("s2", "000000abcd") == std::vector<std::string>{process_id(0xabcd03)});
  CHECK(f.find("s1", "000000ff") == std::vector<std::string>{process_id(0xffff04)});
  CHECK(f.find("s1", "0000").size() == 2);
  for (const char* none : {"", "proc_", "000", "proc_000", "0000zz", "../0000", "1111"}) {
    CAPTURE(none);
    CHECK(f.find("s1", none).empty());
  }
}

TEST_CASE("a node begins with the newest receipts of each session") {
  fixture f;
  for (unsigned n = 1; n <= 10; ++n) f.write(n, n % 2 == 0 ? "even" : "odd", n * 60s);
  auto all = f.files.load_receipts(everything);
  REQUIRE(all.found.size() == 10);
  CHECK(all.found.front().process.id == process_id(1));
  CHECK(all.found.back().process.id == process_id(10));
  auto some = everything;
  some.per_session = 2;
  CHECK(f.files.load_receipts(some).found.size() == 4);
  const auto size = fs::file_size(f.receipt_path(1));
  some = everything;
  some.bytes = 3 * size + size / 2;
  CHECK(f.files.load_receipts(some).found.size() == 3);
  some = everything;
  some.ended_after = sample_receipt(1).process.started_at - std::chrono::nanoseconds{270s}.count();
  CHECK(f.files.load_receipts(some).found.size() == 4);
}

TEST_CASE("retention: by number, by bytes, by age; what was set aside stays") {
  fixture f;
  for (unsigned n = 1; n <= 10; ++n) f.write(n, "s1", n * 60s);
  spit(f.receipt_path(99) + ".damaged", "x");
  const auto now = std::chrono::system_clock::now();
  f.files.prune(no_limits, now);
  CHECK(f.left().size() == 11);
  auto limits = no_limits;
  limits.count = 8;
  f.files.prune(limits, now);
  CHECK(f.left().size() == 9);
  CHECK(f.find("s1", process_id(9)).empty());
  limits.bytes = 5 * fs::file_size(f.receipt_path(1)) + 10;
  f.files.prune(limits, now);
  CHECK(f.left().size() == 6);
  limits.retention = 150s;
  f.files.prune(limits, now);
  CHECK(f.left() == std::vector<std::string>{process_id(1) + ".json", process_id(2) + ".json",
                                             process_id(99) + ".json.damaged"});
}

TEST_CASE("temporary names of a death in between go after a while") {
  fixture f;
  REQUIRE_FALSE(f.files.write_record(sample_record(1)));
  for (const auto& path : {f.record_path(2), f.receipt_path(2)}) spit(path + ".tmp", "half");
  f.files.prune(no_limits, std::chrono::system_clock::now());
  CHECK(fs::exists(f.record_path(2) + ".tmp"));
  f.files.prune(no_limits, std::chrono::system_clock::now() + 11min);
  CHECK_FALSE(fs::exists(f.record_path(2) + ".tmp"));
  CHECK_FALSE(fs::exists(f.receipt_path(2) + ".tmp"));
  CHECK(f.files.load_records(0).found.size() == 1);
}

TEST_CASE("files that are removed are written again, for whatever comes next") {
  temporary_dir dir;
  const auto spare = dir.path() + "/spare";
  fs::create_directory(spare);
  spit(spare + "/spare-7", "of an earlier life");
  spit(spare + "/other", "not ours");
  {
    process_files files{real_files(), dir.path(), false};
    REQUIRE_FALSE(files.open());
    files.reuse_in(spare);
    CHECK_FALSE(fs::exists(spare + "/spare-7"));
    auto first = sample_record(1);
    first.command = std::string(3'000, 'x');  // the next one is shorter
    REQUIRE_FALSE(files.write_record(first));
    const auto path = [&](const char* folder, unsigned n) {
      return dir.path() + folder + process_id(n) + ".json";
    };
    struct stat before {};
    REQUIRE(::stat(path("/processes/", 1).c_str(), &before) == 0);
    REQUIRE_FALSE(files.remove_record(process_id(1)));
    CHECK_FALSE(fs::exists(path("/processes/", 1)));
    REQUIRE_FALSE(files.write_receipt(sample_receipt(2)));
    struct stat after {};
    REQUIRE(::stat(path("/results/", 2).c_str(), &after) == 0);
    CHECK(after.st_ino == before.st_ino);
    std::error_code ec;
    CHECK(files.read_receipt(process_id(2), ec) == sample_receipt(2));
    CHECK_FALSE(ec);

    // A spare file that somebody has a name for is not written to.
    REQUIRE_FALSE(files.write_record(sample_record(3)));
    fs::create_hard_link(path("/processes/", 3), dir.path() + "/mine");
    REQUIRE_FALSE(files.remove_record(process_id(3)));
    const auto mine = fs::file_size(dir.path() + "/mine");
    REQUIRE_FALSE(files.write_record(first));
    CHECK(fs::file_size(dir.path() + "/mine") == mine);
    CHECK(files.load_records(first.node).found.size() == 1);

    // Without its directory new files are made.
    REQUIRE_FALSE(files.remove_record(process_id(1)));
    fs::remove_all(spare);
    REQUIRE_FALSE(files.write_record(sample_record(4)));
    REQUIRE_FALSE(files.remove_record(process_id(4)));
    CHECK_FALSE(fs::exists(path("/processes/", 4)));
    fs::create_directory(spare);
    REQUIRE_FALSE(files.write_record(sample_record(5)));
    REQUIRE_FALSE(files.remove_record(process_id(5)));
    CHECK(fs::exists(spare));
    CHECK(files.take_problems().empty());
  }
  CHECK(fs::is_empty(spare));
}

TEST_CASE("5,000 records load in a second") {
  fixture f;
  const auto first = std::chrono::steady_clock::now();
  for (unsigned n = 0; n < 5'000; ++n) REQUIRE_FALSE(f.files.write_record(sample_record(n)));
  const auto begin = std::chrono::steady_clock::now();
  const auto all = f.files.load_records(0);
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(all.found.size() == 5'000);
  CHECK(all.problems.empty());
  const auto ms = [](auto span) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  };
  std::cout << "5,000 records: written in " << ms(begin - first) << " ms, loaded in " << ms(took)
            << " ms\n";
  CHECK(took < 10s);
}

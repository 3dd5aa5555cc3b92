// The store's records and receipts: on disk before the answer, in memory as long as the disk fails, and
// shown to their owner only.
#include <caf/event_based_actor.hpp>

#include "troupe/tests/support/store_fixture.hpp"

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// What a listener heard.
struct heard {
  std::mutex mutex;
  std::vector<std::string> texts;

  std::vector<std::string> all() {
    const std::lock_guard lock{mutex};
    return texts;
  }
};

store_listener_actor listener(caf::actor_system& system, const std::shared_ptr<heard>& into) {
  return system.spawn([into](store_listener_actor::pointer) -> store_listener_actor::behavior_type {
    return {[into](warn_atom, const std::string& text) {
      const std::lock_guard lock{into->mutex};
      into->texts.push_back(text);
    }};
  });
}

}  // namespace

TEST_CASE("the record is there when it is answered, and gone when the receipt is") {
  store_fixture f;
  REQUIRE(f.record(1) == errc::none);
  CHECK(f.has_record(1));
  REQUIRE(f.receipt(1) == errc::none);
  CHECK(f.has_receipt(1));
  CHECK_FALSE(f.has_record(1));
  REQUIRE(f.record(2) == errc::none);
  REQUIRE(f.tell(drop_atom_v, process_id(2)) == errc::none);
  CHECK_FALSE(f.has_record(2));
  CHECK_FALSE(f.has_receipt(2));
  CHECK(f.tell(drop_atom_v, process_id(2)) == errc::none);
  CHECK(f.tell(drop_atom_v, std::string{"../x"}) == errc::bad_argument);
  CHECK(f.told().empty());
}

TEST_CASE("records of processes that are gone soon are never synced") {
  store_fixture f{[](options& o) { o.sync_delay = 1h; }};
  for (unsigned n = 1; n <= 50; ++n) {
    REQUIRE(f.record(n) == errc::none);
    REQUIRE(f.tell(drop_atom_v, process_id(n)) == errc::none);
  }
  REQUIRE(f.record(51) == errc::none);
  CHECK(f.files.syncs == 0);
  REQUIRE(f.tell(close_atom_v) == errc::none);
  CHECK(f.files.syncs == 1);
}

TEST_CASE("with sync_always files, names and removals are on disk before the answer") {
  store_fixture f{[](options& o) { o.sync_always = true; }};
  f.files.remember = true;
  REQUIRE(f.record(1) == errc::none);
  REQUIRE(f.record(2) == errc::none);
  REQUIRE(f.receipt(1) == errc::none);
  f.files.power_loss();
  CHECK(f.has_record(2));
  CHECK(f.has_receipt(1));
  CHECK_FALSE(f.has_record(1));
}

TEST_CASE(
    "a full disk degrades to memory, with one warning; recovery writes it all, with another") {
  store_fixture f;
  const auto ears = std::make_shared<heard>();
  REQUIRE(f.tell(listen_atom_v, listener(f.system, ears)) == errc::none);
  REQUIRE(f.record(1) == errc::none);
  f.files.room = 100;
  for (unsigned n = 2; n <= 10; ++n) REQUIRE(f.record(n) == errc::none);
  REQUIRE(f.receipt(1) == errc::none);
  REQUIRE(f.receipt(2) == errc::none);
  CHECK(f.append(1) == errc::internal);
  CHECK_FALSE(f.has_receipt(1));
  CHECK(f.has_record(1));
  const auto found = f.find("s1", process_id(2));
  REQUIRE(found.only);
  CHECK(found.only->exit.reason == "killed");
  CHECK(f.find("s2", process_id(2)).ids.empty());
  CHECK(f.find("s1", "0000").ids.size() == 2);
  // Late listeners hear what stands.
  const auto late = std::make_shared<heard>();
  REQUIRE(f.tell(listen_atom_v, listener(f.system, late)) == errc::none);
  REQUIRE(eventually([&] { return late->all().size() == 1; }));
  f.files.room = SIZE_MAX;
  REQUIRE(eventually([&] { return f.told().size() == 2; }));
  CHECK_THAT(f.told()[0], ContainsSubstring("ENOSPC") && ContainsSubstring("kept in memory"));
  CHECK_THAT(f.told()[1], ContainsSubstring("can be written again; nothing was lost"));
  for (unsigned n = 1; n <= 2; ++n) {
    CHECK(f.has_receipt(n));
    CHECK_FALSE(f.has_record(n));
  }
  for (unsigned n = 3; n <= 10; ++n) CHECK(f.has_record(n));
  CHECK(f.events() == std::vector<std::uint64_t>{1});
  REQUIRE(eventually([&] { return late->all() == f.told(); }));
  CHECK(ears->all() == std::vector<std::string>{f.told()[0]});
}

TEST_CASE("the backlog is bounded: the oldest receipts go first, and are counted") {
  store_fixture f{[](options& o) { o.store_backlog_bytes = 5'000; }};
  f.files.read_only = true;
  REQUIRE(f.record(500) == errc::none);
  for (unsigned n = 1; n <= 20; ++n) REQUIRE(f.receipt(n) == errc::none);
  CHECK(f.find("s1", process_id(20)).only);
  CHECK(f.find("s1", process_id(1)).ids.empty());
  f.files.read_only = false;
  REQUIRE(eventually([&] { return f.told().size() == 2; }));
  CHECK_THAT(f.told()[0], ContainsSubstring("EROFS"));
  CHECK_THAT(f.told()[1], ContainsSubstring("were dropped"));
  CHECK(f.has_record(500));
  CHECK(f.has_receipt(20));
}

TEST_CASE("a disk that does not sync is a warning until it does") {
  store_fixture f;
  f.files.code = EIO;
  f.files.syncs_fail = true;
  REQUIRE(f.record(1) == errc::none);
  REQUIRE(eventually([&] { return f.told().size() == 1; }));
  CHECK_THAT(f.told()[0], ContainsSubstring("EIO: cannot sync"));
  f.files.syncs_fail = false;
  REQUIRE(eventually([&] { return f.told().size() == 2; }));
}

TEST_CASE(
    "with sync_always success means memory while the warning stands, and the disk afterwards") {
  store_fixture f{[](options& o) { o.sync_always = true; }};
  f.files.syncs_fail = true;
  REQUIRE(f.record(1) == errc::none);
  CHECK(f.told().size() == 1);
  f.files.syncs_fail = false;
  REQUIRE(eventually([&] { return f.told().size() == 2; }));
  CHECK(f.has_record(1));
}

TEST_CASE("receipts outlive the store and are found by their owner") {
  std::string dir;
  {
    store_fixture first;
    REQUIRE(first.receipt(0xabcd01) == errc::none);
    REQUIRE(first.receipt(0xabcd02, [](auto& x) { x.process.owner.session = "s2"; }) == errc::none);
    store_fixture second{{}, first.dir};
    CHECK(second.opened->slot == 1);
    const auto found = second.find("s1", "000000abcd");
    CHECK(found.ids == std::vector<std::string>{process_id(0xabcd01)});
    REQUIRE(found.only);
    CHECK(found.only->output == sample_receipt(0xabcd01).output);
    CHECK(second.find("s2", process_id(0xabcd01)).ids.empty());
    CHECK(second.find("s2", "abcd").ids.empty());  // not how it begins
    CHECK_FALSE(second.find("s1", "1111").only);
  }
}

TEST_CASE("a node begins with what it knew of its processes; others keep theirs") {
  store_fixture first;
  store_fixture second{{}, first.dir};
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  REQUIRE(first.record(1, 0) == errc::none);
  REQUIRE(second.record(2, 1) == errc::none);
  for (unsigned n = 10; n < 20; ++n) {
    REQUIRE(first.receipt(n, [&](auto& x) { x.ended_at = (now - n * 1min).count(); }) ==
            errc::none);
  }
  fs::create_symlink("/etc/passwd", first.dir + "/processes/" + process_id(3) + ".json");
  first.end();
  first.opened->lock.reset();
  store_fixture again{[](options& o) {
                        o.finished_retention = 15min;
                        o.finished_per_session = 4;
                      },
                      first.dir};
  CHECK(again.opened->slot == 0);
  REQUIRE(again.opened->processes.size() == 1);
  CHECK(again.opened->processes[0].id == process_id(1));
  REQUIRE(again.opened->receipts.size() == 4);
  CHECK(again.opened->receipts[0].process.id == process_id(10));
  REQUIRE(again.opened->problems.size() == 1);
  CHECK_THAT(again.opened->problems[0], ContainsSubstring("set aside"));
  CHECK(again.has_record(2));
  CHECK(again.find("s1", process_id(19)).only);
}

TEST_CASE("how many receipts are kept, how long and how many bytes are options") {
  store_fixture f{[](options& o) { o.receipts_kept = 3; }};
  for (unsigned n = 1; n <= 10; ++n) REQUIRE(f.receipt(n) == errc::none);
  CHECK_FALSE(f.has_receipt(7));
  for (unsigned n = 8; n <= 10; ++n) CHECK(f.has_receipt(n));
  const auto size = fs::file_size(f.dir + "/results/" + process_id(9) + ".json");
  store_fixture bytes{[&](options& o) { o.receipts_bytes = 2 * size + 100; }, f.dir};
  CHECK_FALSE(bytes.has_receipt(8));
  CHECK(bytes.has_receipt(9));
  fs::last_write_time(f.dir + "/results/" + process_id(9) + ".json",
                      fs::file_time_type::clock::now() - 2h);
  store_fixture age{[](options& o) { o.receipt_retention = 1h; }, f.dir};
  CHECK_FALSE(age.has_receipt(9));
  CHECK(age.has_receipt(10));
}

TEST_CASE("output below the state directory is read in parts, and nothing else is") {
  store_fixture f;
  // The fixture has the first slot.
  for (const char* folder : {"output", "keeper-0/spool", "keeper-1/spool", "other"}) {
    fs::create_directories(f.dir + "/" + folder);
  }
  const auto spool = f.dir + "/keeper-0/spool/x.raw";
  const auto path = f.dir + "/output/" + process_id(1) + ".log";
  spit(path, "0123456789");
  const auto [part, code] = f.read(path, 4, 3);
  CHECK(code == errc::none);
  CHECK(part.data == "456");
  CHECK(part.file_bytes == 10);
  CHECK(f.read(path, 8, 100).first.data == "89");
  CHECK(f.read(path, 10, 100).first.data.empty());
  CHECK(f.read(path, UINT64_MAX, UINT64_MAX).first.file_bytes == 10);
  spit(spool, "raw");
  spit(f.dir + "/keeper-1/spool/x.raw", "raw");
  CHECK(f.read(spool, 0, 100).first.data == "raw");
  CHECK(f.read(f.dir + "/output/missing", 0, 1).second == errc::not_found);
  fs::create_symlink("/etc/passwd", f.dir + "/output/link");
  CHECK(f.read(f.dir + "/output/link", 0, 1).second == errc::internal);
  spit(f.dir + "/other/x", "x");
  for (const std::string bad :
       {"/etc/passwd", "output/x", "/other/x", "/output", "/output/", "/output/../other/x",
        "/output/..", "/keeper-1/spool/x.raw", "/keeper-0/x.raw"}) {
    CAPTURE(bad);
    CHECK(f.read(f.dir + bad, 0, 1).second == errc::bad_argument);
    CHECK(f.read(bad, 0, 1).second == errc::bad_argument);
  }
  CHECK(f.tell(discard_atom_v, path) == errc::bad_argument);
  CHECK(f.tell(discard_atom_v, spool) == errc::none);
  CHECK(f.tell(discard_atom_v, spool) == errc::none);
  CHECK_FALSE(fs::exists(spool));
}

// The store's journal: records reach the kernel at once and in order, the disk in groups, and a disk that
// fails for a while loses nothing.
#include "troupe/tests/support/store_fixture.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("a thousand records cost a few syncs") {
  store_fixture f;
  for (std::uint64_t n = 1; n <= 1'000; ++n) REQUIRE(f.append(n) == errc::none);
  CHECK(f.events().size() == 1'000);  // already in the kernel's hands
  REQUIRE(eventually([&] { return f.files.syncs > 0; }));
  CHECK(f.files.syncs < 100);
}

TEST_CASE("with sync_always every answer waits for the disk") {
  store_fixture f{[](options& o) { o.sync_always = true; }};
  for (std::uint64_t n = 1; n <= 10; ++n) REQUIRE(f.append(n) == errc::none);
  CHECK(f.files.syncs >= 10);
  f.files.syncs_fail = true;
  CHECK(f.append(11) == errc::internal);
  f.files.syncs_fail = false;
  REQUIRE(eventually([&] { return f.told().size() == 2; }));
  CHECK(f.append(12) == errc::none);
}

TEST_CASE("a disk that is full for a while loses nothing, and keeps the order") {
  store_fixture f;
  REQUIRE(f.append(1) == errc::none);
  f.files.room = 10;
  CHECK(f.append(2) == errc::internal);
  CHECK(f.append(3) == errc::internal);
  f.files.room = SIZE_MAX;
  REQUIRE(eventually([&] { return f.events().size() == 3; }));
  CHECK(f.append(4) == errc::none);
  CHECK(f.events() == std::vector<std::uint64_t>{1, 2, 3, 4});
}

TEST_CASE("an event that no journal takes is refused and in nobody's way") {
  store_fixture f;
  CHECK(f.tell(append_atom_v, std::uint8_t{1}, std::uint64_t{1},
               std::string(persistence::journal_payload_max + 1, 'x'),
               std::uint64_t{0}) == errc::limit_reached);
  CHECK(f.append(2) == errc::none);
  CHECK(f.events() == std::vector<std::uint64_t>{2});
}

TEST_CASE("the journal's backlog is bounded, and what it dropped is counted") {
  store_fixture f{[](options& o) { o.store_backlog_bytes = 100; }};
  f.files.room = 0;
  for (std::uint64_t n = 1; n <= 100; ++n) CHECK(f.append(n) == errc::internal);
  f.files.room = SIZE_MAX;
  REQUIRE(eventually([&] { return f.told().size() == 2; }));
  const auto kept = f.events();
  CHECK(kept.size() < 15);
  CHECK(kept.back() == 100);
  CHECK(f.told()[1].find(std::to_string(100 - kept.size()) + " files or events were dropped") !=
        std::string::npos);
}

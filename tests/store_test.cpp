// The store: records reach the kernel at once and in order, the disk in groups, and a disk that fails
// for a while loses nothing.
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include "troupe/actors/runtime.hpp"
#include "troupe/actors/store.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/faulty_files.hpp"
#include "troupe/tests/support/host.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

struct fixture {
  temporary_dir dir;
  faulty_files files;
  options opts;
  std::shared_ptr<backends::io_loop> loop = std::make_shared<backends::io_loop>();
  node_config config;
  caf::actor_system system{config};
  store_actor store;

  explicit fixture(bool always = false) {
    opts.state_dir = dir.path();
    opts.sync_always = always;
    opts.sync_delay = 20ms;
    auto journal = std::make_shared<open_journal>(open_event_journal(files, opts));
    REQUIRE(journal->error.empty());
    store = system.spawn<store_actor::stateful_impl<store_state>, caf::detached>(
        std::make_shared<const options>(opts), loop, journal, &files);
  }
  ~fixture() { end(); }

  void end() {
    if (store) compat::anon_send_exit(store, caf::exit_reason::user_shutdown);
    caf::scoped_actor self{system};
    if (store) self->wait_for(store);
    store = nullptr;
  }

  errc append(std::uint64_t number) {
    errc result = errc::none;
    caf::scoped_actor self{system};
    compat::request_within(self.ptr(), generous, store, append_atom_v, std::uint8_t{1}, number,
                           "{\"n\":" + std::to_string(number) + "}", std::uint64_t{0})
        .receive([] {}, [&](const caf::error& e) { result = error_code_of(e); });
    return result;
  }

  std::vector<std::uint64_t> kept() {
    std::vector<std::uint64_t> numbers;
    persistence::journal j{persistence::real_files(), dir.path() + "/events/node-0", 1 << 20};
    REQUIRE_FALSE(
        j.open([&](const persistence::journal_record& r) { numbers.push_back(r.number); }));
    return numbers;
  }
};

void with_types() {
  static const bool once = (init_types(), true);
  (void)once;
}

}  // namespace

TEST_CASE("a thousand records cost a few syncs") {
  with_types();
  fixture f;
  for (std::uint64_t n = 1; n <= 1'000; ++n) REQUIRE(f.append(n) == errc::none);
  CHECK(f.kept().size() == 1'000);  // already in the kernel's hands
  REQUIRE(eventually([&] { return f.files.syncs > 0; }));
  CHECK(f.files.syncs < 100);
}

TEST_CASE("with sync_always every answer waits for the disk") {
  with_types();
  fixture f{true};
  for (std::uint64_t n = 1; n <= 10; ++n) REQUIRE(f.append(n) == errc::none);
  CHECK(f.files.syncs >= 10);
}

TEST_CASE("a disk that is full for a while loses nothing, and keeps the order") {
  with_types();
  fixture f;
  REQUIRE(f.append(1) == errc::none);
  f.files.room = 10;
  CHECK(f.append(2) == errc::internal);
  CHECK(f.append(3) == errc::internal);
  f.files.room = SIZE_MAX;
  REQUIRE(eventually([&] { return f.kept().size() == 3; }));
  CHECK(f.append(4) == errc::none);
  CHECK(f.kept() == std::vector<std::uint64_t>{1, 2, 3, 4});
}

// Output under pressure, early and late ends, and what thousands of children leave behind.
#include <signal.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/backend_fixture.hpp"

using namespace troupe::backends;
using namespace troupe::testing;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int scale = 10;
#else
constexpr int scale = 1;
#endif

TEST_CASE("C05: a pipe's output is complete, forty times") {
  node n;
  std::string expected;
  for (int i = 1; i <= 100'000; ++i) {
    expected += std::to_string(i) + "\n";
  }
  REQUIRE(expected.size() == 588'895);
  for (int i = 0; i < 40; ++i) {
    auto r = recorder::start(n, shell("seq 1 100000"));
    REQUIRE(r->wait_drained());
    CHECK(r->text() == expected);
  }
}

TEST_CASE("C06: a flood is counted exactly and costs no memory") {
  node n;
  const auto before = resident_kib();
  auto r =
      recorder::start(n, shell("head -c 100000000 /dev/zero | tr '\\0' x"), recorder::mode::count);
  REQUIRE(r->wait_drained());
  CHECK(r->bytes == 100'000'000);
  CHECK(resident_kib() - before < 16 * 1024);
}

TEST_CASE("C06: with nobody reading the ring fills, the child blocks, and kill works") {
  node n;
  auto r = recorder::start(n, shell("yes"), recorder::mode::manual);
  REQUIRE(r->wait_started());
  const auto& ring = r->info->output->get();
  REQUIRE(eventually([&] { return ring.header().stalled.load() == 1; }));
  CHECK(ring.end() == ring.capacity());
  // Others are not held up meanwhile.
  auto other = recorder::start(n, shell("echo hi"));
  REQUIRE(other->wait_drained());
  // A killed flood still owes what the pipe held; the consumer takes it.
  n.backend.kill(r->id, {});
  REQUIRE(r->wait([](auto& x) { return x.exited_at.has_value(); }));
  CHECK(r->status->signal == SIGTERM);
  REQUIRE(eventually([&] {
    r->consume();
    return r->now([](auto& x) { return x.killed_at.has_value(); });
  }));
  CHECK(r->bytes >= ring.capacity() + 4096);
}

TEST_CASE("a consumer that is slow at the exit loses nothing") {
  node n;
  for (const bool pty : {false, true}) {
    auto spec = shell("head -c 560000 /dev/zero | tr '\\0' x");
    spec.pty = pty;
    auto r = recorder::start(n, spec, recorder::mode::manual);
    REQUIRE(r->wait_started());
    const auto& ring = r->info->output->get();
    REQUIRE(eventually([&] { return ring.header().stalled.load() == 1; }));
    if (!pty) {
      REQUIRE(r->wait([](auto& x) { return x.exited_at.has_value(); }));
      CHECK_FALSE(r->wait_drained(300ms));  // well past the drain limit
    }
    REQUIRE(eventually([&] {
      r->consume();
      return r->is_drained();
    }));
    r->consume();
    CHECK(r->bytes == 560'000);
  }
}

TEST_CASE("the end of output is not the end of the child") {
  node n;
  auto r = recorder::start(n, shell("echo bye; exec >&- 2>&-; sleep 0.3; exit 3"));
  REQUIRE(r->wait([](auto& x) { return !x.events.empty() && x.events.back() == "eof"; }));
  CHECK(r->now([](auto& x) { return !x.exited_at; }));
  REQUIRE(r->wait_drained());
  CHECK(r->status->code == 3);
  CHECK(r->text() == "bye\n");
}

TEST_CASE("what descendants print after the end is counted, and does not kill them") {
  node n;
  auto r = recorder::start(
      n, shell("(trap '' PIPE; while :; do echo late || exit; sleep 0.01; done) & echo end"));
  REQUIRE(r->wait_drained());
  CHECK(r->holders.size() >= 1);
  const auto& header = r->info->output->get().header();
  CHECK(eventually([&] { return header.discarded.load() > 50; }));
  CHECK(r->text().find("end\n") != std::string::npos);
  r->release();
  CHECK_FALSE(marked(r->marker).empty());
  for (const int pid : marked(r->marker)) {
    ::kill(pid, SIGKILL);
  }
}

TEST_CASE("a released child runs on, is reaped, and gives its descriptors back") {
  node n;
  recorder::start(n, shell("true"))->wait_drained();
  const auto before = open_descriptors();
  auto r = recorder::start(n, shell("head -c 3000000 /dev/zero; touch /tmp/troupe_released_$$"));
  r->release();  // before it is known to run
  auto q = recorder::start(n, shell("sleep 0.2; head -c 3000000 /dev/zero"));
  REQUIRE(q->wait_started());
  q->release();
  // The first child may have had one still when they were counted.
  CHECK(eventually([&] { return open_descriptors() <= before; }));
  CHECK(eventually([] { return own_children() == 0; }));
  CHECK(r->count("drained") == 0);
  CHECK(q->count("exited") == 0);
  CHECK(eventually([] { return std::system("rm /tmp/troupe_released_* 2>/dev/null") == 0; }));
}

TEST_CASE("C21: thousands of children leave no zombie, descriptor or thread") {
  node n;
  recorder::start(n, shell("true"))->wait_drained();
  const auto descriptors = open_descriptors();
  const auto threads = own_threads();
  const int count = 10'000 / scale;
  std::array<std::shared_ptr<recorder>, 8> running;
  auto spec = shell("");
  spec.argv = {"true"};
  const auto begin = steady::now();
  for (int i = 0; i < count; ++i) {
    auto& slot = running[static_cast<std::size_t>(i) % running.size()];
    if (slot) {
      REQUIRE(slot->wait_drained());
      REQUIRE(slot->status->code == 0);
      slot->release();
    }
    slot = recorder::start(n, spec, recorder::mode::count);
  }
  for (auto& slot : running) {
    REQUIRE(slot->wait_drained());
    slot->release();
  }
  WARN(count << " x true: " << count / seconds_since(begin) << " per second");
  // The first child may have had one still when they were counted.
  CHECK(eventually([&] { return open_descriptors() <= descriptors; }));
  CHECK(own_threads() == threads);
  CHECK(own_children() == 0);
}

TEST_CASE("C21: background descendants and terminals leave nothing either") {
  node n;
  recorder::start(n, shell("true"))->wait_drained();
  const auto descriptors = open_descriptors();
  for (int i = 0; i < 300 / scale; ++i) {
    auto spec = shell(i % 3 == 0 ? "echo x" : "(sleep 0.01 &)");
    spec.pty = i % 3 == 0;
    auto r = recorder::start(n, spec, recorder::mode::count);
    REQUIRE(r->wait_drained());
    r->release();
  }
  // The first child may have had one still when they were counted.
  CHECK(eventually([&] { return open_descriptors() <= descriptors; }));
  CHECK(own_children() == 0);
}

TEST_CASE("adopted orphans are reaped, and leaders keep their status") {
  local_options options;
  options.adopt_orphans = true;
  {
    node n(options);
    std::vector<std::shared_ptr<recorder>> all;
    for (int i = 0; i < 100; ++i) {
      all.push_back(
          recorder::start(n, shell("( ( sleep 0.05 & ) & ) ; exit " + std::to_string(i % 7))));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      REQUIRE(all[i]->wait_drained());
      CHECK(all[i]->status->known);
      CHECK(all[i]->status->code == static_cast<int>(i % 7));
    }
    CHECK(eventually([] { return own_children() == 0; }));
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

#ifndef TROUPE_TEST_KEEPER  // there it is a matter of `owner_death`
TEST_CASE("a backend that goes away leaves its children alone") {
  std::shared_ptr<recorder> r;
  int pid = 0;
  auto n = std::make_unique<node>();
  r = recorder::start(*n, shell("sleep 600"));
  REQUIRE(r->wait_started());
  pid = r->info->pid;
  r->info.reset();
  n.reset();
  CHECK(::kill(pid, 0) == 0);
  CHECK(r->count("exited") == 0);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}
#endif

TEST_CASE("a report in the output is told before the end and is not in the ring") {
  const bool pty = GENERATE(false, true);
  CAPTURE(pty);
  node n;
  const auto run = [&](const std::string& command) {
    auto spec = shell(command);
    spec.pty = pty;
    spec.report_marker = "0123";
    auto r = recorder::start(n, spec);
    REQUIRE(r->wait_drained());
    return r;
  };
  const std::string pair = "printf '\\036troupe:0123{\\t\\nre\\nport\\036troupe:0123}'";
  SECTION("between output, which is complete") {
    auto r = run("head -c 3000000 /dev/zero; " + pair + "; printf end; exit 3");
    CHECK(r->bytes == 3'000'003);
    CHECK(r->text().ends_with(std::string{"\0end", 4}));
    CHECK(r->report == "re\nport");
    REQUIRE(r->events.size() >= 2);
    CHECK(r->events[r->events.size() - 2] == "reported");
    CHECK(r->status->code == 3);
  }
  SECTION("not if there is none") {
    auto r = run("printf '\\036troupe:0123{\\t\\nre'");
    CHECK(r->count("reported") == 0);
    CHECK(r->bytes == (pty ? 18 : 17));
  }
  SECTION("also when a descendant holds the output") {
    auto r = run("trap '' HUP; sleep 600 & " + pair);
    CHECK(r->report == "re\nport");
    CHECK(r->bytes == 0);
    n.backend.kill(r->id, {SIGKILL, 0ms, 1s});
    CHECK(r->wait_killed());
  }
}

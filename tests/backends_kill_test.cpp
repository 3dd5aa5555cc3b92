// Killing: trees, escapees, stubborn ones, crowds. Nothing survives, nobody else is touched.
#include <signal.h>
#include <sys/prctl.h>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/backend_fixture.hpp"

using namespace troupe::backends;
using namespace troupe::testing;

namespace {

kill_plan graceful(std::chrono::milliseconds grace) {
  kill_plan plan;
  plan.grace = grace;
  return plan;
}

std::size_t tree_size(recorder& r) {
  return r.describe().tree.size();
}

}  // namespace

TEST_CASE("C02: a setsid escapee dies with an obedient leader") {
  node n;
  auto r = recorder::start(n, shell("setsid sleep 600 & sleep 600"));
  REQUIRE(r->wait_started());
  REQUIRE(eventually([&] { return tree_size(*r) == 3; }));
  const auto took = r->kill();
  CHECK(took < 0.5);
  CHECK(r->survivors.empty());
  CHECK(r->status->signal == SIGTERM);
  CHECK(marked(r->marker).empty());
}

TEST_CASE("C02: a FIFO whose writer is in another session") {
  node n;
  auto r = recorder::start(
      n, shell("d=$(mktemp -d); mkfifo $d/f; setsid sh -c \"sleep 600 > $d/f\" & cat $d/f; :"));
  REQUIRE(r->wait_started());
  REQUIRE(eventually([&] { return tree_size(*r) >= 3; }));
  CHECK(r->kill() < 0.7);
  CHECK(marked(r->marker).empty());
}

TEST_CASE("C04: double-forked descendants are shown and removed") {
  node n;
  const std::string daemon =
      "python3 -c 'import os,time\n"
      "if os.fork(): os._exit(0)\n"
      "os.setsid()\n"
      "if os.fork(): os._exit(0)\n"
      "os.environ.clear()\n"
      "time.sleep(600)'; echo up";
  for (const auto& command : {std::string("( ( sleep 600 & ) & ) ; echo up"), daemon}) {
    auto r = recorder::start(n, shell(command));
    REQUIRE(r->wait_drained());
    CHECK(r->text() == "up\n");
    CHECK(r->holders.size() >= 1);
    description seen;
    REQUIRE(eventually([&] {
      seen = r->describe();
      return seen.tree.size() == 1;
    }));
    CHECK(seen.tree[0].command.find(command == daemon ? "python3" : "sleep 600") !=
          std::string::npos);
    CHECK(r->kill() < 0.5);
    CHECK(r->survivors.empty());
    CHECK(marked(r->marker).empty());
  }
}

// The same trees, found without a look at all of /proc.
TEST_CASE("C02, C04, C18: where orphans come to us, whatever has got away is shown and removed") {
  struct subreaper {
    ~subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
  } until_the_end;
  local_options adopting;
  adopting.adopt_orphans = true;
  node n(adopting);
  auto other = recorder::start(n, shell("( setsid sleep 600 & ) ; sleep 600"));
  REQUIRE(eventually([&] { return tree_size(*other) == 2; }));
  const std::string bare_daemon =  // no session or variable tells whose it is, only its parent
      "env -u TROUPE_PROCESS setsid sleep 600 & ";
  const struct {
    std::string command;
    std::size_t size;
    bool leader_ends;
  } trees[] = {
      {"setsid sleep 600 & sleep 600", 3, false},
      {"( ( sleep 600 & ) & ) ; :", 1, true},
      {"( setsid bash -c 'setsid sleep 600 & sleep 600; :' & ) ; :", 3, true},
      {"( setsid bash -c '" + bare_daemon + "sleep 600; :' & ) ; sleep 600", 4, false},
      {"( setsid bash -c '" + bare_daemon + "sleep 600; :' & ) ; :", 3, true},
      {"python3 -c 'import threading,subprocess\n"
       "threading.Thread(target=lambda: subprocess.run([\"sleep\",\"600\"])).start()'; :",
       3, false},
  };
  for (const auto& tree : trees) {
    INFO(tree.command);
    auto r = recorder::start(n, shell(tree.command));
    REQUIRE((tree.leader_ends ? r->wait_drained() : r->wait_started()));
    REQUIRE(eventually([&] { return tree_size(*r) == tree.size; }));
    CHECK((!tree.leader_ends || !r->holders.empty()));
    const auto members = r->describe().tree;
    CHECK(r->kill() < 1.0);
    CHECK(r->survivors.empty());
    CHECK(marked(r->marker).empty());
    for (const auto& m : members) {
      INFO(m.command);
      CHECK(eventually([&] { return ::kill(m.pid, 0) != 0; }, 1s));
    }
  }
  CHECK(tree_size(*other) == 2);
  other->kill();
  CHECK(marked(other->marker).empty());
}

TEST_CASE("C18: where orphans come to us, orphans that fork and end are outrun") {
  struct subreaper {
    ~subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
  } until_the_end;
  local_options adopting;
  adopting.adopt_orphans = true;
  node n(adopting);
  // Each generation lives for some milliseconds, in a session of its own; the marker tells whose it is.
  const std::string runner =
      "import os,time\n"
      "end=time.time()+60\n"
      "while time.time()<end:\n"
      "  if os.fork(): os._exit(0)\n"
      "  os.setsid()\n"
      "  time.sleep(.003)\n";
  for (int round = 0; round < 5; ++round) {
    auto r = recorder::start(n, shell("python3 -c '" + runner + "' ; echo up; sleep 600"));
    REQUIRE(r->wait_output("up"));
    kill_plan now;
    now.first_signal = SIGKILL;
    CHECK(r->kill(now) < 2.0);
    CHECK(r->survivors.empty());
    CHECK(marked(r->marker).empty());
  }
}

TEST_CASE("an escapee that ignores TERM ends a grace later") {
  node n;
  auto r = recorder::start(
      n, shell("setsid bash -c 'trap \"\" TERM; echo up; while :; do sleep 1; done' & sleep 600"));
  REQUIRE(r->wait_output("up"));
  const auto took = r->kill(graceful(400ms));
  CHECK(took >= 0.4);
  CHECK(took < 1.2);
  CHECK(marked(r->marker).empty());
}

TEST_CASE("C14: a signal reaches the whole group") {
  node n;
  auto r = recorder::start(n, shell("echo up; sleep 600; echo after"));
  REQUIRE(r->wait_output("up"));
  REQUIRE(eventually([&] { return tree_size(*r) == 2; }));
  CHECK(r->signal(SIGINT) == 0);
  REQUIRE(r->wait_drained(1s));
  CHECK(r->status->signal == SIGINT);
  CHECK(r->text() == "up\n");
  CHECK(r->signal(SIGINT) == ESRCH);
}

TEST_CASE("C18: nested shells with sleeps; nothing after the killed command runs") {
  node n;
  auto r = recorder::start(
      n, shell("bash -c 'bash -c \"sleep 600; echo no\"; echo no' ; echo no; sleep 600"));
  REQUIRE(eventually([&] { return tree_size(*r) >= 3; }));
  CHECK(r->kill() < 1.0);
  CHECK(r->text().empty());
  CHECK(marked(r->marker).empty());
}

TEST_CASE("C18: a shell that forks without end is outrun") {
  node n;
  // Stubborn, so that the ladder must kill while it forks. The limit keeps the machine usable.
  auto r = recorder::start(
      n, shell("trap '' TERM; ulimit -u 400; while :; do sleep 600 & done 2>/dev/null"));
  REQUIRE(eventually([&] { return tree_size(*r) > 100; }));
  const auto took = r->kill(graceful(200ms));
  CHECK(took < 2.0);
  CHECK(r->survivors.empty());
  CHECK(marked(r->marker).empty());
}

TEST_CASE("C19: kill -TERM 0 ends that group and nobody else") {
  node n;
  auto sibling = recorder::start(n, shell("sleep 600"));
  auto r = recorder::start(n, shell("kill -TERM 0; echo after"));
  REQUIRE(r->wait_drained());
  CHECK(r->status->signal == SIGTERM);
  CHECK(r->text().empty());
  CHECK(sibling->now([](auto& x) { return !x.exited_at; }));
  sibling->kill();
}

TEST_CASE("a stopped child is killed without waiting for the grace") {
  node n;
  auto r = recorder::start(n, shell("echo up; kill -STOP $$; sleep 600"));
  REQUIRE(r->wait_output("up"));
  REQUIRE(eventually([&] {
    const auto tree = r->describe().tree;
    return !tree.empty() && tree[0].state == 'T';
  }));
  CHECK(r->kill() < 1.0);
}

TEST_CASE("a second kill joins the first; one with SIGKILL ends the grace") {
  node n;
  auto r = recorder::start(n, shell("trap '' TERM; echo up; while :; do sleep 1; done"));
  REQUIRE(r->wait_output("up"));
  n.backend.kill(r->id, graceful(20s));
  n.backend.kill(r->id, graceful(20s));
  kill_plan now;
  now.first_signal = SIGKILL;
  CHECK(r->kill(now) < 1.0);
  CHECK(r->count("kill_done") == 1);
  CHECK(r->status->signal == SIGKILL);
}

TEST_CASE("kill, write and signal before the start is known") {
  node n;
  auto r = recorder::start(n, shell("sleep 600"));
  n.backend.kill(r->id, {});
  REQUIRE(r->wait_killed());
  CHECK(r->survivors.empty());
  CHECK(r->events.front() == "started");
}

TEST_CASE("200 obedient, then 200 stubborn children, killed at once") {
  node n;
  const bool stubborn = GENERATE(false, true);
  std::vector<std::shared_ptr<recorder>> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(
        recorder::start(n, shell(stubborn ? "trap '' TERM; echo up; while :; do sleep 600; done"
                                          : "echo up; exec sleep 600")));
  }
  for (auto& r : all) {
    REQUIRE(r->wait_output("up"));
  }
  const auto begin = steady::now();
  for (auto& r : all) {
    n.backend.kill(r->id, graceful(500ms));
  }
  for (auto& r : all) {
    REQUIRE(r->wait_killed());
    CHECK(r->survivors.empty());
    CHECK(r->status->signal == (stubborn ? SIGKILL : SIGTERM));
  }
  const auto took = seconds_since(begin);
  WARN((stubborn ? "200 stubborn: " : "200 obedient: ") << took << " s");
  CHECK(took < (stubborn ? 2.0 : 1.0));
  CHECK(own_children() == 0);
}

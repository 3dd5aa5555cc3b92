// Running children on pipes: output, exit, drain, what is left behind.
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/backend_fixture.hpp"

using namespace troupe::backends;
using namespace troupe::testing;

TEST_CASE("a child's output, exit code and order of events") {
  node n;
  auto r = recorder::start(n, shell("echo out; echo err >&2; exit 7"));
  REQUIRE(r->wait_drained());
  CHECK(r->text() == "out\nerr\n");
  CHECK(r->status->known);
  CHECK(r->status->code == 7);
  CHECK(r->status->signal == 0);
  CHECK(r->status->max_rss_kib > 0);
  CHECK(r->holders.empty());
  CHECK(r->events.front() == "started");
  CHECK(r->events.back() == "drained");
  CHECK(r->info->start_ticks > 0);
}

TEST_CASE("C28: signals and codes are kept apart") {
  node n;
  auto nine = recorder::start(n, shell("kill -9 $$"));
  auto code = recorder::start(n, shell("exit 137"));
  auto segv = recorder::start(n, shell("kill -SEGV $$"));
  REQUIRE(nine->wait_drained());
  REQUIRE(code->wait_drained());
  REQUIRE(segv->wait_drained());
  CHECK(nine->status->signal == 9);
  CHECK(nine->status->code == 0);
  CHECK(code->status->signal == 0);
  CHECK(code->status->code == 137);
  CHECK(segv->status->signal == 11);
}

TEST_CASE("C01: a background child that holds the pipe does not delay the result") {
  node n;
  for (const std::string command :
       {"sleep 600 & echo FG_DONE", "(while :; do echo tick; sleep 0.1; done) & echo FG_DONE"}) {
    auto r = recorder::start(n, shell(command));
    REQUIRE(r->wait_drained());
    CHECK(std::chrono::duration<double>(*r->drained_at - *r->exited_at).count() < 0.25);
    CHECK(r->text().find("FG_DONE") != std::string::npos);
    CHECK(r->status->code == 0);
    CHECK_FALSE(r->holders.empty());
    r->kill();
    CHECK(r->survivors.empty());
    CHECK(marked(r->marker).empty());
    r->release();
  }
}

TEST_CASE("C12: stdin is at its end unless asked for") {
  node n;
  auto cat = recorder::start(n, shell("cat"));
  auto read = recorder::start(n, shell("read x; echo rc=$?"));
  REQUIRE(cat->wait_drained());
  REQUIRE(read->wait_drained());
  CHECK(cat->status->code == 0);
  CHECK(read->text() == "rc=1\n");
  CHECK(cat->write("x").status == write_status::no_stdin);
}

TEST_CASE("C16: a leader that ignores TERM is killed after the grace") {
  node n;
  auto r = recorder::start(n, shell("trap '' TERM INT; echo up; while :; do sleep 1; done"));
  REQUIRE(r->wait_output("up"));
  kill_plan plan;
  plan.grace = 300ms;
  const auto took = r->kill(plan);
  CHECK(took >= 0.29);
  CHECK(took < 0.8);
  CHECK(r->status->signal == 9);
  CHECK(r->survivors.empty());
  CHECK(marked(r->marker).empty());
}

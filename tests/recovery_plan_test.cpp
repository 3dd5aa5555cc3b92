// What a starting node makes of what it finds: a pure decision, looked at case by case.
#include "troupe/actors/recovery.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

persistence::process_record record(const std::string& id, int pid = 100, std::uint64_t ticks = 7) {
  persistence::process_record x;
  x.id = id;
  x.pid = pid;
  x.start_ticks = ticks;
  x.boot_id = "this boot";
  return x;
}

recovery_facts facts() {
  recovery_facts x;
  x.boot_id = "this boot";
  x.start_ticks = [](int pid) -> std::uint64_t { return pid == 100 ? 7 : 0; };
  return x;
}

std::shared_ptr<persistence::receipt> receipt(const std::string& id, bool notify) {
  auto x = std::make_shared<persistence::receipt>();
  x->process = record(id);
  x->process.notify = notify;
  return x;
}

backends::found_child child(const std::string& marker, backends::child_id id) {
  backends::found_child x;
  x.marker = marker;
  x.id = id;
  return x;
}

}  // namespace

TEST_CASE("a record whose child the keeper knows is taken over with it") {
  auto what = facts();
  what.records = {record("proc_a", 1)};
  what.found.children = {child("proc_a", 12)};
  what.found.next_id = 13;
  const auto plan = plan_recovery(what);
  REQUIRE(plan.running.size() == 1);
  REQUIRE(plan.running[0].child);
  CHECK(plan.running[0].child->id == 12);
  CHECK_FALSE(plan.running[0].detached);
  CHECK(plan.strangers.empty());
  CHECK(plan.next_child == 13);
}

TEST_CASE("without a keeper a process is found again by boot, pid and start time together") {
  auto what = facts();
  auto other_boot = record("proc_b");
  other_boot.boot_id = "the boot before";
  what.records = {record("proc_a"), other_boot, record("proc_c", 100, 8), record("proc_d", 101)};
  const auto plan = plan_recovery(what);
  REQUIRE(plan.running.size() == 4);
  CHECK(plan.running[0].detached);
  // Another boot, a pid that belongs to somebody else by now, a pid that is gone: nobody is signalled.
  for (int i = 1; i < 4; ++i) CHECK_FALSE(plan.running[i].detached);
}

TEST_CASE("a record without a start time identifies nobody") {
  auto what = facts();
  what.records = {record("proc_a", 100, 0), record("proc_b", 0, 0)};
  for (const auto& past : plan_recovery(what).running) CHECK_FALSE(past.detached);
}

TEST_CASE("children without a record are strangers, with what they spooled") {
  auto what = facts();
  what.found.children = {child("proc_x", 3)};
  what.found.children[0].spool_path = "/somewhere/proc_x.raw";
  const auto plan = plan_recovery(what);
  CHECK(plan.strangers == std::vector<backends::child_id>{3});
  CHECK(plan.stranger_spools == std::vector<std::string>{"/somewhere/proc_x.raw"});
  CHECK(plan.running.empty());
}

TEST_CASE("between receipt and completion the completion is still to be told, and only then") {
  auto what = facts();
  what.ended = {receipt("proc_a", true), receipt("proc_b", true), receipt("proc_c", false)};
  what.receipts = {receipt("proc_b", true), receipt("proc_d", true)};
  what.told = {"proc_b"};
  what.found.children = {child("proc_a", 5)};
  const auto plan = plan_recovery(what);
  CHECK(plan.running.empty());
  REQUIRE(plan.finished.size() == 4);
  CHECK(plan.finished[0].untold);
  CHECK_FALSE(plan.finished[1].untold);
  CHECK_FALSE(plan.finished[2].untold);  // nobody asked
  CHECK_FALSE(plan.finished[3].untold);  // no record: it was told long ago
  CHECK(plan.stale_records == std::vector<std::string>{"proc_b", "proc_c"});
  // Its result is known; what the keeper still has of it is not needed.
  CHECK(plan.strangers == std::vector<backends::child_id>{5});
}

TEST_CASE("what the backend could not find out is passed on") {
  auto what = facts();
  what.found.problem = "the keeper does not answer";
  CHECK(plan_recovery(what).problems == std::vector<std::string>{"the keeper does not answer"});
}

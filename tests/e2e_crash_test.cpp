// The node dies, the work does not (design 6, behaviour 6): real nodes killed with SIGKILL, and what the
// next one finds.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/life.hpp"

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

std::string slurp(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::size_t files_in(const std::string& dir) {
  std::error_code ec;
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator{dir, ec}) {
    if (entry.is_regular_file()) ++count;
  }
  return count;
}

std::string lines(int from, int to, const std::string& end = "\n") {
  std::string result;
  for (int i = from; i <= to; ++i) result += std::to_string(i) + end;
  return result;
}

bool alive(int pid) {
  return ::kill(pid, 0) == 0;
}

/// Nothing of the state directory is left but results and the journal.
void check_clean(const life_place& where) {
  CHECK(eventually([&] { return keepers_of(where.state()).empty(); }));
  CHECK(files_in(where.state() + "/processes") == 0);
  CHECK(files_in(where.state() + "/keeper-0/spool") == 0);
  CHECK(files_in(where.state() + "/keeper-0/left") == 0);
}

/// Completions told, by process. One that was not acknowledged before a kill comes again, with its number.
std::map<std::string, int> completions(const life_place& where) {
  std::map<std::string, int> result;
  std::set<std::string> numbers;
  std::istringstream events{slurp(where.out() + "/events")};
  std::string line;
  while (std::getline(events, line)) {
    std::istringstream fields{line};
    std::string number, kind, process;
    fields >> number >> kind >> process;
    if (kind == "completion" && numbers.insert(number).second) ++result[process];
  }
  return result;
}

constexpr auto counter = "for i in $(seq 1 100); do echo $i; sleep 0.02; done";

}  // namespace

TEST_CASE("C25: a loop goes on while its node is killed, twice, and loses no line") {
  life_place where;
  const auto id = fresh_id();
  {
    life first{where};
    first.start(id, "keep", "n", counter);
    first.tell("collect " + id);
    CHECK(eventually(
        [&] { return slurp(where.out() + "/" + id).find("\n30\n") != std::string::npos; }));
    first.kill_it();
  }
  {
    life second{where};  // before anyone reads
    CHECK(second.ask("list", "list") == id + "=running");
    second.kill_it();
  }
  life third{where};
  third.ask("collect " + id, "collecting");
  CHECK(third.next("finished") == id + " exited 0 0");
  CHECK(slurp(where.out() + "/" + id) == lines(1, 100));
  third.ask("events", "listening");
  CHECK(eventually([&] { return completions(where)[id] == 1; }));
  third.quit();
  CHECK(completions(where)[id] == 1);
  check_clean(where);
}

TEST_CASE("what ends while no node is there is found again with its code and its output") {
  life_place where;
  const auto seven = fresh_id();
  const auto signalled = fresh_id();
  const auto loud = fresh_id();
  {
    life first{where};
    first.start(seven, "keep", "n", "sleep 0.2; echo seven; exit 7");
    first.start(signalled, "keep", "n", "echo before; sleep 0.2; kill -9 $$");
    first.start(loud, "keep", "n", "sleep 0.2; seq 1 200000; exit 3");
    first.kill_it();
  }
  // Nobody there: the keeper writes down what they left and ends.
  CHECK(eventually([&] { return keepers_of(where.state()).empty(); }));
  life second{where};
  CHECK(second.ask("wait " + seven, "ended") == seven + " exited 7 0");
  CHECK(second.ask("wait " + signalled, "ended") == signalled + " exited - 9");
  CHECK(second.ask("wait " + loud, "ended") == loud + " exited 3 0");
  second.ask("read " + seven, "read");
  CHECK(slurp(where.out() + "/" + seven) == "seven\n");
  CHECK(second.ask("read " + loud, "read") == loud + " 1288895 0");
  CHECK(slurp(where.out() + "/" + loud) == lines(1, 200'000));
  second.quit();
  // And again, from the receipts.
  life third{where};
  CHECK(third.ask("wait " + seven, "ended") == seven + " exited 7 0");
  fs::remove(where.out() + "/" + loud);
  CHECK(third.ask("read " + loud, "read") == loud + " 1288895 0");
  CHECK(slurp(where.out() + "/" + loud) == lines(1, 200'000));
  third.quit();
  check_clean(where);
}

TEST_CASE(
    "C39: fifty jobs with notify and watch, half of them waited for, and a restart in between") {
  life_place where;
  constexpr int count = 50;
  std::vector<std::string> ids;
  const auto end_of = [&](int i) {
    return ids[static_cast<std::size_t>(i)] + " exited " + std::to_string(i % 3) + " 0";
  };
  {
    life first{where};
    first.ask("events", "listening");
    for (int i = 0; i < count; ++i) {
      ids.push_back(fresh_id());
      // The last ones have not ended when the node is killed, the first ones have.
      first.start(
          ids.back(), "keep", "nw",
          "sleep 0." + std::to_string(i / 5) + "; echo READY; exit " + std::to_string(i % 3));
    }
    first.kill_it();
  }
  life second{where};
  second.ask("events", "listening");
  for (int i = 0; i < count; i += 2) {
    CHECK(second.ask("wait " + ids[static_cast<std::size_t>(i)], "ended") == end_of(i));
  }
  // Who waits for an end may have been told of it by the answer alone.
  const auto once_each = [&] {
    const auto told = completions(where);
    for (int i = 1; i < count; i += 2) {
      const auto one = told.find(ids[static_cast<std::size_t>(i)]);
      if (one == told.end() || one->second != 1) return false;
    }
    return true;
  };
  CHECK(eventually(once_each));
  for (int i = 1; i < count; i += 2) {
    CHECK(second.ask("wait " + ids[static_cast<std::size_t>(i)], "ended") == end_of(i));
  }
  second.quit();
  for (const auto& [id, times] : completions(where)) {
    INFO(id);
    CHECK(times == 1);
  }
  check_clean(where);
}

TEST_CASE("a spool that nobody refers to goes with the keeper") {
  // As a node leaves it that dies between taking one over and removing it.
  life_place where;
  life node{where};
  const auto id = fresh_id();
  node.start(id, "end", "n", "sleep 600");
  const auto spools = where.state() + "/keeper-0/spool";
  fs::create_directory(spools);
  std::ofstream{spools + "/" + fresh_id() + ".raw"} << "stale";
  node.quit();
  CHECK(eventually([&] { return keepers_of(where.state()).empty(); }));
  CHECK_FALSE(fs::exists(spools));
  check_clean(where);
}

TEST_CASE("C23: what its policy says happens to each process when the node is killed") {
  life_place where;
  std::vector<int> keep;
  std::vector<int> end;
  std::vector<std::string> ids;
  {
    life node{where};
    for (int i = 0; i < 10; ++i) {
      ids.push_back(fresh_id());
      keep.push_back(node.start(ids.back(), "keep", "-", "sleep 600"));
      ids.push_back(fresh_id());
      end.push_back(node.start(ids.back(), "end", "-", "setsid sleep 600 & sleep 600"));
    }
    ids.push_back(fresh_id());
    keep.push_back(node.start(ids.back(), "keep", "p", "sleep 600"));
    ids.push_back(fresh_id());
    end.push_back(node.start(ids.back(), "end", "p", "sleep 600"));
    node.ask("run sleep 601", "running");
    node.kill_it();
  }
  CHECK(eventually([&] {
    for (const auto pid : end) {
      if (alive(pid)) return false;
    }
    return true;
  }));
  for (std::size_t i = 1; i < ids.size(); i += 2) {
    INFO(ids[i]);
    CHECK(eventually([&] { return alive_with_marker(ids[i]).empty(); }));
  }
  for (const auto pid : keep) CHECK(alive(pid));
  life next{where};
  for (std::size_t i = 0; i < ids.size(); i += 2) next.ask("kill " + ids[i], "killed");
  for (const auto pid : keep) CHECK_FALSE(alive(pid));
  // The ones that were ended are known as that.
  CHECK(next.ask("wait " + ids[1], "ended") == ids[1] + " killed - 15");
  next.quit();
  check_clean(where);
}

TEST_CASE("a foreground command of a killed node is ended by the next one, and told to nobody") {
  life_place where;
  where.kind = "lasting";
  const auto pids = where.out() + "/pids";
  {
    life first{where};
    first.ask("run setsid sleep 600 & echo $$ $! > " + pids + ".new; mv " + pids + ".new " + pids +
                  "; sleep 600",
              "running");
    REQUIRE(eventually([&] { return fs::exists(pids); }));
    first.kill_it();
  }
  int command = 0;
  int escapee = 0;
  std::istringstream{slurp(pids)} >> command >> escapee;
  CHECK(alive(command));
  CHECK(alive(escapee));
  life next{where};
  CHECK(eventually([&] { return !alive(command) && !alive(escapee); }));
  CHECK(next.ask("list", "list").empty());
  next.ask("events", "listening");
  const auto told = fresh_id();
  next.start(told, "keep", "n", "true");
  CHECK(eventually([&] { return completions(where)[told] == 1; }));
  CHECK(completions(where).size() == 1);
  CHECK(files_in(where.state() + "/results") == 1);
  next.quit();
  check_clean(where);
}

TEST_CASE("an orderly end keeps what is to be kept and ends the rest") {
  life_place where;
  const auto kept = fresh_id();
  const auto ended = fresh_id();
  int kept_pid = 0;
  int ended_pid = 0;
  {
    life node{where};
    kept_pid = node.start(kept, "keep", "i", "read x; echo got=$x; exit 5");
    ended_pid = node.start(ended, "end", "n", "sleep 600");
    node.quit();
    CHECK(alive(kept_pid));
    CHECK_FALSE(alive(ended_pid));
  }
  life next{where};
  next.ask("write " + kept + " hello", "written");
  CHECK(next.ask("wait " + kept, "ended") == kept + " exited 5 0");
  next.ask("read " + kept, "read");
  CHECK(slurp(where.out() + "/" + kept) == "got=hello\n");
  next.quit();
  check_clean(where);
}

TEST_CASE("a keeper that is killed costs the exit codes and nothing else") {
  life_place where;
  const auto id = fresh_id();
  life node{where};
  node.start(id, "keep", "n", counter);
  node.ask("collect " + id, "collecting");
  CHECK(eventually(
      [&] { return slurp(where.out() + "/" + id).find("\n30\n") != std::string::npos; }));
  for (const auto pid : keepers_of(where.state())) ::kill(pid, SIGKILL);
  CHECK(node.next("finished") == id + " lost - 0");
  CHECK(slurp(where.out() + "/" + id) == lines(1, 100));
  // The next start has a new keeper.
  const auto other = fresh_id();
  node.start(other, "keep", "-", "exit 4");
  CHECK(node.ask("wait " + other, "ended") == other + " exited 4 0");
  node.quit();
  check_clean(where);
}

TEST_CASE(
    "when node and keeper are both killed, processes are found by identity and nothing is "
    "invented") {
  life_place where;
  const auto stays = fresh_id();
  const auto goes = fresh_id();
  int stays_pid = 0;
  {
    life node{where};
    stays_pid = node.start(stays, "keep", "n", "sleep 600");
    node.start(goes, "keep", "n", "sleep 0.1; exit 3");
    const auto keepers = keepers_of(where.state());
    ::kill(node.pid(), SIGSTOP);
    for (const auto pid : keepers) ::kill(pid, SIGKILL);
    node.kill_it();
  }
  CHECK(eventually([&] { return alive_with_marker(goes).empty(); }));
  CHECK(alive(stays_pid));
  life next{where};
  CHECK(next.ask("wait " + goes, "ended") == goes + " lost - 0");
  const auto list = next.ask("list", "list");
  CHECK(list.find(stays + "=running,detached") != std::string::npos);
  CHECK(next.ask("kill " + stays, "killed") == stays + " killed - 0");
  CHECK(eventually([&] { return !alive(stays_pid); }));
  next.quit();
  check_clean(where);
}

TEST_CASE("without a keeper the children of a dead node are found by identity") {
  life_place where;
  where.kind = "direct";
  const auto id = fresh_id();
  int pid = 0;
  {
    life node{where};
    pid = node.start(id, "keep", "n", "sleep 600");
    node.kill_it();
  }
  CHECK(alive(pid));
  life next{where};
  CHECK(next.ask("list", "list") == id + "=running,detached");
  CHECK(next.ask("kill " + id, "killed") == id + " killed - 0");
  CHECK(eventually([&] { return !alive(pid); }));
  next.quit();
}

TEST_CASE("a node with results of earlier lives ends at once") {
  life_place where;
  const auto id = fresh_id();
  {
    life first{where};
    first.start(id, "keep", "-", "true");
    first.ask("wait " + id, "ended");
    first.quit();
  }
  life second{where};
  CHECK(second.ask("kill " + id, "killed") == id + " exited 0 0");
  const auto begin = std::chrono::steady_clock::now();
  second.quit();
  CHECK(std::chrono::steady_clock::now() - begin < 4s);  // the limit of a shutdown is 5 s
}

TEST_CASE("a keeper whose directory is gone does not stay for its results") {
  auto where = std::make_unique<life_place>();
  const auto state = where->state();
  {
    life node{*where};
    node.start(fresh_id(), "keep", "-", "sleep 0.2; echo late");
    node.kill_it();
  }
  where.reset();
  CHECK(eventually([&] { return keepers_of(state).empty(); }));
}

TEST_CASE("a pid that belongs to somebody else by now is neither shown as running nor signalled") {
  // A pid namespace, so that the next pid can be chosen: the dead process and a stranger get the same.
  life_place where;
  where.kind = "direct";
  const auto id = fresh_id();
  const std::string script = R"(
    exec 2>&1
    mkfifo "$OUT/in" && { "$LIFE" "$STATE" "$OUT" direct < "$OUT/in" > "$OUT/said" & }
    life=$!
    exec 5> "$OUT/in"
    until grep -q ready "$OUT/said"; do sleep 0.01; done
    echo "start $ID keep n sleep 600" >&5
    until grep -q started "$OUT/said"; do sleep 0.01; done
    pid=$(sed -n 's/^started [^ ]* //p' "$OUT/said")
    kill -9 $life -$pid  # the whole group: its number must be free as well
    wait $life
    while kill -0 $pid 2>/dev/null || kill -0 -$pid 2>/dev/null; do sleep 0.01; done
    for try in $(seq 1 200); do
      echo $((pid - 1)) > /proc/sys/kernel/ns_last_pid || exit 77
      sleep 599 & stranger=$!
      [ $stranger = $pid ] && break
      kill $stranger; wait $stranger
    done
    [ $stranger = $pid ] || exit 77
    { echo list; echo "kill $ID"; echo "wait $ID"; echo quit; } | "$LIFE" "$STATE" "$OUT" direct
    kill -0 $stranger && echo "stranger lives"
  )";
  ::setenv("OUT", where.out().c_str(), 1);
  ::setenv("STATE", where.state().c_str(), 1);
  ::setenv("LIFE", TROUPE_LIFE, 1);
  ::setenv("ID", id.c_str(), 1);
  program run{{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", script}};
  const auto said = run.rest();
  const int code = run.wait();
  if (code == 77 || said.find("unshare failed") != std::string::npos) {
    WARN("skipped: no pid namespace with a chosen next pid here: " << said);
    return;
  }
  INFO(said);
  CHECK(code == 0);
  CHECK(said.find("list " + id + "=running") == std::string::npos);
  CHECK(said.find("ended " + id + " lost - 0") != std::string::npos);
  CHECK(said.find("stranger lives") != std::string::npos);
}

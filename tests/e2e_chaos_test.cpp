// Chaos: processes of all kinds run while their node is killed again and again. At the end every byte is
// there once, every exit code is true, every completion was told exactly once, and nothing is left over.
// TROUPE_CHAOS_ROUNDS: how often it is killed (20).
#include <signal.h>

#include <cstdlib>
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

struct job {
  std::string id;
  std::string flags;
  std::string command;
  std::string output;
  std::string end;  ///< REASON CODE SIGNAL
};

std::string slurp(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::string numbered(const std::string& head, int count, const std::string& end = "\n") {
  std::string result;
  for (int i = 1; i <= count; ++i) result += head + std::to_string(i) + end;
  return result;
}

/// `count` numbered lines, a batch at a time, so that it lasts about `seconds`.
std::string printer(const std::string& head, int count, double seconds, int batches,
                    const std::string& last) {
  return "python3 -u -c \"import sys,time\nfor i in range(1," + std::to_string(count + 1) +
         "):\n sys.stdout.write('" + head + "%d\\n' % i)\n if i % " +
         std::to_string(count / batches) + " == 0: sys.stdout.flush(); time.sleep(" +
         std::to_string(seconds / batches) + ")\"; " + last;
}

/// 50 processes: pipe and PTY, chatty and silent, short and long, with watch and heartbeat.
std::vector<job> jobs(double seconds) {
  std::vector<job> all;
  const auto add = [&](std::string flags, std::string command, std::string output,
                       std::string end) {
    // One line: what the life host reads.
    std::string quoted = "eval $'";
    for (const char c : command) {
      if (c == '\n') {
        quoted += "\\n";
      } else if (c == '\'' || c == '\\') {
        quoted += std::string{"\\"} + c;
      } else {
        quoted += c;
      }
    }
    all.push_back({fresh_id(), std::move(flags), quoted + "'", std::move(output), std::move(end)});
  };
  const std::string wide(40, '.');
  for (int i = 0; i < 6; ++i) {  // more than memory keeps, also while no node is there
    add("n", printer(wide, 300'000, seconds, 200, "exit 3"), numbered(wide, 300'000), "exited 3 0");
  }
  for (int i = 0; i < 10; ++i) {
    add("nw", printer("READY ", 200, seconds, 50, "exit 4"), numbered("READY ", 200), "exited 4 0");
  }
  for (int i = 0; i < 6; ++i) {
    add("np", printer("tty ", 300, seconds, 60, "exit 5"), numbered("tty ", 300, "\r\n"),
        "exited 5 0");
  }
  for (int i = 0; i < 8; ++i) {
    add("n", "sleep " + std::to_string(seconds * (i + 1) / 9) + "; exit " + std::to_string(i), "",
        "exited " + std::to_string(i) + " 0");
  }
  for (int i = 0; i < 8; ++i) {
    add("nh", printer("beat ", 100, seconds, 25, "kill -9 $$"), numbered("beat ", 100),
        "exited - 9");
  }
  for (int i = 0; i < 12; ++i) add("n", "echo short; exit 9", "short\n", "exited 9 0");
  return all;
}

}  // namespace

TEST_CASE("chaos: nothing is lost or invented while the node is killed again and again") {
  const char* chosen = std::getenv("TROUPE_CHAOS_ROUNDS");
  const int rounds = chosen != nullptr ? std::atoi(chosen) : 20;
  life_place where;
  std::mt19937 random{std::random_device{}()};
  const auto all = jobs(rounds * 1.2);
  std::set<std::string> started;
  int kills = 0;
  std::size_t next = 0;
  for (; kills < rounds; ++kills) {
    life node{where};
    node.tell("events");
    for (const auto& one : all) {
      if (started.contains(one.id)) node.tell("collect " + one.id);
    }
    // Starts are spread over the first lives; each life is killed some time after its last one.
    for (int i = 0; i < 10 && next < all.size(); ++i, ++next) {
      const auto& one = all[next];
      node.start(one.id, "keep", one.flags, one.command);
      started.insert(one.id);
      node.tell("collect " + one.id);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{100 + random() % 900});
    node.kill_it();
    // Now and then nobody is there for longer than the keeper waits before it writes down what ended.
    if (kills % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{random() % 1'500});
  }
  life last{where};
  last.tell("events");
  for (const auto& one : all) {
    last.tell("collect " + one.id);
  }
  std::map<std::string, std::string> ends;
  while (ends.size() < all.size()) {
    std::istringstream said{last.next("finished")};
    std::string id, rest;
    said >> id >> std::ws;
    std::getline(said, rest);
    ends[id] = rest;
  }
  for (const auto& one : all) {
    INFO(one.id << " " << one.command);
    CHECK(ends[one.id] == one.end);
    const auto output = slurp(where.out() + "/" + one.id);
    CHECK(output.size() == one.output.size());
    CHECK((output == one.output));
  }
  // Completions: the same event may come again while it is not acknowledged, never a second one.
  std::map<std::string, std::set<std::string>> told;
  std::map<std::string, std::string> told_end;
  const auto read_events = [&] {
    told.clear();
    std::istringstream events{slurp(where.out() + "/events")};
    std::string line;
    while (std::getline(events, line)) {
      std::istringstream fields{line};
      std::string number, kind, process, end;
      fields >> number >> kind >> process >> std::ws;
      std::getline(fields, end);
      if (kind != "completion") continue;
      told[process].insert(number);
      told_end[process] = end;
    }
    return told.size() >= all.size();
  };
  CHECK(eventually(read_events));
  for (const auto& one : all) {
    INFO(one.id << " " << one.command);
    CHECK(told[one.id].size() == 1);
    CHECK(told_end[one.id] == one.end);
    CHECK(alive_with_marker(one.id).empty());
  }
  last.quit();
  CHECK(eventually([&] { return keepers_of(where.state()).empty(); }));
  const auto keeper = where.state() + "/keeper-0";
  for (const auto& dir : {where.state() + "/processes", keeper + "/spool", keeper + "/left"}) {
    std::error_code ec;
    for (const auto& entry : fs::directory_iterator{dir, ec}) FAIL_CHECK(entry.path().string());
  }
}

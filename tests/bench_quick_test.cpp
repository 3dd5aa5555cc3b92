// troupe-bench as a program: it runs, and its JSON has the promised shape. No figure is judged here:
// the machine that runs the tests is busy.
#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "troupe/tests/catch.hpp"

namespace {

/// stdout and exit status of a shell command.
std::pair<std::string, int> output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (const auto size = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), size);
  }
  return {text, ::pclose(pipe)};
}

const std::string bench = std::string{TROUPE_BIN_DIR} + "/troupe-bench";

}  // namespace

TEST_CASE("the bench gives one JSON object with the machine and every case") {
  const auto [text, status] = output_of(bench + " --json --quick spawn wakeup strip");
  REQUIRE(status == 0);
  const auto whole = boost::json::parse(text).as_object();
  REQUIRE(whole.size() == 2);
  const auto& machine = whole.at("machine").as_object();
  for (const auto* name : {"cpu", "kernel", "caf", "compiler", "build", "date"}) {
    INFO(name);
    CHECK_FALSE(machine.at(name).as_string().empty());
  }
  CHECK(machine.at("cores").is_number());
  CHECK(machine.at("memory_mib").is_number());

  std::set<std::string> cases;
  for (const auto& row : whole.at("results").as_array()) {
    const auto& one = row.as_object();
    const std::string name{one.at("case").as_string()};
    INFO(name);
    cases.insert(name);
    CHECK(one.size() == 6);
    CHECK(name.starts_with(std::string{one.at("workload").as_string()} + "/"));
    CHECK_FALSE(one.at("unit").as_string().empty());
    CHECK(one.at("value").to_number<double>() > 0);
    CHECK(one.at("raw").to_number<double>() > 0);
    CHECK(one.at("ratio").to_number<double>() > 0);
  }
  CHECK(cases == std::set<std::string>{"spawn/1", "spawn/8", "wakeup/p50", "wakeup/p99",
                                       "strip/ansi", "strip/utf8", "strip/redact", "strip/plain"});
}

TEST_CASE("the bench lists its workloads and refuses unknown ones") {
  const auto [text, status] = output_of(bench + " --list");
  CHECK(status == 0);
  for (const auto* name :
       {"spawn", "foreground", "login", "parallel", "interrupt", "ingest", "tail", "idle",
        "spawn_keeper", "start_at", "recovery", "kill_all", "stdin", "wakeup", "follow", "strip"}) {
    INFO(name);
    CHECK(text.find(name) != std::string::npos);
  }
  CHECK(output_of(bench + " nonsense 2>&1").second != 0);
}

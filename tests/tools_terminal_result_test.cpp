// The result of a foreground command, field by field (docs/behaviour.md, section 3).
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "troupe/frontends/tools/tool_set.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe;
using Catch::Matchers::ContainsSubstring;
namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

struct client {
  testing::temporary_dir dir;
  options opts = with_state(dir);
  testing::host host{opts};
  tools::tool_set set{host.system(), host.registry(), opts};
  int turns = 0;

  static options with_state(const testing::temporary_dir& dir) {
    auto opts = testing::host::quick_options();
    opts.state_dir = dir.path();
    return opts;
  }

  std::future<tools::tool_answer> begin(const json::object& arguments,
                                        tools::call_context context = {}) {
    if (context.who.turn.empty()) context.who.turn = "turn-" + std::to_string(++turns);
    context.who.session = "s";
    auto answer = std::make_shared<std::promise<tools::tool_answer>>();
    auto result = answer->get_future();
    set.call("terminal", json::serialize(arguments), std::move(context),
             [answer](tools::tool_answer x) { answer->set_value(std::move(x)); });
    return result;
  }

  json::object end(std::future<tools::tool_answer> pending) {
    REQUIRE(pending.wait_for(testing::generous) == std::future_status::ready);
    auto x = pending.get().structured;
    UNSCOPED_INFO(json::serialize(x).substr(0, 2000));
    return x;
  }

  json::object run(const std::string& command) { return end(begin({{"command", command}})); }
};

std::set<std::string> keys(const json::object& x) {
  std::set<std::string> result;
  for (const auto& [key, value] : x) result.emplace(key);
  return result;
}

std::string string_in(const json::object& x, const char* name) {
  return std::string{x.at(name).as_string()};
}

const std::set<std::string> plain{"output", "exit_code", "error"};

/// A call that has printed something already.
tools::call_context when_printed(std::promise<void>& printed, const std::string& turn) {
  tools::call_context context;
  context.who.turn = turn;
  context.on_output = [&printed, done = false](const output_chunk&) mutable {
    if (!std::exchange(done, true)) printed.set_value();
  };
  return context;
}

}  // namespace

TEST_CASE("an ordinary result has output, exit code and error, and nothing else") {
  client c;
  auto x = c.run("echo hello");
  CHECK(keys(x) == plain);
  CHECK(string_in(x, "output") == "hello\n");
  CHECK(x.at("exit_code") == 0);
  CHECK(x.at("error").is_null());
  auto failed = c.run("exit 3");
  CHECK(keys(failed) == plain);
  CHECK(failed.at("exit_code") == 3);
}

TEST_CASE("cwd is there only if the command changed it") {
  client c;
  auto moved = c.run("cd /usr");
  CHECK(string_in(moved, "cwd") == "/usr");
  CHECK_FALSE(moved.contains("cwd_note"));
  CHECK_FALSE(c.run("pwd").contains("cwd"));
  CHECK_FALSE(c.run("cd /usr").contains("cwd"));
  CHECK_FALSE(c.run("(cd /tmp)").contains("cwd"));
  const auto deep = c.dir.path() + "/a/b";
  c.run("mkdir -p " + deep + " && cd " + deep);
  fs::remove_all(deep);
  auto lost = c.run("pwd");
  CHECK(string_in(lost, "output") == c.dir.path() + "/a\n");
  CHECK_THAT(string_in(lost, "cwd_note"), ContainsSubstring(deep));
  CHECK(lost.at("exit_code") == 0);
}

TEST_CASE("a pipeline has the codes of its parts") {
  client c;
  auto x = c.run("false | true");
  CHECK(json::serialize(x.at("pipestatus")) == "[1,0]");
  CHECK(x.at("exit_code") == 0);
  CHECK_FALSE(c.run("true").contains("pipestatus"));
  auto failing = c.end(c.begin({{"command", "false | true"}, {"pipefail", true}}));
  CHECK(failing.at("exit_code") == 1);
  CHECK(json::serialize(failing.at("pipestatus")) == "[1,0]");
}

TEST_CASE("benign codes have a meaning, recoverable failures a hint, and codes stay") {
  client c;
  auto grep = c.run("echo a | grep b");
  CHECK(grep.at("exit_code") == 1);
  CHECK(grep.contains("exit_code_meaning"));
  CHECK_FALSE(grep.contains("hint"));
  CHECK_FALSE(c.run("false").contains("exit_code_meaning"));
  auto missing = c.run("no_such_program_here");
  CHECK(missing.at("exit_code") == 127);
  CHECK(missing.contains("hint"));
  auto denied = c.run("cd " + c.dir.path() + "; touch f; chmod -x f; ./f");
  CHECK(denied.at("exit_code") == 126);
  CHECK(denied.contains("hint"));
  auto killed = c.run("kill -9 $$");
  CHECK(killed.at("exit_code") == 137);
  CHECK(killed.at("signal") == 9);
  CHECK(killed.contains("exit_code_meaning"));
}

TEST_CASE("a cut output says how much is missing and where all of it is") {
  client c;
  auto x = c.run("seq 1 20000");
  CHECK(x.at("output_total_bytes") == 108'894);
  const auto path = string_in(x, "full_output_path");
  CHECK(fs::file_size(path) == 108'894);
  CHECK_THAT(string_in(x, "truncation_note"),
             ContainsSubstring("58,894 characters") && ContainsSubstring(path));
  CHECK_THAT(string_in(x, "output"),
             ContainsSubstring("58,894 chars omitted out of 108,894 total"));
  auto fits = c.run("seq 1 5000");
  CHECK(keys(fits) == plain);
}

TEST_CASE("a command that took too long, or was interrupted, says so in words and in a flag") {
  client c;
  auto late = c.end(c.begin({{"command", "echo so far; sleep 600"}, {"timeout", 0.5}}));
  CHECK(late.at("exit_code") == 124);
  CHECK(late.at("timed_out") == true);
  CHECK(string_in(late, "output") == "so far\n\n[Command timed out after 0.5s]");
  std::promise<void> printed;
  auto pending =
      c.begin({{"command", "echo so far; sleep 600"}}, when_printed(printed, "interrupted"));
  REQUIRE(printed.get_future().wait_for(testing::generous) == std::future_status::ready);
  caller who;
  who.session = "s";
  who.turn = "interrupted";
  c.set.interrupt(who);
  auto stopped = c.end(std::move(pending));
  CHECK(stopped.at("exit_code") == 130);
  CHECK(stopped.at("interrupted") == true);
  CHECK(string_in(stopped, "output") == "so far\n\n[Command interrupted]");
  // The codes alone mean nothing.
  CHECK(keys(c.run("exit 130")) == plain);
  CHECK(keys(c.run("exit 124")) == plain);
}

TEST_CASE("a command that yields goes on in the background") {
  client c;
  std::promise<void> printed;
  auto pending = c.begin({{"command", "echo so far; sleep 600"}}, when_printed(printed, "mine"));
  REQUIRE(printed.get_future().wait_for(testing::generous) == std::future_status::ready);
  caller who;
  who.session = "s";
  who.turn = "mine";
  CHECK(c.host.ask<std::uint32_t>(yield_atom_v, who) >= 1);
  auto x = c.end(std::move(pending));
  CHECK(string_in(x, "status") == "yielded_to_background");
  CHECK(x.at("exit_code").is_null());
  CHECK(x.at("error").is_null());
  CHECK(string_in(x, "output") == "so far\n");
  c.host.who = who;
  const auto id = string_in(x, "session_id");
  CHECK(c.host.poll(id).process.status == process_status::running);
  CHECK(c.host.kill(id).status == kill_status::killed);
}

TEST_CASE("what still lives of a command is named") {
  client c;
  auto x = c.run("perl -e 'exec \"sleep\", \"600\" unless fork'");
  CHECK(x.at("exit_code") == 0);
  REQUIRE(x.contains("descendants"));
  const auto& pids = x.at("descendants").as_array();
  REQUIRE(pids.size() == 1);
  CHECK(::kill(static_cast<int>(pids[0].as_int64()), SIGKILL) == 0);
}

TEST_CASE("a working directory that cannot be used is exit 126 with the reason") {
  client c;
  std::ofstream{c.dir.path() + "/file"} << "x";
  auto missing = c.end(c.begin({{"command", "pwd"}, {"workdir", c.dir.path() + "/none"}}));
  CHECK(missing.at("exit_code") == 126);
  CHECK_THAT(string_in(missing, "error"), ContainsSubstring("ENOENT"));
  auto file = c.end(c.begin({{"command", "pwd"}, {"workdir", c.dir.path() + "/file"}}));
  CHECK(file.at("exit_code") == 126);
  CHECK_THAT(string_in(file, "error"), ContainsSubstring("ENOTDIR"));
  if (::geteuid() != 0) {
    ::mkdir((c.dir.path() + "/closed").c_str(), 0);
    auto closed = c.end(c.begin({{"command", "pwd"}, {"workdir", c.dir.path() + "/closed"}}));
    CHECK(closed.at("exit_code") == 126);
    CHECK_THAT(string_in(closed, "error"), ContainsSubstring("EACCES"));
  }
  auto refused = c.end(c.begin({{"command", "pwd"}, {"workdir", "/tmp/$(x)"}}));
  CHECK_THAT(string_in(refused, "error"), ContainsSubstring("'$'"));
}

TEST_CASE("a password that sudo did not accept is a flag") {
  client c;
  auto x = c.run("sudo() { echo 'sudo: 3 incorrect password attempts'; return 1; }; sudo true");
  CHECK(x.at("sudo_auth_failed") == true);
  CHECK_FALSE(c.run("echo 'sudo: 3 incorrect password attempts'").contains("sudo_auth_failed"));
}

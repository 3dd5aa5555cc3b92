// The tools on real processes: what a host sees of starts, ends, waits, kills and refusals.
#include <future>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "troupe/frontends/tools/tool_set.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"

using namespace troupe;
using Catch::Matchers::ContainsSubstring;
namespace json = boost::json;

namespace {

/// Calls tools and waits for their answers.
struct client {
  testing::host host;
  tools::tool_set set{host.system(), host.registry(), testing::host::quick_options()};
  int turns = 0;
  bool events = false;

  std::future<tools::tool_answer> begin(const char* tool, const std::string& arguments,
                                        tools::call_context context = {}) {
    if (context.who.turn.empty()) context.who.turn = "turn-" + std::to_string(++turns);
    context.who.session = "s";
    context.can_receive_events = events;
    auto answer = std::make_shared<std::promise<tools::tool_answer>>();
    auto result = answer->get_future();
    set.call(tool, arguments, std::move(context),
             [answer](tools::tool_answer x) { answer->set_value(std::move(x)); });
    return result;
  }

  tools::tool_answer answer(const char* tool, const std::string& arguments) {
    auto pending = begin(tool, arguments);
    REQUIRE(pending.wait_for(testing::generous) == std::future_status::ready);
    return pending.get();
  }

  json::object call(const char* tool, const std::string& arguments) {
    auto x = answer(tool, arguments);
    UNSCOPED_INFO(arguments << " -> " << json::serialize(x.structured));
    return x.structured;
  }

  std::string start(const std::string& arguments) {
    auto x = call("terminal", arguments);
    REQUIRE(x.contains("session_id"));
    return std::string{x.at("session_id").as_string()};
  }
};

std::string string_in(const json::object& x, const char* name) {
  return std::string{x.at(name).as_string()};
}

}  // namespace

TEST_CASE("a foreground command answers with output and exit code") {
  client c;
  auto x = c.call("terminal", R"({"command":"echo out; echo err >&2; exit 7"})");
  CHECK(string_in(x, "output").find("out\nerr") == 0);
  CHECK(x.at("exit_code") == 7);
  CHECK(x.at("error").is_null());
  auto killed = c.call("terminal", R"({"command":"kill -9 $$"})");
  CHECK(killed.at("exit_code") == 137);
  CHECK(killed.at("signal") == 9);
  CHECK(string_in(killed, "signal_name") == "SIGKILL");
  auto plain = c.call("terminal", R"({"command":"exit 137"})");
  CHECK(plain.at("exit_code") == 137);
  CHECK_FALSE(plain.contains("signal"));
  auto grep = c.call("terminal", R"({"command":"echo a | grep b"})");
  CHECK(grep.contains("exit_code_meaning"));
  auto fed = c.call("terminal", R"({"command":"cat","stdin":"abc"})");
  CHECK(string_in(fed, "output") == "abc");
}

TEST_CASE("a foreground command that takes too long is 124, and its own 124 has no flag") {
  client c;
  auto x = c.call("terminal", R"({"command":"echo so far; sleep 600","timeout":0.3})");
  CHECK(x.at("exit_code") == 124);
  CHECK(x.at("timed_out") == true);
  CHECK_THAT(string_in(x, "output"), ContainsSubstring("so far"));
  auto own = c.call("terminal", R"({"command":"exit 124"})");
  CHECK(own.at("exit_code") == 124);
  CHECK_FALSE(own.contains("timed_out"));
}

TEST_CASE("an interrupt ends the foreground command of its turn and of no other") {
  client c;
  tools::call_context context;
  context.who.turn = "mine";
  std::promise<void> printed;
  context.on_output = [&, done = false](const output_chunk&) mutable {
    if (!done) printed.set_value();
    done = true;
  };
  auto mine = c.begin("terminal", R"({"command":"echo here; sleep 600"})", context);
  auto other = c.begin("terminal", R"({"command":"sleep 0.5; echo other"})");
  REQUIRE(printed.get_future().wait_for(testing::generous) == std::future_status::ready);
  context.who.session = "s";
  c.set.interrupt(context.who);
  REQUIRE(mine.wait_for(testing::generous) == std::future_status::ready);
  auto x = mine.get().structured;
  CHECK(x.at("exit_code") == 130);
  CHECK(x.at("interrupted") == true);
  CHECK_THAT(string_in(other.get().structured, "output"), ContainsSubstring("other"));
}

TEST_CASE("a start that failed says why") {
  client c;
  auto x = c.call("terminal", R"({"command":"true","workdir":"/no/such/dir"})");
  CHECK(x.at("exit_code") == 126);
  CHECK_THAT(string_in(x, "error"), ContainsSubstring("ENOENT"));
  auto b = c.call("terminal", R"({"command":"true","workdir":"/no/such/dir","background":true})");
  CHECK(b.at("exit_code") == -1);
}

TEST_CASE("a background process is started, listed, polled, read and waited for") {
  client c;
  auto id = c.start(R"({"command":"printf 'one\ntwo\nthree\n'; exit 5","background":true})");
  auto ended = c.call("process", R"({"action":"wait","session_id":")" + id + "\"}");
  CHECK(string_in(ended, "status") == "exited");
  CHECK(ended.at("exit_code") == 5);
  CHECK(string_in(ended, "completion_reason") == "exited");
  CHECK(string_in(ended, "session_id") == id);
  auto poll = c.call("process", R"({"action":"poll","session_id":")" + id + R"(","cursor":4})");
  CHECK(string_in(poll, "output") == "two\nthree\n");
  CHECK(poll.at("cursor") == 14);
  CHECK(poll.at("total_bytes") == 14);
  CHECK(poll.contains("rusage"));
  auto raw = c.call("process",
                    R"({"action":"poll","session_id":")" + id + R"(","cursor":0,"view":"raw"})");
  CHECK(string_in(raw, "output") == "b25lCnR3bwp0aHJlZQo=");
  auto log =
      c.call("process", R"({"action":"log","session_id":")" + id + R"(","offset":"1","limit":1})");
  CHECK_THAT(string_in(log, "output"), ContainsSubstring("two"));
  CHECK(log.at("total_lines") == 3);
  auto list = c.call("process", R"({"action":"list"})");
  auto row = list.at("processes").as_array().at(0).as_object();
  CHECK(string_in(row, "session_id") == id);
  CHECK(string_in(row, "started_at").size() == 24);
  CHECK(string_in(row, "status") == "exited");
  auto again = c.call("process", R"({"action":"kill","session_id":")" + id + "\"}");
  CHECK(string_in(again, "status") == "already_exited");
}

TEST_CASE("stdin of a background process is written, submitted and closed") {
  client c;
  auto id = c.start(R"({"command":"cat","background":true,"stdin":true})");
  auto w = c.call("process", R"({"action":"write","session_id":")" + id + R"(","data":"ü"})");
  CHECK(w.at("bytes_written") == 2);
  c.call("process", R"({"action":"submit","session_id":")" + id + R"(","data":"x"})");
  c.call("process", R"({"action":"close","session_id":")" + id + "\"}");
  auto ended = c.call("process", R"({"action":"wait","session_id":")" + id + "\"}");
  CHECK(string_in(ended, "output") == "üx\n");
  auto late = c.answer("process", R"({"action":"write","session_id":")" + id + R"(","data":"x"})");
  CHECK(late.is_error);
  CHECK(string_in(late.structured, "status") == "already_exited");
}

TEST_CASE("waits end at a match, at the deadline, and say what they clamped") {
  client c;
  auto id = c.start(R"({"command":"sleep 0.2; echo ready now; sleep 600","background":true})");
  auto match = c.call("process", R"({"action":"wait","session_id":")" + id +
                                     R"(","until":"ready","timeout":100000})");
  CHECK(string_in(match, "status") == "matched");
  CHECK_THAT(string_in(match, "match"), ContainsSubstring("ready now"));
  CHECK_THAT(string_in(match, "timeout_note"),
             ContainsSubstring("100000") && ContainsSubstring("180"));
  auto late =
      c.answer("process", R"({"action":"wait","session_id":")" + id + R"(","timeout":0.1})");
  CHECK_FALSE(late.is_error);
  CHECK(string_in(late.structured, "status") == "timeout");
  CHECK(late.structured.at("process_running") == true);
  CHECK(
      string_in(c.call("process", R"({"action":"wait","session_id":")" + id + R"(","timeout":-1})"),
                "error") == "timeout must be positive (got -1)");
  auto killed = c.call("process", R"({"action":"kill","session_id":")" + id + "\"}");
  CHECK(string_in(killed, "status") == "killed");
  CHECK(killed.at("signal") == 15);
  CHECK(string_in(killed, "completion_reason") == "killed");
  CHECK(string_in(killed, "termination_source") == "process.kill");
}

TEST_CASE("an unknown process is not found, and an unknown regular expression is an error") {
  client c;
  for (const char* id : {"\"proc_000000000000\"", "\"x\"", "7", "null", "\"\""}) {
    auto x = c.answer("process", std::string{R"({"action":"poll","session_id":)"} + id + "}");
    CHECK(x.is_error);
    CHECK(string_in(x.structured, "status") == "not_found");
  }
  auto id = c.start(R"({"command":"sleep 600","background":true})");
  auto bad = c.answer("process", R"({"action":"wait","session_id":")" + id + R"(","until":"("})");
  CHECK(bad.is_error);
}

TEST_CASE("secrets in commands are not shown") {
  client c;
  const std::string token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  c.start(R"({"command":"true )" + token + R"(","background":true})");
  auto list = json::serialize(c.call("process", R"({"action":"list"})"));
  CHECK(list.find(token) == std::string::npos);
}

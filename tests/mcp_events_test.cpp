// What a client is told without asking: as log messages, as updated resources, or else as notices in
// its next answer; each thing once.
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "troupe/frontends/mcp/session.hpp"
#include "troupe/frontends/tools/event_text.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;
using namespace troupe::mcp;
namespace json = boost::json;
using Catch::Matchers::ContainsSubstring;

namespace {

struct recorder : session_owner {
  void send(std::string frame) override { sent.push_back(std::move(frame)); }
  void start(tool_call call) override { calls.push_back(std::move(call)); }
  void interrupt(call_number) override {}
  void told() override { ++acknowledged; }

  std::vector<std::string> sent;
  std::vector<tool_call> calls;
  int acknowledged = 0;
};

struct fixture {
  recorder owner;
  session client{owner, {"9.9", 100}};

  fixture() {
    client.receive(
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",)"
        R"("capabilities":{},"clientInfo":{"name":"t","version":"1"}}})");
    owner.sent.clear();
  }

  json::value ask(const std::string& method, const std::string& params = "{}") {
    owner.sent.clear();
    client.receive(R"({"jsonrpc":"2.0","id":7,"method":")" + method + R"(","params":)" + params +
                   "}");
    return owner.sent.empty() ? json::value{} : json::parse(owner.sent.front());
  }

  json::value answer_call(json::object structured) {
    client.receive(R"({"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"process",)"
                   R"("arguments":{"action":"list"}}})");
    owner.sent.clear();
    client.answered(owner.calls.back().number, {std::move(structured), false});
    return json::parse(owner.sent.front()).at("result").at("structuredContent");
  }
};

event ended(const std::string& process, int code = 0) {
  event x;
  x.sequence = 1;
  x.at = caf::make_timestamp();
  x.process = process;
  x.command = "make";
  x.output = "all of it\n";
  x.exit = exit_info{};
  x.exit->code = code;
  return x;
}

}  // namespace

TEST_CASE("a client that asked for nothing finds notices in its next answer, once") {
  fixture f;
  f.client.happened({ended("proc_a"), ended("proc_b", 3)});
  CHECK(f.owner.sent.empty());
  CHECK(f.owner.acknowledged == 0);
  const auto first = f.answer_call({{"processes", json::array{}}}).as_object();
  REQUIRE(first.contains("notices"));
  const auto& notices = first.at("notices").as_array();
  REQUIRE(notices.size() == 2);
  CHECK(notices[1].at("session_id") == "proc_b");
  CHECK(notices[1].at("exit_code") == 3);
  CHECK(f.owner.acknowledged == 1);
  CHECK_FALSE(f.answer_call({{"processes", json::array{}}}).as_object().contains("notices"));
}

TEST_CASE("an answer that shows the end itself needs no notice") {
  fixture f;
  f.client.happened({ended("proc_a")});
  const auto answer = f.answer_call(
      {{"session_id", "proc_a"}, {"status", "exited"}, {"completion_reason", "exited"}});
  CHECK_FALSE(answer.as_object().contains("notices"));
  CHECK(f.owner.acknowledged == 1);
}

TEST_CASE("notices come in portions and none is lost") {
  fixture f;
  std::vector<event> many;
  for (int i = 0; i < 50; ++i) many.push_back(ended("proc_" + std::to_string(i)));
  f.client.happened(many);
  std::size_t told = 0;
  for (int i = 0; i < 3; ++i) {
    CHECK(f.owner.acknowledged == 0);
    told += f.answer_call({}).at("notices").as_array().size();
  }
  CHECK(told == 50);
  CHECK(f.owner.acknowledged == 1);
}

TEST_CASE("a client that chose a level is told by log messages of that level") {
  fixture f;
  f.ask("logging/setLevel", R"({"level":"notice"})");
  f.owner.sent.clear();
  f.client.happened({ended("proc_a")});
  REQUIRE(f.owner.sent.size() == 1);
  const auto frame = json::parse(f.owner.sent[0]);
  CHECK(frame.at("method") == "notifications/message");
  CHECK(frame.at("params").at("level") == "notice");
  CHECK_THAT(std::string{frame.at("params").at("data").as_string()},
             ContainsSubstring("[IMPORTANT: Background process proc_a completed normally (exit "
                               "code 0)."));
  CHECK(f.owner.acknowledged == 1);
  f.ask("logging/setLevel", R"({"level":"error"})");
  f.owner.sent.clear();
  f.client.happened({ended("proc_b")});
  CHECK(f.owner.sent.empty());
  CHECK(f.answer_call({}).at("notices").as_array().size() == 1);
}

TEST_CASE("resources are listed, read and watched") {
  fixture f;
  f.ask("resources/list");
  REQUIRE(f.owner.calls.size() == 1);
  f.client.answered(
      f.owner.calls[0].number,
      {{{"processes", json::array{json::object{{"session_id", "proc_a"}, {"command", "make"}}}}},
       false});
  const auto list = json::parse(f.owner.sent.back()).at("result").at("resources").as_array();
  REQUIRE(list.size() == 2);
  CHECK(list[0].at("uri") == "troupe://events");
  CHECK(list[1].at("uri") == "troupe://process/proc_a");

  CHECK(f.ask("resources/subscribe", R"({"uri":"troupe://process/proc_a"})").at("result") ==
        json::object{});
  f.owner.sent.clear();
  f.client.happened({ended("proc_a")});
  REQUIRE(f.owner.sent.size() == 1);
  CHECK(json::parse(f.owner.sent[0]).at("method") == "notifications/resources/updated");
  CHECK(json::parse(f.owner.sent[0]).at("params").at("uri") == "troupe://process/proc_a");
  CHECK(f.owner.acknowledged == 1);

  const auto events = f.ask("resources/read", R"({"uri":"troupe://events"})");
  CHECK_THAT(std::string{events.at("result").at("contents").at(0).at("text").as_string()},
             ContainsSubstring("proc_a completed normally"));
  f.ask("resources/read", R"({"uri":"troupe://process/proc_a"})");
  f.client.answered(f.owner.calls.back().number, {{{"session_id", "proc_a"},
                                                   {"command", "make"},
                                                   {"output", "done"},
                                                   {"showing", "1 line"},
                                                   {"completion_reason", "exited"},
                                                   {"exit_code", 0}},
                                                  false});
  const auto text =
      json::parse(f.owner.sent.back()).at("result").at("contents").at(0).at("text").as_string();
  CHECK_THAT(std::string{text}, ContainsSubstring("done"));
  CHECK(f.ask("resources/read", R"({"uri":"file:///etc/passwd"})").at("error").at("code") ==
        -32002);
  CHECK(f.ask("resources/subscribe", R"({"uri":"x"})").at("error").at("code") == -32002);
  CHECK(f.ask("resources/unsubscribe", R"({"uri":"troupe://process/proc_a"})").at("result") ==
        json::object{});
  f.owner.sent.clear();
  f.client.happened({ended("proc_a")});
  CHECK(f.owner.sent.empty());
}

TEST_CASE("texts for a conversation name the signal and say what was held back") {
  auto x = ended("proc_a", 7);
  CHECK_THAT(tools::event_text(x), ContainsSubstring("exited (exit code 7)."));
  CHECK_THAT(tools::event_text(x), ContainsSubstring("Command: make\nOutput:\nall of it]"));
  x.exit->code.reset();
  x.exit->signal = 9;
  x.exit->reason = finish_reason::killed;
  x.exit->source = "process.kill";
  CHECK_THAT(tools::event_text(x), ContainsSubstring("terminated by process.kill (signal 9, "));
  x.kind = event_kind::watch_match;
  x.exit.reset();
  x.pattern = "ERR";
  x.held_back = 1'234;
  CHECK_THAT(tools::event_text(x), ContainsSubstring("1,234 more matching lines"));
}

// -- tasks ----------------------------------------------------------------------------------------

TEST_CASE("a background command as a task lasts as long as its process") {
  fixture f;
  const auto created =
      f.ask("tools/call", R"({"name":"terminal","arguments":{"command":"make","background":true},)"
                          R"("task":{"ttl":60000}})");
  const auto task = created.at("result").at("task").as_object();
  CHECK(task.at("status") == "working");
  CHECK(task.at("ttl") == 60000);
  const std::string id{task.at("taskId").as_string()};
  REQUIRE(f.owner.calls.size() == 1);
  f.client.answered(f.owner.calls[0].number,
                    {{{"session_id", "proc_a"}, {"pid", 1}, {"exit_code", 0}}, false});
  REQUIRE(f.owner.calls.size() == 2);
  CHECK(f.owner.calls[1].tool == "process");
  const auto params = R"({"taskId":")" + id + "\"}";
  CHECK(f.ask("tasks/get", params).at("result").at("status") == "working");
  CHECK(f.ask("tasks/list").at("result").at("tasks").as_array().size() == 1);
  CHECK(f.ask("tasks/result", params).is_null());  // waits
  f.client.answered(f.owner.calls[1].number,
                    {{{"session_id", "proc_a"}, {"status", "timeout"}}, false});
  REQUIRE(f.owner.calls.size() == 3);
  CHECK(f.owner.sent.empty());
  f.client.answered(f.owner.calls[2].number,
                    {{{"session_id", "proc_a"}, {"status", "exited"}, {"exit_code", 3}}, false});
  REQUIRE(f.owner.sent.size() == 2);
  CHECK(json::parse(f.owner.sent[0]).at("method") == "notifications/tasks/status");
  const auto result = json::parse(f.owner.sent[1]).at("result");
  CHECK(result.at("structuredContent").at("exit_code") == 3);
  CHECK(
      std::string{
          result.at("_meta").at("io.modelcontextprotocol/related-task").at("taskId").as_string()} ==
      id);
  CHECK(f.ask("tasks/get", params).at("result").at("status") == "completed");
  CHECK(f.ask("tasks/cancel", params).at("error").at("code") == -32602);
}

TEST_CASE("a cancelled task is ended and stays cancelled") {
  fixture f;
  const auto created =
      f.ask("tools/call",
            R"({"name":"terminal","arguments":{"command":"x","background":true},"task":{}})");
  const std::string id{created.at("result").at("task").at("taskId").as_string()};
  f.client.answered(f.owner.calls[0].number, {{{"session_id", "proc_a"}}, false});
  const auto params = R"({"taskId":")" + id + "\"}";
  f.owner.sent.clear();
  f.ask("tasks/cancel", params);
  CHECK(json::parse(f.owner.sent.back()).at("result").at("status") == "cancelled");
  REQUIRE(f.owner.calls.size() == 3);
  CHECK(f.owner.calls[2].arguments.find("action")->text == "kill");
  f.client.answered(f.owner.calls[1].number, {{{"status", "interrupted"}}, false});
  CHECK(f.ask("tasks/get", params).at("result").at("status") == "cancelled");
  CHECK(f.ask("tasks/result", params).at("error").at("code") == -32000);
  CHECK(f.ask("tasks/get", R"({"taskId":"nope"})").at("error").at("code") == -32602);
  CHECK(f.ask("tools/call", R"({"name":"process","arguments":{"action":"list"},"task":{}})")
            .at("error")
            .at("code") == -32601);
}

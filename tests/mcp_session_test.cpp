// The protocol without threads and processes: frames in, frames out.
#include <random>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "troupe/frontends/mcp/line_splitter.hpp"
#include "troupe/frontends/mcp/session.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe::mcp;
namespace json = boost::json;

namespace {

struct recorder : session_owner {
  void send(std::string frame) override { sent.push_back(std::move(frame)); }
  void start(tool_call call) override { calls.push_back(std::move(call)); }
  void interrupt(call_number number) override { interrupted.push_back(number); }

  std::vector<std::string> sent;
  std::vector<tool_call> calls;
  std::vector<call_number> interrupted;
};

struct fixture {
  recorder owner;
  session client{owner, {"9.9", 4}};

  explicit fixture(const std::string& version = "2025-11-25") {
    if (version.empty()) return;
    client.receive(
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + version +
        R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})");
    client.receive(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  }

  /// What is sent for one line: exactly one frame.
  json::value reply(const std::string& line) {
    owner.sent.clear();
    client.receive(line);
    INFO(line);
    REQUIRE(owner.sent.size() == 1);
    return json::parse(owner.sent.front());
  }

  int error_code(const std::string& line) {
    auto x = reply(line);
    return static_cast<int>(x.at("error").at("code").as_int64());
  }

  void call(const std::string& id, const std::string& extra = {}) {
    client.receive(R"({"jsonrpc":"2.0","id":)" + id +
                   R"(,"method":"tools/call","params":{"name":"terminal","arguments":)"
                   R"({"command":"x"})" +
                   extra + "}}");
  }
};

troupe::tools::tool_answer answer() {
  return {{{"output", "hi"}, {"exit_code", 0}}, false};
}

}  // namespace

TEST_CASE("the version is negotiated") {
  for (const char* known : {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
    fixture f{known};
    auto x = json::parse(f.owner.sent.at(0));
    CHECK(x.at("result").at("protocolVersion") == known);
    CHECK(x.at("result").at("serverInfo").at("name") == "troupe");
    CHECK(x.at("result").at("serverInfo").at("version") == "9.9");
  }
  fixture f{"1999-01-01"};
  CHECK(json::parse(f.owner.sent.at(0)).at("result").at("protocolVersion") == "2025-11-25");
}

TEST_CASE("what a version does not know is not sent") {
  fixture old{"2024-11-05"};
  auto tools = old.reply(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  auto tool = tools.at("result").at("tools").at(0).as_object();
  CHECK_FALSE(tool.contains("annotations"));
  CHECK_FALSE(tool.contains("outputSchema"));
  CHECK_FALSE(tool.contains("title"));
  old.call("2", R"(,"_meta":{"progressToken":"p"})");
  old.client.progressed(1, 5, "out");
  CHECK_FALSE(json::parse(old.owner.sent.back()).at("params").as_object().contains("message"));
  old.client.answered(1, answer());
  auto result = json::parse(old.owner.sent.back()).at("result").as_object();
  CHECK_FALSE(result.contains("structuredContent"));
  CHECK(result.at("content").at(0).at("text") == R"({"output":"hi","exit_code":0})");
  fixture middle{"2025-03-26"};
  auto list = middle.reply(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}})");
  CHECK(list.at("result").at("tools").at(0).as_object().contains("annotations"));
  CHECK_FALSE(list.at("result").at("tools").at(0).as_object().contains("outputSchema"));
}

TEST_CASE("bad frames get the exact error") {
  fixture f;
  CHECK(f.error_code("{") == -32700);
  CHECK(f.error_code("\xff") == -32700);
  CHECK(f.error_code("nonsense") == -32700);
  CHECK(f.error_code(std::string(10'000, '[')) == -32700);
  CHECK(f.error_code("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x") == -32700);
  CHECK(f.error_code("1") == -32600);
  CHECK(f.error_code("[]") == -32600);
  CHECK(f.error_code("[1]") == -32600);
  CHECK(f.error_code("{}") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"1.0","id":1,"method":"ping"})") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":null,"method":"ping"})") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":{},"method":"ping"})") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":7})") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1})") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":3})") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]})") == -32602);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":"nope"})") == -32601);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}})") ==
        -32602);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})") == -32602);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)"
                     R"({"name":"terminal","arguments":[]}})") == -32602);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":)"
                     R"({"level":"loud"}})") == -32602);
  f.owner.sent.clear();
  f.client.oversized(100);
  CHECK(json::parse(f.owner.sent.at(0)).at("error").at("code") == -32600);
  CHECK(f.owner.calls.empty());
}

TEST_CASE("ids are echoed exactly, and unusable ones are null") {
  fixture f;
  for (const char* id :
       {"1", "-7", "\"x\"", "\"ü\\n\"", "\"\"", "123456789012345678901234567890123456789"}) {
    f.owner.sent.clear();
    f.client.receive(std::string{R"({"jsonrpc":"2.0","id":)"} + id + R"(,"method":"ping"})");
    CHECK(f.owner.sent.at(0) == std::string{R"({"jsonrpc":"2.0","id":)"} + id + R"(,"result":{}})");
  }
  CHECK(f.reply("{").at("id").is_null());
  CHECK(f.reply(R"({"jsonrpc":"1.0","id":"a","method":"ping"})").at("id") == "a");
}

TEST_CASE("notifications, responses and blank lines are never answered") {
  fixture f;
  f.owner.sent.clear();
  for (const char* line :
       {"", "  \r", R"({"jsonrpc":"2.0","method":"nope"})",
        R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"terminal"}})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
        R"({"jsonrpc":"2.0","id":5,"result":{}})",
        R"({"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}})"}) {
    f.client.receive(line);
  }
  CHECK(f.owner.sent.empty());
  CHECK(f.owner.calls.empty());
}

TEST_CASE("before initialize only ping is answered") {
  fixture f{""};
  CHECK(f.reply(R"({"jsonrpc":"2.0","id":1,"method":"ping"})").as_object().contains("result"));
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})") == -32600);
  CHECK(f.error_code(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])") == -32600);
  CHECK(f.error_code(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})") == -32602);
}

TEST_CASE("calls are answered in any order, and an id in use is refused") {
  fixture f;
  f.call("1");
  f.call("\"1\"");
  REQUIRE(f.owner.calls.size() == 2);
  CHECK(f.owner.calls[0].arguments.find("command")->text == "x");
  f.owner.sent.clear();
  f.call("1");
  CHECK(json::parse(f.owner.sent.at(0)).at("error").at("code") == -32600);
  CHECK(f.owner.calls.size() == 2);
  f.client.answered(f.owner.calls[1].number, answer());
  CHECK(json::parse(f.owner.sent.back()).at("id") == "1");
  f.client.answered(f.owner.calls[0].number, answer());
  auto last = json::parse(f.owner.sent.back());
  CHECK(last.at("id") == 1);
  CHECK(last.at("result").at("structuredContent").at("output") == "hi");
  CHECK(last.at("result").at("isError") == false);
  f.call("1");
  CHECK(f.owner.calls.size() == 3);
}

TEST_CASE("there is a bound on calls under way") {
  fixture f;
  for (int i = 1; i <= 4; ++i) f.call(std::to_string(i));
  f.owner.sent.clear();
  f.call("5");
  CHECK(json::parse(f.owner.sent.at(0)).at("error").at("code") == -32000);
}

TEST_CASE("a cancelled call is interrupted and never answered, and its id is free") {
  fixture f;
  f.call("1", R"(,"_meta":{"progressToken":9})");
  f.owner.sent.clear();
  f.client.receive(
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  REQUIRE(f.owner.interrupted == std::vector<call_number>{f.owner.calls[0].number});
  f.call("1");
  f.client.progressed(f.owner.calls[0].number, 3, "x");
  f.client.answered(f.owner.calls[0].number, answer());
  CHECK(f.owner.sent.empty());
  f.client.answered(f.owner.calls[1].number, answer());
  CHECK(f.owner.sent.size() == 1);
  CHECK(f.client.under_way() == 0);
}

TEST_CASE("progress goes to calls that asked for it and always increases") {
  fixture f;
  f.call("1");
  f.call("2", R"(,"_meta":{"progressToken":12345678901234567890123})");
  CHECK_FALSE(f.owner.calls[0].wants_progress);
  CHECK(f.owner.calls[1].wants_progress);
  f.owner.sent.clear();
  f.client.progressed(f.owner.calls[0].number, 1, "x");
  CHECK(f.owner.sent.empty());
  f.client.progressed(f.owner.calls[1].number, 10, "ten");
  f.client.progressed(f.owner.calls[1].number, 10, "again");
  REQUIRE(f.owner.sent.size() == 2);
  CHECK(f.owner.sent[0] ==
        R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)"
        R"(12345678901234567890123,"progress":10,"message":"ten"}})");
  CHECK(f.owner.sent[1].find(R"("progress":11,)") != std::string::npos);
}

TEST_CASE("batches exist in one version, and are answered together") {
  const std::string batch =
      R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7,)"
      R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"process"}}])";
  fixture f{"2025-03-26"};
  f.owner.sent.clear();
  f.client.receive(batch);
  CHECK(f.owner.sent.empty());
  f.client.answered(f.owner.calls.at(0).number, answer());
  REQUIRE(f.owner.sent.size() == 1);
  CHECK(json::parse(f.owner.sent[0]).as_array().size() == 3);
  f.owner.sent.clear();
  f.client.receive(R"([{"jsonrpc":"2.0","method":"x"}])");
  CHECK(f.owner.sent.empty());
  fixture other{"2025-06-18"};
  CHECK(other.error_code(batch) == -32600);
}

TEST_CASE("log messages follow the level that was set") {
  fixture f;
  f.owner.sent.clear();
  f.client.log(log_level::info, "quiet");
  CHECK(f.owner.sent.empty());
  f.reply(R"({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}})");
  f.owner.sent.clear();
  f.client.log(log_level::info, "heard");
  CHECK(json::parse(f.owner.sent.at(0)).at("params").at("data") == "heard");
}

TEST_CASE("random frames never crash") {
  std::mt19937 random{7};
  const std::string seed =
      R"([{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"terminal","arguments":)"
      R"({"command":"x"},"_meta":{"progressToken":1}}}])";
  for (int i = 0; i < 20'000; ++i) {
    fixture f{i % 2 ? "2025-03-26" : "2025-11-25"};
    auto line = i % 3 ? seed : seed.substr(1, seed.size() - 2);
    for (auto n = random() % 5; n > 0; --n)
      line[random() % line.size()] = static_cast<char>(random());
    f.client.receive(line);
  }
}

TEST_CASE("lines are split whatever the reads are, and too long ones are thrown away") {
  for (std::size_t step : {1u, 2u, 3u, 100u}) {
    line_splitter splitter{5};
    std::string stream = "ab\n\n123456789\nabcde\nlast";
    std::string seen;
    int oversized = 0;
    auto on_line = [&](std::string_view line) { seen += "<" + std::string{line} + ">"; };
    for (std::size_t i = 0; i < stream.size(); i += step) {
      splitter.feed(std::string_view{stream}.substr(i, step), on_line, [&] { ++oversized; });
    }
    splitter.finish(on_line);
    CHECK(seen == "<ab><><abcde><last>");
    CHECK(oversized == 1);
  }
}

// What a call of the terminal tool means, without running anything: refusals with the corrected call,
// promotion, options of background processes.
#include <string>

#include "troupe/frontends/tools/terminal_plan.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;
using namespace troupe::tools;
using Catch::Matchers::ContainsSubstring;

namespace {

std::variant<terminal_plan, terminal_refusal> plan(const std::string& text, bool events = true) {
  auto parsed = parse_json(text);
  REQUIRE(std::holds_alternative<json_value>(parsed));
  auto checked = validate(terminal_tool(), std::get<json_value>(parsed));
  INFO(checked.error);
  REQUIRE(checked.ok());
  return plan_terminal(checked.values, options{}, events);
}

std::string refusal(const std::string& text) {
  auto result = plan(text);
  auto* refused = std::get_if<terminal_refusal>(&result);
  return refused ? refused->text : std::string{};
}

terminal_plan accepted(const std::string& text, bool events = true) {
  auto result = plan(text, events);
  if (auto* refused = std::get_if<terminal_refusal>(&result)) FAIL(refused->text);
  return std::get<terminal_plan>(result);
}

}  // namespace

TEST_CASE("a foreground command gets the default time") {
  auto p = accepted(R"({"command":"true"})");
  CHECK(p.request.foreground);
  CHECK(p.request.timeout == caf::timespan{std::chrono::seconds{180}});
  CHECK_FALSE(p.request.stdin_pipe);
  CHECK(p.notes.empty());
}

TEST_CASE("background-only options in the foreground are refused with the corrected call") {
  for (const char* option : {R"("notify":true)", R"("watch_patterns":["x"])", R"("heartbeat":90)",
                             R"("persist_on_release":true)", R"("pty":true)", R"("stdin":true)"}) {
    auto text = refusal(std::string{R"({"command":"make",)"} + option + "}");
    CHECK_THAT(text, ContainsSubstring(R"("background":true)"));
    CHECK_THAT(text, ContainsSubstring(option));
  }
  CHECK(refusal(R"({"command":"x","notify":false,"heartbeat":0,"watch_patterns":[]})").empty());
}

TEST_CASE("detaching commands and servers are refused, before promotion") {
  CHECK_THAT(refusal(R"({"command":"nohup make"})"), ContainsSubstring(R"({"command":"make")"));
  CHECK_THAT(refusal(R"({"command":"make &"})"), ContainsSubstring(R"({"command":"make")"));
  CHECK_FALSE(refusal(R"({"command":"npm run dev","timeout":5000})").empty());
  CHECK(refusal(R"({"command":"npm run dev --help"})").empty());
  CHECK(refusal(R"({"command":"npm run dev","background":true})").empty());
}

TEST_CASE("a timeout above the cap is promoted, once, and says so") {
  auto p = accepted(R"({"command":"make","timeout":601})");
  CHECK_FALSE(p.request.foreground);
  CHECK(p.request.notify);
  auto note = std::string{p.notes.at("promoted_from_foreground").as_string()};
  CHECK_THAT(note, ContainsSubstring("601") && ContainsSubstring("600") &&
                       ContainsSubstring("do not run it again"));
  CHECK(accepted(R"({"command":"make","timeout":600})").request.foreground);
  auto quiet = accepted(R"({"command":"make","timeout":601})", false);
  CHECK_FALSE(quiet.request.notify);
}

TEST_CASE("timeouts that are not positive are errors") {
  CHECK(refusal(R"({"command":"x","timeout":0})") == "timeout must be positive (got 0)");
  CHECK(refusal(R"({"command":"x","timeout":-3})") == "timeout must be positive (got -3)");
  CHECK(refusal(R"({"command":"x","timeout":-0.5,"background":true})") ==
        "timeout must be positive (got -0.5)");
}

TEST_CASE("a working directory has only characters that need no quoting anywhere") {
  for (const char* good : {"/tmp/a b", "~/x", "C:\\x", "/ünïcode/日本", "/a+b@c=d,e-f_g.h"}) {
    INFO(good);
    CHECK(bad_workdir_character(good).empty());
  }
  CHECK(bad_workdir_character("/tmp/$(x)") == "'$' (U+0024)");
  CHECK(bad_workdir_character("/tmp/a;b") == "';' (U+003B)");
  CHECK(bad_workdir_character("/tmp/a\nb") == "U+000A");
  CHECK(bad_workdir_character("/tmp/\u2028") == "'\u2028' (U+2028)");
  CHECK_THAT(refusal(R"({"command":"x","workdir":"/a|b"})"), ContainsSubstring("'|'"));
}

TEST_CASE("background options are kept where events can be received, else dropped and said so") {
  const std::string call =
      R"({"command":"x","background":true,"notify":true,"watch_patterns":["e"],"heartbeat":5})";
  auto p = accepted(call);
  CHECK(p.request.notify);
  CHECK(p.request.watch_patterns == std::vector<std::string>{"e"});
  CHECK(p.request.heartbeat_seconds == 60);
  CHECK(p.notes.contains("heartbeat_note"));
  auto dropped = accepted(call, false);
  CHECK_FALSE(dropped.request.notify);
  CHECK(dropped.request.watch_patterns.empty());
  CHECK(dropped.request.heartbeat_seconds == 0);
  CHECK(dropped.notes.contains("notify_unsupported"));
  CHECK(accepted(R"({"command":"x","background":true})").notes.contains("hint"));
  CHECK(accepted(R"({"command":"x","background":true,"heartbeat":60})").request.notify);
}

TEST_CASE("stdin is text with an end, or a pipe that stays open") {
  auto text = accepted(R"({"command":"cat","stdin":"abc"})");
  CHECK(text.request.stdin_data == "abc");
  CHECK(text.request.stdin_close);
  auto open = accepted(R"({"command":"cat","stdin":true,"background":true})");
  CHECK(open.request.stdin_pipe);
  CHECK_FALSE(open.request.stdin_close);
}

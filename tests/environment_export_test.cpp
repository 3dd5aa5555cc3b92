// Values of exported variables, as bash writes them and as we read them.
#include "troupe/actors/shell_state.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("statements of export -p give the value bash meant") {
  CHECK(exported_value("declare -x A=\"plain\"") == "plain");
  CHECK(exported_value("declare -x A=\"\"") == "");
  CHECK(exported_value(R"(declare -x A="a \"b\" \$c \`d\` \\ e")") == R"(a "b" $c `d` \ e)");
  CHECK(exported_value("declare -x A=\"two\nlines\"") == "two\nlines");
  CHECK(exported_value(R"(declare -x A=$'tab\there\n\'q\' \\ \377 \E[0m')") ==
        "tab\there\n'q' \\ \xff \033[0m");
  // Whatever has another form is left to bash.
  for (const char* other : {"declare -x A", "declare -rx A=\"1\"", "declare -ax A=([0]=\"x\")",
                            "export A=\"1\"", "declare -x A=\"open", "declare -x A=$'\\cX'",
                            "declare -x A=\"a\"$'b'", "declare -x A=bare"}) {
    CHECK_FALSE(exported_value(other));
  }
}

TEST_CASE("a shell is started with what the last one exported, and with nothing else") {
  shell_state state;
  state.set_base({"NODE=1", "SHLVL=3"});
  CHECK(state.env() == std::vector<std::string>{"NODE=1", "SHLVL=3"});
  shell_report report;
  report.exports = "declare -x B=\"2\"\ndeclare -rx R=\"3\"\ndeclare -x SECRET=\"x\"\n";
  const auto excluded = [](std::string_view name) { return name == "SECRET"; };
  CHECK(state.update(report, excluded));
  CHECK(state.env() == std::vector<std::string>{"SHLVL=3", "B=2"});
  CHECK(state.prelude().find("declare -rx R=\"3\"\n") != std::string::npos);
  CHECK(state.prelude().find("SECRET") == std::string::npos);
  const auto generation = state.generation();
  CHECK_FALSE(state.update(report, excluded));
  CHECK(state.generation() == generation);
}

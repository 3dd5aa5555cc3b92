// Reports in the output of a command: what shells leave comes back, and nobody sees how.
#include <algorithm>

#include "troupe/actors/shell_scripts.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"
#include "troupe/tests/support/scratch_home.hpp"
#include "troupe/text/quote.hpp"

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

options in_band() {
  auto opts = host::quick_options();
  opts.environments.emplace_back().report = report_channel::in_band;
  return opts;
}

}  // namespace

TEST_CASE("a report comes back whatever the command does with its output") {
  host h{in_band()};
  int number = 0;
  for (const std::string tail : {"",
                                 "exit 3",
                                 "exec >/dev/null",
                                 "exec >/dev/null; exit 3",
                                 "exec 1>&-",
                                 "exec 1>&-; exit 3",
                                 "exec 1>&- 2>&-",
                                 "set -e; false",
                                 "f() { exit 4; }; f",
                                 "f() { exit 4; } >/dev/null; f",
                                 "{ { exit 4; } 2>/dev/null; } >/dev/null",
                                 "g() { exec >/dev/null; exit 5; }; g",
                                 "set -u; echo $not_there",
                                 "exec 8>/dev/null 9>/dev/null",
                                 "exec 8>&- 9>&-; exit 2",
                                 "f() { exec 8>/dev/null 9>/dev/null; exit 6; }; f",
                                 "exec {x}>/dev/null {y}>/dev/null",
                                 "f() { exec {x}>/dev/null; exit 7; }; f",
                                 "set -o posix",
                                 "set -T; trap true DEBUG",
                                 "shopt -s extdebug; trap 'exit 5' ERR",
                                 "trap true EXIT",
                                 "set -o noclobber; cd /",
                                 "echo -n no line feed",
                                 "printf 'a\\0b'",
                                 "(exec >/dev/null; exit 3)",
                                 "return 3"}) {
    INFO(tail);
    const auto value = std::to_string(++number);
    const auto result = h.run("export N=" + value + "; " + tail);
    CHECK(result.output.find("troupe") == std::string::npos);
    CHECK(h.run("echo $N; set +o posix").output == value + "\n");
  }
  // Neither exec nor a kill leaves anything, nor loses what was there.
  for (const std::string tail : {"exec true", "kill -9 $$"}) {
    h.run("export N=0; " + tail);
    CHECK(h.run("echo $N").output == std::to_string(number) + "\n");
  }
}

TEST_CASE("output is exact to the byte, whatever reports do") {
  host h{in_band()};
  for (const std::string command :
       {"true", "echo -n x", "printf 'a\\036troupe:b{\\t\\nc\\036troupe:b}'", "printf '\\036'",
        "printf '\\036troupe:'"}) {
    INFO(command);
    const auto result = h.run(command);
    auto side = host::quick_options();
    host other{side};
    const auto expected = other.run(command);
    CHECK(result.output == expected.output);
    CHECK(result.output_total_bytes == expected.output_total_bytes);
  }
  CHECK(h.run("head -c 10000000 /dev/zero").output_total_bytes == 10'000'000);
}

TEST_CASE("the number of a report is nowhere where the command looks") {
  host h{in_band()};
  // The report of a function that prints everything it sees is as good a witness as any.
  for (const std::string look :
       {"set; declare -p; declare -f; trap -p", "env", "tr '\\0' ' ' </proc/$$/cmdline",
        "tr '\\0' '\\n' </proc/$$/environ", "echo $_ $BASH_COMMAND $BASH_EXECUTION_STRING",
        "bash -c 'for f in /proc/self/fd/*; do readlink $f; done' | grep -c pipe",
        "bash -c 'for i in {3..60}; do { cat <&$i; } 2>/dev/null; done'", "fc -l; history",
        "set -T; trap 'declare -p' DEBUG; true", "trap 'declare -p' EXIT", "jobs -l; times"}) {
    INFO(look);
    const auto output = h.run("eval " + text::shell_quote(look) + " 2>&1").output;
    // 32 hex digits in a row are nothing else in these places.
    std::size_t run = 0;
    std::size_t longest = 0;
    for (const char c : output) {
      run = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    CHECK(longest < 32);
  }
  CHECK(make_report_marker().size() == 32);
  CHECK(make_report_marker() != make_report_marker());
}

TEST_CASE("reports pass through a terminal") {
  host h{in_band()};
  const auto on_terminal = [](spawn_request& r) { r.pty = true; };
  CHECK(
      h.run("cd /tmp; export V=$'a\\nb\\r\\nc\\td\\e[6n'; f() {\necho f\n}; echo out", on_terminal)
          .output == "out\r\n");
  CHECK(h.run("[[ $V == $'a\\nb\\r\\nc\\td\\e[6n' ]] && echo same; f; pwd").output ==
        "same\nf\n/tmp\n");
  CHECK(h.run("stty -opost; export V=$'x\\r\\ny'; cd /usr; echo out", on_terminal).output ==
        "out\n");
  CHECK(h.run("[[ $V == $'x\\r\\ny' ]] && pwd").output == "/usr\n");
  // A terminal that changes what it is given makes a report that is not believed.
  h.run("stty tab3; export V=lost; cd /tmp", on_terminal);
  CHECK(h.run("[[ $V == $'x\\r\\ny' ]] && pwd").output == "/usr\n");
}

TEST_CASE("a descendant that holds the output does not delay the report") {
  host h{in_band()};
  const auto result = h.run("sleep 600 & export A=1; cd /tmp");
  CHECK(result.cwd == "/tmp");
  CHECK(result.process.exit->descendants.size() == 1);
  CHECK(h.run("echo $A").output == "1\n");
  h.kill(result.process.id);
}

TEST_CASE("a host is told what an environment could not do") {
  const auto report = GENERATE(report_channel::side, report_channel::in_band);
  CAPTURE(report == report_channel::in_band);
  auto opts = host::quick_options();
  opts.environments.emplace_back().report = report;
  opts.environments.back().snapshot_limit = std::chrono::milliseconds{200};
  const auto events_of = [](host& h) {
    drain_request ask;
    ask.from.session = h.who.session;
    ask.wait = std::chrono::seconds{30};
    return h.ask<drain_result>(drain_atom_v, ask).events;
  };
  SECTION("a login shell that does not end") {
    const scratch_home home{"sleep 600"};
    host h{opts};
    h.run("true");
    const auto events = events_of(h);
    REQUIRE(events.size() == 1);
    CHECK(events[0].kind == event_kind::environment);
    CHECK(events[0].owner.session == h.who.session);
    CHECK_THAT(events[0].note, ContainsSubstring("did not end within 200 ms"));
  }
  SECTION("a login shell that becomes something else") {
    const scratch_home home{"exec true"};
    host h{opts};
    h.run("true");
    const auto events = events_of(h);
    REQUIRE(events.size() == 1);
    CHECK_THAT(events[0].note, ContainsSubstring("without saying"));
  }
  SECTION("a report that is not complete") {
    const scratch_home home{""};
    host h{opts};
    h.run("export A=1");
    const auto result =
        report == report_channel::side
            ? h.run("trap '' XFSZ; export A=2; ulimit -f 0")
            : h.run("export A=2; stty tab3", [](spawn_request& r) { r.pty = true; });
    const auto events = events_of(h);
    REQUIRE(events.size() == 1);
    CHECK(events[0].kind == event_kind::environment);
    CHECK(events[0].process == result.process.id);
    CHECK_THAT(events[0].note, ContainsSubstring("could not be read"));
    CHECK(h.run("echo $A").output == "1\n");
  }
}

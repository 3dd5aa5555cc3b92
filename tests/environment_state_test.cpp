// Commands that remember where they are: what one leaves, the next one finds.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"
#include "troupe/tests/support/scratch_home.hpp"

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

options with(std::function<void(environment_options&)> adjust) {
  auto opts = host::quick_options();
  opts.environments.emplace_back();
  adjust(opts.environments.back());
  return opts;
}

/// All tests of this file hold for cold and for warm shells, and for both ways to report.
struct kind {
  std::size_t warm;
  report_channel report;
};

options of_kind(const kind& what) {
  return with([&](environment_options& e) {
    e.warm_shells = what.warm;
    e.report = what.report;
  });
}

std::vector<kind> all_kinds() {
  return {{0, report_channel::side},
          {2, report_channel::side},
          {0, report_channel::in_band},
          {2, report_channel::in_band}};
}

std::ostream& operator<<(std::ostream& out, const kind& what) {
  return out << (what.warm > 0 ? "warm" : "cold")
             << (what.report == report_channel::side ? " side" : " in_band");
}

}  // namespace

TEST_CASE("variables, functions, aliases and the directory are carried on") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  const auto first =
      h.run("export A=1; cd /tmp; f() { echo f-$A; }; alias g='echo alias'; set -e; exit 5");
  CHECK(first.process.exit->code == 5);
  REQUIRE(first.cwd);
  CHECK(*first.cwd == "/tmp");
  const auto second = h.run("echo $A; pwd; f; g");
  CHECK(second.output == "1\n/tmp\nf-1\nalias\n");
  CHECK_FALSE(second.cwd);
  CHECK(second.process.exit->code == 0);
  // A failing last command, an exec, a kill or a syntax error lose nothing.
  CHECK(h.run("export B=2; exec sh -c 'exit 3'").process.exit->code == 3);
  CHECK(h.run("kill -9 $$").process.exit->signal == 9);
  const auto broken = h.run("echo 'oops");
  CHECK(broken.process.exit->code == 2);
  CHECK_THAT(broken.output, ContainsSubstring("unexpected EOF"));
  CHECK(h.run("echo $A-$B; pwd; f").output == "1-\n/tmp\nf-1\n");
}

TEST_CASE("nothing the user names like a builtin gets in the way") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  h.run(
      "cd() { echo mycd; }; pwd() { echo mypwd; }; exit() { echo myexit; }; "
      "printf() { echo no; }; export() { echo no; }; alias set='echo no' trap='echo no' eval='echo "
      "no'");
  const auto result = h.run("pwd; builtin cd /usr; declare -x Z=9; exit 3; echo still here");
  CHECK(result.output == "mypwd\nmyexit\nstill here\n");
  CHECK(result.cwd == "/usr");
  CHECK(h.run("builtin pwd; echo $Z").output == "/usr\n9\n");
}

TEST_CASE("values of every kind survive") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  h.run(R"(export V=$'a\nb"c`d$(x)\'\\e\377'; export W="declare -x EVIL=\"1\"
declare -x EVIL=\"2\"")");
  CHECK(h.run(R"([[ $V == $'a\nb"c`d$(x)\'\\e\377' ]] && echo same; echo "${EVIL-none}")").output ==
        "same\nnone\n");
  h.run("readonly R=1; export R");
  CHECK(h.run("echo $R").output == "1\n");
  CHECK(h.run("echo $R").output == "1\n");
  h.run("for i in $(seq 1 2000); do export \"MANY_$i=value $i\"; done");
  CHECK(h.run("echo $MANY_1-$MANY_2000").output == "value 1-value 2000\n");
}

TEST_CASE("a variable of the node that was unset stays unset") {
  ::setenv("OF_THE_NODE", "there", 1);
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  CHECK(h.run("echo ${OF_THE_NODE-none}").output == "there\n");
  h.run("unset OF_THE_NODE");
  CHECK(h.run("echo ${OF_THE_NODE-none}").output == "none\n");
  // A variable given with one command freezes no other.
  h.run("export PATH=/usr/bin:/bin", [](spawn_request& r) { r.env = {"MY_PATH=x"}; });
  CHECK(h.run("echo $PATH").output == "/usr/bin:/bin\n");
  ::unsetenv("OF_THE_NODE");
}

TEST_CASE("settings of the user's shell do not break the next one") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  h.run("export KEPT=yes; cd /tmp");
  for (const std::string command :
       {"set -u", "set -x", "IFS=x", "PATH=", "shopt -s nullglob extglob; set -f",
        "set -o noclobber", "trap 'true' DEBUG ERR", "set -o posix", "set -n", "unset HOME",
        "exec 1>/dev/null", "BASH_ENV=/nonexistent; export BASH_ENV", "unset PWD", "umask 777",
        "ulimit -f 0"}) {
    INFO(command);
    h.run(command);
    CHECK(h.run("export PATH=/usr/bin:/bin; echo $KEPT; pwd").output == "yes\n/tmp\n");
  }
}

TEST_CASE("what a command finds does not depend on whether its shell needs the whole state") {
  // Commands that can leave nothing behind get a shell without our functions (`text::plain`).
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  const scratch_home scratch{""};
  host h{of_kind(what)};
  const auto plain_code = [&](const std::string& command) {
    return h.run(command).process.exit->code;
  };
  CHECK(plain_code("true") == 0);
  CHECK(plain_code("false || ls /nonexistent") == 2);
  const auto piped = h.run("false | true | sh -c 'exit 3'");
  CHECK(piped.process.exit->code == 3);
  CHECK(piped.pipestatus == std::vector<std::int32_t>{1, 0, 3});
  CHECK(h.run("false | true", [](spawn_request& r) { r.pipefail = true; }).process.exit->code == 1);
  CHECK(h.run("echo $TROUPE_PROCESS").output.starts_with("proc_"));

  SECTION("a function or an alias of the name of a program") {
    h.run("ls() { export BY=function; }; alias id='export BY=alias'; alias -- -x=true");
    h.run("ls");
    CHECK(h.run("echo $BY").output == "function\n");
    h.run("id");
    CHECK(h.run("echo $BY").output == "alias\n");
    h.run("unset -f ls; unalias id; true() { echo mine; }");
    CHECK(h.run("true").output == "mine\n");
    CHECK_THAT(h.run("id").output, ContainsSubstring("uid="));
  }
  SECTION("what is called for unknown commands, and what programs inherit") {
    h.run(
        "command_not_found_handle() { echo no $1; return 9; }; g() { echo exported; }; export -f "
        "g");
    CHECK(h.run("nothing-of-this-name").output == "no nothing-of-this-name\n");
    CHECK(h.run("bash -c g").output == "exported\n");
  }
  SECTION("variables with attributes") {
    h.run("declare -ix N=5; declare -rx R=6");
    CHECK(h.run("echo $N $R").output == "5 6\n");
    CHECK(h.run("sh -c 'echo $N $R'").output == "5 6\n");
  }
  SECTION("a shell that its environment turns into another one") {
    const auto file = (scratch.path / "first").string();
    h.run("echo 'ls() { export BY=file; }' > " + file + "; export BASH_ENV=" + file);
    h.run("ls");
    CHECK(h.run("echo $BY").output == "file\n");
  }
  SECTION("a directory by another name") {
    fs::create_directory(scratch.path / "d");
    const auto into = [&](const char* name) {
      return [at = (scratch.path / name).string()](spawn_request& r) { r.workdir = at; };
    };
    CHECK(h.run("pwd", into("d")).output == (scratch.path / "d").string() + "\n");
    CHECK(h.run("pwd", into("d/../d/")).output == (scratch.path / "d").string() + "\n");
  }
}

TEST_CASE("a directory that has gone is replaced by its nearest ancestor, and said so") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  const scratch_home scratch{""};
  const auto deep = (scratch.path / "one" / "two").string();
  h.run("mkdir -p '" + deep + "'; cd '" + deep + "'");
  fs::remove_all(deep);
  const auto result = h.run("pwd");
  CHECK(result.output == (scratch.path / "one").string() + "\n");
  CHECK_THAT(result.cwd_note, ContainsSubstring(deep));
  CHECK(result.cwd == (scratch.path / "one").string());
}

TEST_CASE("a directory given with the command is not remembered") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  h.run("cd /usr");
  const auto elsewhere = h.run("pwd; cd /", [](spawn_request& r) { r.workdir = "/tmp"; });
  CHECK(elsewhere.output == "/tmp\n");
  CHECK(h.run("pwd").output == "/usr\n");
  const auto missing = h.run("pwd", [](spawn_request& r) { r.workdir = "/does/not/exist"; });
  CHECK(missing.status == run_status::failed_to_start);
  CHECK(missing.process.exit->failure->error_name == "ENOENT");
  fs::create_directory("/tmp/-troupe demo");
  CHECK(h.run("pwd", [](spawn_request& r) { r.workdir = "/tmp/-troupe demo"; }).output ==
        "/tmp/-troupe demo\n");
  fs::remove("/tmp/-troupe demo");
}

TEST_CASE("warm shells cannot be told from cold ones") {
  const auto report = GENERATE(report_channel::side, report_channel::in_band);
  host cold{of_kind({0, report_channel::side})};
  host warm{of_kind({2, report})};
  warm.run("true");
  warm.run("true");
  for (const std::string& command : std::vector<std::string>{
           "ls -l /proc/self/fd | awk '{print $9}' | tr '\\n' ' '", "echo $- $0 $# $SHLVL",
           "umask; ulimit -a", "trap -p | grep -v EXIT; echo end",
           "[[ $$ == $BASHPID ]] && echo own",
           "cat /proc/self/status | grep -E '^(Sig(Blk|Ign|Cgt)|Threads)'", "jobs; set +o",
           "ps -o pid=,pgid=,sid= $$ | awk '{print ($1==$2)($2==$3)}'", "echo ${SECONDS}",
           "env | grep -v TROUPE_PROCESS | sort", "declare -F; alias", "shopt", "tty; echo $?",
           "[[ $PPID == " + std::to_string(::getpid()) + " ]] && echo parent"}) {
    INFO(command);
    CHECK(warm.run(command).output == cold.run(command).output);
  }
}

TEST_CASE("the login shell is asked once, whatever it does") {
  const auto report = GENERATE(report_channel::side, report_channel::in_band);
  const auto opts = [&](std::chrono::milliseconds limit) {
    return with([&](environment_options& e) {
      e.report = report;
      e.snapshot_limit = limit;
    });
  };
  SECTION("what it sets is there, what it prints is not, and its delay is paid once") {
    const scratch_home own{
        "echo noise; export FROM_LOGIN=1; lf() { echo login function; }; sleep 0.3"};
    host h{opts(defaults::snapshot_limit)};
    CHECK(h.run("echo $FROM_LOGIN; lf").output == "1\nlogin function\n");
    const auto begin = std::chrono::steady_clock::now();
    h.run("true");
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds{290});
  }
  SECTION("it fails") {
    const scratch_home own{"export EARLY=1; exit 1"};
    host h{opts(defaults::snapshot_limit)};
    CHECK(h.run("echo works").output == "works\n");
  }
  SECTION("it hangs") {
    const scratch_home own{"sleep 600"};
    host h{opts(std::chrono::milliseconds{300})};
    CHECK(h.run("echo works").output == "works\n");
  }
  SECTION("it never stops printing") {
    const scratch_home own{"yes"};
    host h{opts(std::chrono::milliseconds{500})};
    CHECK(h.run("echo works").output == "works\n");
  }
  SECTION("it becomes another shell") {
    const scratch_home own{"exec sh -c 'sleep 0.1'"};
    host h{opts(defaults::snapshot_limit)};
    CHECK(h.run("echo works").output == "works\n");
  }
  SECTION("a deadline is kept while it hangs, and nothing ran") {
    const scratch_home own{"sleep 600"};
    host h{opts(defaults::snapshot_limit)};
    const auto result = h.run("touch must-not-exist",
                              [](spawn_request& r) { r.timeout = std::chrono::milliseconds{300}; });
    CHECK(result.status == run_status::timed_out);
    CHECK_FALSE(fs::exists("must-not-exist"));
  }
}

TEST_CASE("background commands find the state and change nothing") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  h.run("export A=1; cd /tmp");
  const auto started = h.start("echo $A; pwd; export A=2; cd /usr");
  CHECK(h.wait(started.id).output == "1\n/tmp\n");
  CHECK(h.run("echo $A; pwd").output == "1\n/tmp\n");
}

TEST_CASE("the user's text is in no argv but where it must be") {
  host h;
  const auto result = h.run("echo $(tr '\\0' ' ' </proc/$$/cmdline) MARKER_IN_COMMAND");
  CHECK(result.output.find("MARKER_IN_COMMAND") == result.output.rfind("MARKER_IN_COMMAND"));
}

TEST_CASE("very long commands run") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  const std::string big(1'000'000, 'x');
  const auto result = h.run("v='" + big + "'; echo ${#v}");
  CHECK(result.output == "1000000\n");
}

TEST_CASE("the codes of a pipeline's parts are told") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  const auto result = h.run("true | (exit 3) | (exit 4)");
  CHECK(result.process.exit->code == 4);
  CHECK(result.pipestatus == std::vector<std::int32_t>{0, 3, 4});
  const auto failing = h.run("false | true", [](spawn_request& r) { r.pipefail = true; });
  CHECK(failing.process.exit->code == 1);
  CHECK(h.run("true").pipestatus.empty());
}

TEST_CASE("secrets do not get into what is carried on") {
  const scratch_home own{"export OPENAI_API_KEY=sk-from-login-file"};
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  CHECK(h.run("echo ${OPENAI_API_KEY-none}").output == "none\n");
  const auto forced = h.run("echo $GROQ_API_KEY",
                            [](spawn_request& r) { r.env = {"_TROUPE_FORCE_GROQ_API_KEY=mine"}; });
  CHECK(forced.output == "mine\n");
  CHECK(h.run("echo ${GROQ_API_KEY-none}").output == "none\n");
}

TEST_CASE("sessions have environments of their own unless they are shared") {
  auto opts = host::quick_options();
  opts.environments.emplace_back();
  opts.environments.emplace_back().name = "common";
  opts.environments.back().shared = true;
  host h{opts};
  auto other = h.who;
  other.session = "other";
  const auto run_as = [&](const caller& who, const std::string& command, const std::string& where) {
    spawn_request request;
    request.command = command;
    request.environment = where;
    return h.ask<run_result>(run_atom_v, who, request).output;
  };
  run_as(h.who, "export A=mine", "local");
  CHECK(run_as(other, "echo ${A-none}", "local") == "none\n");
  run_as(h.who, "export A=ours", "common");
  CHECK(run_as(other, "echo ${A-none}", "common") == "ours\n");
  spawn_request request;
  request.environment = "nowhere";
  CHECK(h.ask_error<run_result>(run_atom_v, h.who, request) == errc::bad_argument);
}

TEST_CASE("an idle environment sleeps and forgets nothing") {
  auto opts = host::quick_options();
  opts.environment_idle = std::chrono::milliseconds{100};
  host h{opts};
  h.run("export A=1; cd /tmp");
  // Several idle times; the next command meets an environment before, while or after it sleeps.
  for (int i = 0; i < 4; ++i) {
    h.run("sleep 0.15; true");
    CHECK(h.run("echo $A; pwd").output == "1\n/tmp\n");
  }
}

TEST_CASE("many commands at once in one environment") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  auto opts = of_kind(what);
  opts.running_per_session = 1000;
  host h{opts};
  h.run("export A=1");
  std::vector<std::future<run_result>> all;
  for (int i = 0; i < 500; ++i) {
    const auto number = std::to_string(i);
    all.push_back(std::async(std::launch::async, [&h, number] {
      return h.run("export X" + number + "=1; cd /tmp; echo $A " + number);
    }));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto result = all[i].get();
    CHECK(result.output == "1 " + std::to_string(i) + "\n");
    CHECK((!result.cwd || *result.cwd == "/tmp"));
  }
  CHECK(h.run("echo $A; pwd").output == "1\n/tmp\n");
}

TEST_CASE("eight write and eight read what is carried on, at once") {
  const auto what = GENERATE(from_range(all_kinds()));
  CAPTURE(what);
  host h{of_kind(what)};
  h.run("export PAIR=0-0; pair() { echo 0-0; }");
  std::vector<std::future<void>> writers;
  std::vector<std::future<std::vector<std::string>>> readers;
  for (int w = 1; w <= 8; ++w) {
    writers.push_back(std::async(std::launch::async, [&h, w] {
      for (int i = 0; i < 10; ++i) {
        const auto value = std::to_string(w) + "-" + std::to_string(w);
        h.run("export PAIR=" + value + "; pair() { echo " + value + "; }");
      }
    }));
    readers.push_back(std::async(std::launch::async, [&h] {
      std::vector<std::string> seen;
      for (int i = 0; i < 10; ++i) seen.push_back(h.run("echo $PAIR $(pair)").output);
      return seen;
    }));
  }
  for (auto& one : writers) one.get();
  for (auto& one : readers) {
    for (const auto& line : one.get()) {
      // Whole states only: variable and function of the same writer.
      REQUIRE(line.size() == 8);
      const auto pair = std::string{line[0]} + "-" + line[0];
      CHECK(line == pair + " " + pair + "\n");
    }
  }
}

// Exit codes, hints and signal names.
#include "troupe/tests/catch.hpp"
#include "troupe/text/exit_meaning.hpp"

#include <csignal>
#include <string>
#include <vector>

using namespace troupe::text;

TEST_CASE("benign exit codes of the deciding command have a meaning") {
  struct row {
    std::string command;
    int code;
  };
  const std::vector<row> known = {
      {"grep x f", 1},         {"egrep x f", 1},       {"rg x", 1},
      {"ls | grep x", 1},      {"diff a b", 1},        {"test -f x", 1},
      {"[ -f x ]", 1},         {"find / -name x", 1},  {"curl x", 6},
      {"curl x", 7},           {"curl -f x", 22},      {"curl x", 28},
      {"git diff --quiet", 1}, {"A=1 sudo grep x", 1}, {"/usr/bin/grep x", 1},
      {"[[ a ]]", 1}};
  for (const row& r : known) {
    CAPTURE(r.command, r.code);
    CHECK(exit_code_meaning(r.command, r.code));
  }
  const std::vector<row> unknown = {
      {"grep x f", 0}, {"grep x f", 2}, {"make", 1},       {"grep x | sort", 1}, {"echo 'grep'", 1},
      {"curl x", 1},   {"", 1},         {"! grep x f", 1}, {"echo grep", 1}};
  for (const row& r : unknown) {
    CAPTURE(r.command, r.code);
    CHECK_FALSE(exit_code_meaning(r.command, r.code));
  }
}

TEST_CASE("codes above 128 name the signal they usually mean") {
  for (const int signal : {3, 4, 6, 7, 8, 9, 11, 13, 15, 24, 25}) {
    const auto meaning = exit_code_meaning("x", 128 + signal);
    REQUIRE(meaning);
    CHECK(meaning->find("usually means " + signal_name(signal)) != std::string::npos);
  }
  for (const int signal : {1, 2, 5, 10, 12, 14, 17, 64, 120}) {
    CHECK_FALSE(exit_code_meaning("x", 128 + signal));
  }
}

TEST_CASE("well-known failures have a hint") {
  auto hint = [](int code, const std::string& output) {
    return recovery_hint("x", code, output).value_or("");
  };
  CHECK(hint(127, "bash: foo: command not found").find("command -v") != std::string::npos);
  CHECK(hint(127, "bash: pip: command not found").find("python3 -m pip") != std::string::npos);
  CHECK(hint(127, "").find("command -v") != std::string::npos);
  CHECK(hint(1, "ModuleNotFoundError: No module named 'x'").find("pip install") !=
        std::string::npos);
  CHECK(hint(1, "cat: x: Permission denied").find("ls -l") != std::string::npos);
  CHECK(hint(126, "").find("chmod +x") != std::string::npos);
  CHECK(hint(137, "").find("memory") != std::string::npos);
  CHECK(hint(1, "something else").empty());
  CHECK(hint(0, "command not found").empty());
  CHECK(hint(1, std::string(4000, 'x') + "permission denied").empty());
}

TEST_CASE("signals by number and by name") {
  CHECK(signal_name(SIGKILL) == "SIGKILL");
  CHECK(signal_name(SIGTERM) == "SIGTERM");
  CHECK(signal_name(SIGRTMIN + 3) == "SIGRTMIN+3");
  CHECK(signal_name(1000) == "signal 1000");
  CHECK(signal_number("TERM") == SIGTERM);
  CHECK(signal_number("sigterm") == SIGTERM);
  CHECK(signal_number("15") == 15);
  CHECK(signal_number("SIGRTMIN+3") == SIGRTMIN + 3);
  for (int signal = 1; signal <= 31; ++signal) CHECK(signal_number(signal_name(signal)) == signal);
  for (const std::string bad :
       {"", "0", "-9", "99", "TERMINATE", "SIG", "9x", "RTMIN+", "RTMIN+99"}) {
    CAPTURE(bad);
    CHECK_FALSE(signal_number(bad));
  }
}

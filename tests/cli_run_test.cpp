// The `troupe` program as a person uses it: exit codes, whole output, interruption, the demo.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

struct outcome {
  std::string output;
  int code = -1;
};

/// Runs `troupe` with these arguments through a shell; stderr goes with stdout.
outcome troupe_with(const std::string& arguments) {
  outcome result;
  auto* pipe = popen((TROUPE_BIN_DIR "/troupe " + arguments + " 2>&1 </dev/null").c_str(), "re");
  REQUIRE(pipe);
  std::array<char, 65536> bytes;
  while (auto n = fread(bytes.data(), 1, bytes.size(), pipe)) result.output.append(bytes.data(), n);
  auto status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace

TEST_CASE("troupe run passes on output and exit code") {
  auto words = troupe_with("run -- printf '%s|' 'a b' \"it's\"");
  CHECK(words.output == "a b|it's|");
  CHECK(words.code == 0);
  CHECK(troupe_with("run 'exit 7'").code == 7);
  CHECK(troupe_with("run 'kill -9 $$'").code == 137);
  CHECK(troupe_with("run 'cat; echo rc=$?'").output == "rc=0\n");
  auto nowhere = troupe_with("run --workdir /no/such/dir true");
  CHECK(nowhere.code == 126);
  CHECK_THAT(nowhere.output, ContainsSubstring("/no/such/dir"));
  CHECK(troupe_with("run --timeout 0.2 'sleep 600'").code == 124);
}

TEST_CASE("troupe run loses nothing of a long output") {
  CHECK(troupe_with("run 'seq 1 1000000'").output.size() == 6'888'896);
}

TEST_CASE("troupe run --pty gives the command a terminal") {
  CHECK(troupe_with("run --pty -- stty size").output == "30 120\r\n");
}

TEST_CASE("an interrupt ends the command, and the code is 130") {
  for (int number : {SIGINT, SIGTERM}) {
    std::vector<std::string> words = {TROUPE_BIN_DIR "/troupe", "run", "sleep 666666"};
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    REQUIRE(posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) == 0);
    auto sleeping = [] { return system("pgrep -f '^sleep 666666$' >/dev/null") == 0; };
    CHECK(troupe::testing::eventually(sleeping));
    kill(pid, number);
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(WEXITSTATUS(status) == 130);
    CHECK_FALSE(sleeping());
  }
}

TEST_CASE("help and version are for people, and a wrong call says what is wrong") {
  CHECK_THAT(troupe_with("--version").output, ContainsSubstring("troupe " TROUPE_VERSION));
  CHECK_THAT(troupe_with("--help").output, ContainsSubstring("Examples:"));
  CHECK(troupe_with("nonsense").code != 0);
  CHECK(troupe_with("run").code != 0);
}

TEST_CASE("the demo shows everything within half a minute") {
  auto from = std::chrono::steady_clock::now();
  auto demo = troupe_with("demo");
  CHECK(demo.code == 0);
  CHECK(std::chrono::steady_clock::now() - from < std::chrono::seconds{30});
  for (const char* part : {"exit code 7", "accepts connections", "in memory",
                           "Hello Ada, your password has 6 letters", "SIGTERM", "SIGKILL"}) {
    if (std::string{part} == "accepts connections" &&
        demo.output.find("ready for requests") != std::string::npos) {
      continue;  // no Python here: a stand-in for the server
    }
    CHECK_THAT(demo.output, ContainsSubstring(part));
  }
  CHECK(demo.output.find('\033') == std::string::npos);
}

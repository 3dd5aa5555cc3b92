// What is read about single processes while they change.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "troupe/backends/local/inspect.hpp"
#include "troupe/backends/local/process_reader.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/backend_fixture.hpp"

using namespace troupe::backends::local;
using namespace troupe::testing;

namespace {

// A child of this test, ended with it.
struct running {
  running(std::vector<std::string> argv, std::vector<std::string> env) {
    std::vector<char*> arguments;
    std::vector<char*> variables;
    for (auto& one : argv) arguments.push_back(one.data());
    for (auto& one : env) variables.push_back(one.data());
    arguments.push_back(nullptr);
    variables.push_back(nullptr);
    pid = ::fork();
    if (pid == 0) {
      ::execve(arguments[0], arguments.data(), variables.data());
      std::_Exit(127);
    }
    REQUIRE(eventually([this] { return look().comm != own_name(); }));
  }
  ~running() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  running(const running&) = delete;
  running& operator=(const running&) = delete;

  // With nothing remembered.
  process_row look() const {
    process_reader reader;
    process_row row;
    REQUIRE(reader.begin());
    REQUIRE(reader.look_at(pid, row));
    return row;
  }

  static std::string own_name() {
    process_row row;
    REQUIRE(stat_after_exec(::getpid(), row));
    return row.comm;
  }

  int pid = 0;
};

}  // namespace

TEST_CASE("C04: a process that is in exec shows its marker and its command") {
  const running child(
      {"/bin/sh", "-c", "exec /bin/sh -c \"$0\" \"$0\"", "exec /bin/sh -c \"$0\" \"$0\""},
      {"TROUPE_PROCESS=m"});
  for (int i = 0; i < 5'000; ++i) {
    const auto row = child.look();
    REQUIRE(row.marker == "m");
  }
}

TEST_CASE("a process with an empty environment is not waited for") {
  const running child({"/bin/sleep", "600"}, {});
  const auto begin = steady::now();
  for (int i = 0; i < 100; ++i) {
    const auto row = child.look();
    REQUIRE(row.marker.empty());
    REQUIRE_FALSE(row.in_exec);
  }
  CHECK(seconds_since(begin) < 1.0);
}

TEST_CASE("a process whose main thread has ended shows its marker") {
  const running child({"/usr/bin/env", "python3", "-c",
                       "import ctypes,threading,time\n"
                       "threading.Thread(target=time.sleep, args=(600,)).start()\n"
                       "ctypes.CDLL(None).syscall(" +
                           std::to_string(SYS_exit) + ", 0)"},
                      {"TROUPE_PROCESS=m", "PATH=/usr/local/bin:/usr/bin:/bin"});
  REQUIRE(eventually([&] { return child.look().state == 'Z'; }));
  const auto row = child.look();
  CHECK_FALSE(row.zombie);
  CHECK(row.marker == "m");
}

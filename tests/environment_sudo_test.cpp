// sudo in commands: its password is on stdin and nowhere else.
#include <filesystem>
#include <fstream>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A program named sudo that is first in PATH. With -S it wants the right password, like the real one.
struct fake_sudo {
  fake_sudo() {
    const auto path = dir.path() + "/sudo";
    std::ofstream{path}
        << "#!/bin/bash\n"
           "ask=no\n"
           "while [[ $1 == -* ]]; do\n"
           "  [[ $1 == -S ]] && ask=yes\n"
           "  [[ $1 == -p ]] && shift\n"
           "  shift\n"
           "done\n"
           "if [[ $ask == no ]]; then echo 'sudo: a terminal is required'; exit 1; fi\n"
           "IFS= read -r line\n"
           "if [[ $line != 'se cret' ]]; then\n"
           "  echo 'Sorry, try again.'\n"
           "  echo 'sudo: 1 incorrect password attempt'; exit 1\n"
           "fi\n"
           "exec \"$@\"\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  std::string in_path() const { return "PATH=" + dir.path() + ":/usr/bin:/bin"; }
  temporary_dir dir;
};

options with_password(const std::string& password) {
  auto opts = host::quick_options();
  opts.sudo_password = password;
  return opts;
}

}  // namespace

TEST_CASE("every sudo of a command gets the password, and the rest of stdin is the command's") {
  fake_sudo sudo;
  host h{with_password("se cret")};
  const auto run = [&](const std::string& command, const std::string& input = {}) {
    return h.run(command, [&](spawn_request& r) {
      r.env = {sudo.in_path()};
      r.stdin_data = input;
      r.stdin_close = !input.empty();
    });
  };
  CHECK(run("sudo echo one && sudo echo two").output == "one\ntwo\n");
  CHECK(run("sudo cat", "data\n").output == "data\n");
  CHECK(run("sudo cat; echo end").output == "end\n");
  CHECK(run("cat").output.empty());
  CHECK(run("x=$(sudo echo inner); echo $x").output == "inner\n");
  // In no argv and no environment of the command's.
  const auto seen =
      run("sudo true; for p in $$ $PPID; do tr '\\0' '\\n' < /proc/$p/cmdline; done; env; set");
  CHECK_THAT(seen.output, !ContainsSubstring("se cret"));
  // What was a shell kept ready is none for such a command; the next one is not disturbed.
  CHECK(run("read -r x; echo \"<$x>\"").output == "<>\n");
  CHECK(h.run("sudo -n true; echo $?", [&](spawn_request& r) {
           r.env = {sudo.in_path()};
         }).output == "sudo: a terminal is required\n1\n");
}

TEST_CASE("without a password commands stay as they are") {
  fake_sudo sudo;
  host h;
  const auto result = h.run("sudo echo one", [&](spawn_request& r) { r.env = {sudo.in_path()}; });
  CHECK(result.output == "sudo: a terminal is required\n");
  CHECK(result.process.command == "sudo echo one");
}

TEST_CASE("a background process with a pipe gets the password first") {
  fake_sudo sudo;
  host h{with_password("se cret")};
  const auto started = h.start("sudo cat", [&](spawn_request& r) {
    r.env = {sudo.in_path()};
    r.stdin_pipe = true;
  });
  h.write(started.id, "typed\n", true);
  const auto end = h.wait(started.id);
  CHECK(end.output == "typed\n");
  CHECK(end.process.command == "sudo cat");
}

TEST_CASE("a wrong password is seen in the output") {
  fake_sudo sudo;
  host h{with_password("wrong")};
  const auto result = h.run("sudo echo one", [&](spawn_request& r) { r.env = {sudo.in_path()}; });
  CHECK(result.process.exit->code == 1);
  CHECK_THAT(result.output, ContainsSubstring("incorrect password"));
}

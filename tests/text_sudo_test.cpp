// Which sudo gets its password on stdin.
#include "troupe/tests/catch.hpp"
#include "troupe/text/sudo.hpp"

using namespace troupe::text;

TEST_CASE("sudo in command position reads its password from stdin, one line each") {
  struct row {
    const char* command;
    const char* rewritten;
    std::size_t passwords;
  };
  for (const auto& [command, rewritten, passwords] : std::vector<row>{
           {"sudo ls", "sudo -S -p '' ls", 1},
           {"sudo -u bob ls && sudo -E x", "sudo -S -p '' -u bob ls && sudo -S -p '' -E x", 2},
           {"/usr/bin/sudo ls;X=1 sudo y", "/usr/bin/sudo -S -p '' ls;X=1 sudo -S -p '' y", 2},
           {"echo $(sudo id)", "echo $(sudo -S -p '' id)", 1},
           {"a || sudo b", "a || sudo -S -p '' b", 1},
           {"time sudo b | wc", "time sudo -S -p '' b | wc", 1},
           {"sudo", "sudo -S -p ''", 1},
       }) {
    const auto result = sudo_reads_stdin(command);
    CHECK(result.command == rewritten);
    CHECK(result.passwords == passwords);
  }
}

TEST_CASE("other commands are left as they are") {
  for (const std::string command :
       {"echo sudo", "'sudo' x", "# sudo x", "cat <<E\nsudo x\nE", "echo x | sudo tee f",
        "echo x |\n A=1 sudo tee f", "echo pw | sudo -S ls", "sudo -n true", "sudo -kS ls",
        "sudo --askpass ls", "sudo -V", "sudoedit f", "visudo"}) {
    INFO(command);
    CHECK(sudo_reads_stdin(command).command == command);
    CHECK(sudo_reads_stdin(command).passwords == 0);
  }
}

TEST_CASE("a password that was not accepted is recognised by what sudo says") {
  CHECK(sudo_auth_failed("sudo ls", "Sorry, try again.\nsudo: 3 incorrect password attempts\n"));
  CHECK(sudo_auth_failed("a; sudo ls", "sudo: no password was provided\n"));
  CHECK_FALSE(sudo_auth_failed("cat log", "sudo: 3 incorrect password attempts\n"));
  CHECK_FALSE(sudo_auth_failed("sudo ls", "file\n"));
}

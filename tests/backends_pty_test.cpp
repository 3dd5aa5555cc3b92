// Children on a terminal, and stdin of both kinds.
#include <signal.h>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/backend_fixture.hpp"

using namespace troupe::backends;
using namespace troupe::testing;

namespace {

spawn_spec terminal(const std::string& command) {
  auto spec = shell(command);
  spec.pty = true;
  spec.env.push_back("TERM=xterm");
  return spec;
}

spawn_spec with_stdin(const std::string& command) {
  auto spec = shell(command);
  spec.stdin_pipe = true;
  return spec;
}

}  // namespace

TEST_CASE("a terminal: size, controlling terminal, CRLF, end of file") {
  node n;
  auto r =
      recorder::start(n, terminal("tty; stty size; echo x > /dev/tty; ls /proc/$$/fd | wc -l"));
  REQUIRE(r->wait_drained());
  const auto text = r->text();
  CHECK(text.find("/dev/pts/") == 0);
  CHECK(text.find("\r\n30 120\r\nx\r\n") != std::string::npos);
  CHECK(r->count("eof") == 1);
  CHECK(r->holders.empty());
}

TEST_CASE("C05: a terminal's output is complete, forty times") {
  node n;
  for (int i = 0; i < 40; ++i) {
    auto r = recorder::start(n, terminal("seq 1 100000"));
    REQUIRE(r->wait_drained());
    CHECK(r->text().size() == 688'895);
  }
}

TEST_CASE("C05: a question is answered, thirty times") {
  node n;
  for (int i = 0; i < 30; ++i) {
    const bool pty = i % 2 == 0;
    auto r = recorder::start(
        n, pty ? terminal("read x; echo got=$x") : with_stdin("read x; echo got=$x"));
    CHECK(r->write("bob\n").status == write_status::ok);
    REQUIRE(r->wait_drained());
    CHECK(r->text().find("got=bob") != std::string::npos);
  }
}

TEST_CASE("C13: waiting for input is judged by the kernel's state") {
  node n;
  for (const std::string command :
       {"read -s -p 'Password: ' x; echo; echo got", "python3 -c 'input()'; echo got",
        "python3 -c 'import select; select.select([0],[],[])'; echo got",
        "python3 -c 'import select; p=select.poll(); "
        "p.register(0, 1); p.poll()'; echo got",
        "python3 -c 'import select; p=select.epoll(); "
        "p.register(0, 1); p.poll()'; echo got"}) {
    INFO(command);
    auto r = recorder::start(n, terminal(command));
    REQUIRE(r->wait_started());
    CHECK(eventually([&] { return r->describe().awaiting_input; }, 5s));
    r->write("secret\n");
    REQUIRE(r->wait_drained());
    CHECK(r->text().find("got") != std::string::npos);
  }
  for (auto spec : {shell("echo 'collecting ... '; sleep 5"),
                    terminal("echo 'Password: '; sleep 5"), with_stdin("read x")}) {
    auto r = recorder::start(n, spec);
    REQUIRE(r->wait_started());
    for (int i = 0; i < 10; ++i) {
      CHECK_FALSE(r->describe().awaiting_input);
    }
    r->kill();
  }
}

TEST_CASE("the end of file of a terminal, at the start and inside a line") {
  node n;
  auto cat = recorder::start(n, terminal("stty -echo; echo up; cat; echo \"<$?>\""));
  REQUIRE(cat->wait_output("up"));
  CHECK(cat->write("line\n", true).status == write_status::ok);
  REQUIRE(cat->wait_drained());
  CHECK(cat->text() == "up\r\nline\r\n<0>\r\n");

  auto part = recorder::start(n, terminal("stty -echo; echo up; cat; echo \"<$?>\""));
  REQUIRE(part->wait_output("up"));
  CHECK(part->write("unfinished", true).status == write_status::ok);
  REQUIRE(part->wait_drained());
  CHECK(part->text() == "up\r\nunfinished<0>\r\n");
}

TEST_CASE("a line that a canonical terminal would cut is refused") {
  node n;
  auto r = recorder::start(n, terminal("stty -echo; echo up; read x; echo ${#x}; "
                                       "stty -icanon; echo raw; head -c 5000 | wc -c"));
  REQUIRE(r->wait_output("up"));
  CHECK(r->write(std::string(4'096, 'a')).status == write_status::line_too_long);
  CHECK(r->write(std::string(4'000, 'a')).accepted == 4'000);
  CHECK(r->write(std::string(96, 'a')).status == write_status::line_too_long);
  CHECK(r->write(std::string(95, 'a')).status == write_status::ok);
  CHECK(r->write("\n").status == write_status::ok);
  REQUIRE(r->wait_output("4095\r\n"));
  REQUIRE(r->wait_output("raw"));
  CHECK(r->write(std::string(5'000, 'a')).status == write_status::ok);
  REQUIRE(r->wait_drained());
  CHECK(r->text().find("5000") != std::string::npos);
}

TEST_CASE("a terminal is resized and says so") {
  node n;
  auto r = recorder::start(
      n, terminal("trap 'stty size; exit' WINCH; echo up; while :; do sleep 0.05; done"));
  REQUIRE(r->wait_output("up"));
  n.backend.resize(r->id, 50, 200);
  REQUIRE(r->wait_drained());
  CHECK(r->text().find("50 200") != std::string::npos);
}

TEST_CASE("a terminal answers the queries that programs wait on") {
  node n;
  auto r = recorder::start(n, terminal("stty -echo -icanon; printf 'a\\033[6nb'; "
                                       "IFS= read -r -d R x; printf '%q' \"$x\""));
  REQUIRE(r->wait_drained());
  CHECK(r->text() == "ab$'\\E[1;1'");
}

TEST_CASE("a signal to a terminal child reaches the foreground group") {
  node n;
  // The leader would die of it.
  auto r = recorder::start(n, terminal("set -m; sleep 600; echo rc=$?"));
  REQUIRE(eventually([&] {
    const auto tree = r->describe().tree;
    return tree.size() == 2 && tree[1].command == "sleep 600";
  }));
  CHECK(r->signal(SIGUSR1) == 0);
  REQUIRE(r->wait_drained());
  CHECK(r->text().find("rc=138") != std::string::npos);
}

TEST_CASE("much stdin through a pipe, and its end behind it") {
  node n;
  auto r = recorder::start(n, with_stdin("kill -STOP $$; wc -c"));
  const std::string chunk(1 << 20, 'x');
  std::uint64_t accepted = 0;
  bool refused = false;
  for (int i = 0; i < 12; ++i) {
    const auto w = r->write(chunk);
    CHECK((w.accepted == 0 || w.accepted == chunk.size()));
    accepted += w.accepted;
    refused = refused || w.status == write_status::would_block;
  }
  CHECK(refused);
  CHECK(accepted >= 8U << 20);
  CHECK(r->write("", true).status == write_status::ok);
  CHECK(r->write("more").status == write_status::closed);
  REQUIRE(eventually([&] {
    r->signal(SIGCONT);
    return r->is_drained();
  }));
  CHECK(r->text() == std::to_string(accepted) + "\n");
}

TEST_CASE("a child that closes its stdin") {
  node n;
  auto r = recorder::start(n, with_stdin("exec <&-; echo up; sleep 600"));
  REQUIRE(r->wait_output("up"));
  CHECK(r->write("x").status == write_status::closed);
  r->kill();
}

TEST_CASE("much typed into a terminal arrives in order") {
  node n;
  auto r = recorder::start(n, terminal("stty -echo; echo up; sha256sum; "));
  REQUIRE(r->wait_output("up"));
  std::string lines;
  for (int i = 1; i <= 100'000; ++i) {
    lines += std::to_string(i) + "\n";
  }
  CHECK(r->write(lines, true).status == write_status::ok);
  REQUIRE(r->wait_drained());
  CHECK(r->text().find("b2bc7d3f8b652d2ec96865b68ad8f80e22cca174abe1aed7889e242a747d590f") !=
        std::string::npos);
}

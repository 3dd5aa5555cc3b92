// The life of a process as a host sees it: how it starts, how it ends, what is told and when.
#include <sys/resource.h>

#include <fstream>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

TEST_CASE("a background process starts, prints, ends and stays readable") {
  host h;
  const auto started = h.start("echo hello; exit 7");
  REQUIRE_FALSE(started.failure);
  CHECK_THAT(started.id, StartsWith("proc_"));
  CHECK(started.id.size() == 17);
  CHECK(started.pid > 0);
  const auto ended = h.wait(started.id);
  CHECK(ended.status == wait_status::exited);
  REQUIRE(ended.process.exit);
  CHECK(ended.process.exit->reason == finish_reason::exited);
  CHECK(ended.process.exit->code == 7);
  CHECK(ended.process.exit->signal == 0);
  CHECK(ended.output == "hello\n");
  const auto polled = h.poll(started.id);
  CHECK(polled.process.status == process_status::finished);
  CHECK(polled.total_bytes == 6);
  CHECK(polled.dropped_bytes == 0);
}

TEST_CASE("code and signal are kept apart") {
  host h;
  const auto by_signal = h.run("kill -9 $$").process.exit.value();
  CHECK(by_signal.signal == 9);
  CHECK_FALSE(by_signal.code);
  CHECK(by_signal.shell_code() == 137);
  const auto by_code = h.run("exit 137").process.exit.value();
  CHECK(by_code.signal == 0);
  CHECK(by_code.code == 137);
  CHECK(by_code.reason == finish_reason::exited);
  const auto crash = h.run("ulimit -c unlimited; kill -SEGV $$").process.exit.value();
  CHECK(crash.signal == 11);
  REQUIRE(crash.usage);
  CHECK(crash.usage->max_rss_kib > 0);
}

TEST_CASE("an end by the command itself leaves its siblings alone") {
  host h;
  const auto sibling = h.start("sleep 600");
  const auto result = h.run("kill -TERM 0; echo after");
  CHECK(result.process.exit->shell_code() == 143);
  CHECK(result.output.find("after") == std::string::npos);
  CHECK(h.poll(sibling.id).process.status == process_status::running);
}

TEST_CASE("a foreground command leaves no trace") {
  host h;
  const auto result = h.run("echo one; echo two >&2");
  CHECK(result.status == run_status::finished);
  CHECK(result.output == "one\ntwo\n");
  CHECK(h.ask<std::vector<process_summary>>(list_atom_v, h.who).empty());
  CHECK(h.ask_error<poll_result>(poll_atom_v, h.who, result.process.id, poll_options{}) ==
        errc::not_found);
}

TEST_CASE("the shell's end is the end, also while a background child holds the pipe") {
  host h;
  for (const std::string command :
       {"sleep 600 & echo FG_DONE", "(while :; do echo tick; sleep 0.1; done) & echo FG_DONE"}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto result = h.run(command);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{10});
    CHECK(result.status == run_status::finished);
    CHECK(result.process.exit->code == 0);
    CHECK_THAT(result.output, ContainsSubstring("FG_DONE"));
    CHECK_FALSE(result.process.exit->descendants.empty());
    // The rest can still be removed.
    const auto killed = h.kill(result.process.id);
    CHECK(killed.status == kill_status::already_exited);
    CHECK(killed.survivors.empty());
    CHECK(alive_with_marker(result.process.id).empty());
  }
}

TEST_CASE("a deadline ends everything that was started, also in other sessions") {
  host h;
  const auto result = h.run("setsid sleep 600 & sleep 600",
                            [](spawn_request& r) { r.timeout = std::chrono::milliseconds{300}; });
  CHECK(result.status == run_status::timed_out);
  CHECK(result.process.exit->reason == finish_reason::timed_out);
  CHECK_THAT(result.output, ContainsSubstring("[Command timed out after 0.3s]"));
  CHECK(alive_with_marker(result.process.id).empty());
}

TEST_CASE("a command's own 124 and 130 are passed on as they are") {
  host h;
  const auto a = h.run("exit 124");
  CHECK(a.status == run_status::finished);
  CHECK(a.process.exit->code == 124);
  const auto b = h.run("exit 130");
  CHECK(b.status == run_status::finished);
  CHECK(b.process.exit->code == 130);
}

TEST_CASE("a background deadline is honoured") {
  host h;
  const auto started =
      h.start("sleep 600", [](spawn_request& r) { r.timeout = std::chrono::milliseconds{200}; });
  const auto ended = h.wait(started.id);
  CHECK(ended.process.exit->reason == finish_reason::timed_out);
  CHECK(ended.process.exit->source == "timeout");
}

TEST_CASE("starts that fail name stage, errno and thing, and leave nothing behind") {
  auto opts = host::quick_options();
  opts.environments.emplace_back().warm_shells = 0;
  host h{opts};
  h.run("true");
  const auto before = open_descriptors();
  const auto fail = [&](std::function<void(spawn_request&)> adjust, const std::string& command) {
    const auto result = h.start(command, adjust);
    REQUIRE(result.failure);
    return *result.failure;
  };
  const auto no_dir = fail([](spawn_request& r) { r.workdir = "/does/not/exist"; }, "true");
  CHECK(no_dir.stage == start_stage::chdir);
  CHECK(no_dir.error_name == "ENOENT");
  CHECK_THAT(no_dir.text, ContainsSubstring("/does/not/exist"));
  const auto not_dir = fail([](spawn_request& r) { r.workdir = "/etc/passwd"; }, "true");
  CHECK(not_dir.stage == start_stage::chdir);
  CHECK(not_dir.error_name == "ENOTDIR");
  const auto too_big =
      fail([](spawn_request& r) { r.env = {"BIG=" + std::string(200'000, 'x')}; }, "true");
  CHECK(too_big.stage == start_stage::exec);
  CHECK(too_big.error_name == "E2BIG");
  CHECK(h.ask<std::vector<process_summary>>(list_atom_v, h.who).empty());
  CHECK(eventually([&] { return open_descriptors() <= before; }));
  CHECK(eventually([] { return zombie_children() == 0; }));
}

TEST_CASE("a shell that does not exist is an error of the start") {
  auto opts = host::quick_options();
  opts.environments.emplace_back().shell = "no-such-shell-anywhere";
  host h{opts};
  const auto result = h.run("true");
  CHECK(result.status == run_status::failed_to_start);
  REQUIRE(result.process.exit->failure);
  CHECK(result.process.exit->failure->stage == start_stage::resolve);
  CHECK(result.process.exit->failure->error_name == "ENOENT");
}

TEST_CASE("too few descriptors is an error of the start, not an accident") {
  host h;
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
  rlimit low = old;
  low.rlim_cur = static_cast<rlim_t>(open_descriptors()) + 24;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  std::vector<std::string> running;
  std::optional<start_failure> failure;
  for (int i = 0; i < 64 && !failure; ++i) {
    const auto result = h.start("sleep 600");
    failure = result.failure;
    if (!failure) running.push_back(result.id);
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &old) == 0);
  REQUIRE(failure);
  CHECK(failure->error_name == "EMFILE");
  CHECK(failure->stage == start_stage::limits);
  CHECK_FALSE(running.empty());
  for (const auto& id : running) {
    CHECK(h.poll(id).process.status == process_status::running);
  }
  CHECK_FALSE(h.start("true").failure);
}

TEST_CASE("commands are run verbatim") {
  host h;
  CHECK(h.run("cat <<'E'\na 'b' \"c\" $HOME `x` !x \\n\ttab\nE").output ==
        "a 'b' \"c\" $HOME `x` !x \\n\ttab\n");
  CHECK(h.run("printf '%s' 'no final newline'").output == "no final newline");
  CHECK(h.run("# only a comment").process.exit->code == 0);
  CHECK(h.run("").process.exit->code == 0);
  CHECK(h.run("echo a \\").output == "a \\\n");  // as bash -c does it
  const auto unbalanced = h.run("echo 'oops");
  CHECK(unbalanced.process.exit->code == 2);
  CHECK_THAT(unbalanced.output, ContainsSubstring("unexpected EOF"));
  CHECK(h.run("echo fine").output == "fine\n");
  CHECK(h.run("printf 'a\\r\\nb\\r\\n'").output == "a\r\nb\r\n");
}

TEST_CASE("stdin is at its end unless it was asked for") {
  host h;
  CHECK(h.run("cat").process.exit->code == 0);
  CHECK(h.run("read x; echo rc=$?").output == "rc=1\n");
  CHECK(h.run("cat", [](spawn_request& r) {
           r.stdin_data = "given";
           r.stdin_close = true;
         }).output == "given");
}

TEST_CASE("thousands of short lives leave nothing behind") {
  host h;
  h.run("true");
  const auto descriptors = open_descriptors();
  std::vector<start_result> batch;
  for (int round = 0; round < 20; ++round) {
    batch.clear();
    for (int i = 0; i < 50; ++i) batch.push_back(h.start(i % 5 == 0 ? "(sleep 0.01 &)" : "true"));
    for (const auto& one : batch) {
      REQUIRE_FALSE(one.failure);
      CHECK(h.wait(one.id).process.exit->code == 0);
    }
  }
  CHECK(eventually([] { return zombie_children() == 0; }));
  // Warm shells of the environment come and go; nothing else may stay open.
  CHECK(eventually([&] { return open_descriptors() <= descriptors + 6; }));
}

TEST_CASE("secrets of the node do not reach its children") {
  ::setenv("OPENAI_API_KEY", "sk-must-not-be-seen", 1);
  ::setenv("TROUPE_NODE_SECRET", "must-not-be-seen", 1);
  ::setenv("HARMLESS", "seen", 1);
  host h;
  const auto result = h.run("env; tr '\\0' '\\n' </proc/$$/environ");
  CHECK(result.output.find("must-not-be-seen") == std::string::npos);
  CHECK_THAT(result.output, ContainsSubstring("HARMLESS=seen"));
  CHECK_THAT(result.output, ContainsSubstring("PYTHONUNBUFFERED=1"));
  CHECK_THAT(result.output, ContainsSubstring("TROUPE_PROCESS=proc_"));
  const auto forced = h.run("echo $OPENAI_API_KEY-$TROUPE_NODE_SECRET", [](spawn_request& r) {
    r.env = {"_TROUPE_FORCE_OPENAI_API_KEY=mine", "_TROUPE_FORCE_TROUPE_NODE_SECRET=no"};
  });
  CHECK(forced.output == "mine-\n");
  ::unsetenv("OPENAI_API_KEY");
  ::unsetenv("TROUPE_NODE_SECRET");
}

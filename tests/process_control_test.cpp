// What a host can do to a process: kill, signal, stdin, waits, interrupts, ownership, limits.
#include <future>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a kill ends the whole tree and names the signal") {
  host h;
  const auto obedient = h.start("sleep 600");
  const auto killed = h.kill(obedient.id);
  CHECK(killed.status == kill_status::killed);
  CHECK(killed.process.exit->reason == finish_reason::killed);
  CHECK(killed.process.exit->source == "process.kill");
  CHECK(killed.process.exit->signal == 15);

  const auto stubborn = h.start("trap '' TERM INT; echo ready; while :; do sleep 1; done");
  h.wait_until(stubborn.id, "ready");
  const auto forced = h.kill(stubborn.id);
  CHECK(forced.status == kill_status::killed);
  CHECK(forced.process.exit->signal == 9);
  CHECK(alive_with_marker(stubborn.id).empty());

  CHECK(h.kill(stubborn.id).status == kill_status::already_exited);
}

TEST_CASE("children that escaped are found, shown and removed") {
  host h;
  const auto started =
      h.start("( ( sleep 600 & ) & ); setsid sleep 601 & echo up; wait; sleep 602");
  h.wait_until(started.id, "up");
  // A child is a copy of the shell until it has called exec, so its name may come a little later.
  const auto shows = [&](const std::string& command) {
    const auto polled = h.poll(started.id, {std::nullopt, output_view::text, true});
    return polled.tree &&
           std::any_of(polled.tree->begin(), polled.tree->end(), [&](const tree_entry& member) {
             return member.command.find(command) != std::string::npos;
           });
  };
  CHECK(eventually([&] { return shows("sleep 600"); }));
  CHECK(eventually([&] { return shows("sleep 601"); }));
  CHECK(h.kill(started.id).status == kill_status::killed);
  CHECK(alive_with_marker(started.id).empty());
}

TEST_CASE("a code that traps the signal and exits still counts as killed") {
  host h;
  const auto started = h.start("trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done");
  h.wait_until(started.id, "ready");
  const auto killed = h.kill(started.id);
  CHECK(killed.process.exit->reason == finish_reason::killed);
  CHECK(killed.process.exit->code == 3);
}

TEST_CASE("one signal is one signal") {
  host h;
  const auto started = h.start("trap 'echo got-int' INT; echo ready; while :; do sleep 0.05; done");
  h.wait_until(started.id, "ready");
  h.ask<process_summary>(signal_atom_v, h.who, started.id, std::int32_t{2});
  h.wait_until(started.id, "got-int");
  CHECK(h.poll(started.id).process.status == process_status::running);
  CHECK(h.ask_error<process_summary>(signal_atom_v, h.who, started.id, std::int32_t{99}) ==
        errc::bad_argument);
}

TEST_CASE("an interrupted pipe-mode command ends by SIGINT") {
  host h;
  const auto started = h.start("echo ready; sleep 600");
  h.wait_until(started.id, "ready");
  h.ask<process_summary>(signal_atom_v, h.who, started.id, std::int32_t{2});
  const auto ended = h.wait(started.id);
  CHECK(ended.process.exit->shell_code() == 130);
  CHECK(ended.process.exit->reason == finish_reason::exited);
}

TEST_CASE("stdin takes data, lines and its end") {
  host h;
  for (int i = 0; i < 10; ++i) {
    const auto started =
        h.start("read x; echo got=$x; cat", [](spawn_request& r) { r.stdin_pipe = true; });
    CHECK(h.write(started.id, "bob\n").bytes_written == 4);
    h.wait_until(started.id, "got=bob");
    h.write(started.id, "rest", true);
    const auto ended = h.wait(started.id);
    CHECK(ended.output == "got=bob\nrest");
    CHECK(h.ask_error<write_result>(write_atom_v, h.who, started.id, write_request{"x", false}) ==
          errc::already_exited);
  }
  const auto closed = h.start("sleep 600");
  CHECK(h.ask_error<write_result>(write_atom_v, h.who, closed.id, write_request{"x", false}) ==
        errc::bad_state);
}

TEST_CASE("a terminal program is answered, and said to wait for input by the kernel's word") {
  host h;
  const auto started = h.start("read -s -p 'Password: ' x; echo; echo got-$x",
                               [](spawn_request& r) { r.pty = true; });
  h.wait_until(started.id, "Password: ");
  CHECK(eventually([&] { return h.poll(started.id).awaiting_input; }));
  h.write(started.id, "secret\n");
  const auto ended = h.wait(started.id);
  CHECK_THAT(ended.output, ContainsSubstring("got-secret"));

  const auto busy = h.start("echo 'collecting ... '; sleep 600");
  h.wait_until(busy.id, "collecting");
  CHECK_FALSE(h.poll(busy.id).awaiting_input);
}

TEST_CASE("a full stdin queue is an answer, not a block") {
  host h;
  const auto started = h.start("sleep 600", [](spawn_request& r) { r.stdin_pipe = true; });
  errc code = errc::none;
  for (int i = 0; i < 20 && code == errc::none; ++i) {
    code = h.ask_error<write_result>(write_atom_v, h.who, started.id,
                                     write_request{std::string(1 << 20, 'x'), false});
  }
  CHECK(code == errc::would_block);
  CHECK(h.kill(started.id).status == kill_status::killed);
}

TEST_CASE("a wait ends at its deadline and the process goes on") {
  host h;
  const auto started = h.start("echo partial; sleep 600");
  h.wait_until(started.id, "partial");
  wait_options what;
  what.timeout = std::chrono::milliseconds{50};
  const auto result = h.wait(started.id, what);
  CHECK(result.status == wait_status::timeout);
  CHECK(result.output == "partial\n");
  CHECK(h.poll(started.id).process.status == process_status::running);
}

TEST_CASE("a match printed before the wait is not missed, and not matched twice") {
  host h;
  const auto started = h.start("echo READY; sleep 600");
  wait_options what;
  what.until = "^READY$";
  what.timeout = generous;
  // Whether the line came before or after the wait does not matter.
  CHECK(h.wait(started.id, what).status == wait_status::matched);
  what.timeout = std::chrono::milliseconds{50};
  CHECK(h.wait(started.id, what).status == wait_status::timeout);
  what.until = "[";
  CHECK(h.ask_error<wait_result>(wait_atom_v, h.who, started.id, what) == errc::bad_argument);
}

TEST_CASE("a wait for a port ends when it accepts") {
  host h;
  if (h.run("command -v python3").process.exit->code != 0) SKIP("python3 is not installed");
  const auto started = h.start(
      "sleep 0.2; exec python3 -c 'import socket,time; s=socket.socket(); "
      "s.bind((\"127.0.0.1\",0)); "
      "print(s.getsockname()[1],flush=True); time.sleep(0.2); s.listen(); time.sleep(600)'");
  const auto port = std::stoi(h.wait_until(started.id, "^[0-9]+$"));
  wait_options what;
  what.port = static_cast<std::uint16_t>(port);
  what.timeout = generous;
  CHECK(h.wait(started.id, what).status == wait_status::port_open);
}

namespace {

/// Sends a request from a thread of its own; the answer comes through the future.
template <class Result, class... Args>
std::future<Result> later(host& h, Args... args) {
  return std::async(std::launch::async, [&h, args...] { return h.ask<Result>(args...); });
}

void wait_for_process(host& h, const caller& who) {
  REQUIRE(eventually([&] {
    const auto all = h.ask<std::vector<process_summary>>(list_atom_v, who);
    return !all.empty() && all.back().status == process_status::running;
  }));
}

}  // namespace

TEST_CASE("an interrupt ends one turn and nobody else, and the turn stays interrupted") {
  host h;
  auto other = h.who;
  other.turn = "turn-2";
  auto stranger = h.who;
  stranger.session = "somebody else";
  spawn_request request;
  request.command = "sleep 600";
  request.timeout = generous;
  auto one = later<run_result>(h, run_atom_v, h.who, request);
  auto two = later<run_result>(h, run_atom_v, other, request);
  auto three = later<run_result>(h, run_atom_v, stranger, request);
  REQUIRE(eventually([&] { return h.ask<node_status>(status_atom_v).started_total == 3; }));
  CHECK(h.ask<std::uint32_t>(interrupt_atom_v, h.who) == 1);
  const auto result = one.get();
  CHECK(result.status == run_status::interrupted);
  CHECK(result.process.exit->reason == finish_reason::interrupted);
  CHECK_THAT(result.output, ContainsSubstring("[Command interrupted]"));
  CHECK(alive_with_marker(result.process.id).empty());
  // The turn stays interrupted; a new one starts clean.
  CHECK(h.run("echo must not run").status == run_status::interrupted);
  CHECK(h.ask_error<start_result>(start_atom_v, h.who, request) == errc::interrupted);
  auto fresh = h.who;
  fresh.turn = "turn-3";
  request.command = "echo runs";
  CHECK(h.ask<run_result>(run_atom_v, fresh, request).output == "runs\n");
  CHECK(h.ask<std::uint32_t>(interrupt_atom_v, other) == 1);
  CHECK(two.get().status == run_status::interrupted);
  CHECK(h.ask<std::uint32_t>(interrupt_atom_v, stranger) == 1);
  CHECK(three.get().status == run_status::interrupted);
}

TEST_CASE("a yield ends the wait and keeps the process") {
  host h;
  spawn_request request;
  request.command = "echo so far; sleep 0.5; echo later; exit 4";
  request.timeout = std::chrono::seconds{30};
  auto run = later<run_result>(h, run_atom_v, h.who, request);
  wait_for_process(h, h.who);
  const auto id = h.ask<std::vector<process_summary>>(list_atom_v, h.who).back().id;
  REQUIRE(eventually([&] { return h.poll(id).total_bytes > 0; }));
  CHECK(h.ask<std::uint32_t>(yield_atom_v, h.who) == 1);
  const auto result = run.get();
  CHECK(result.status == run_status::yielded);
  CHECK(result.output == "so far\n");
  const auto ended = h.wait(id);
  CHECK(ended.process.exit->code == 4);
  CHECK(ended.output == "so far\nlater\n");
  CHECK_FALSE(ended.process.foreground);
}

TEST_CASE("a running foreground command can be detached from elsewhere") {
  host h;
  spawn_request request;
  request.id = make_process_id();
  request.command = "sleep 0.3; exit 6";
  auto run = later<run_result>(h, run_atom_v, h.who, request);
  wait_for_process(h, h.who);
  h.ask<process_summary>(detach_atom_v, h.who, request.id);
  CHECK(run.get().status == run_status::yielded);
  CHECK(h.wait(request.id).process.exit->code == 6);
}

TEST_CASE("a process belongs to its session") {
  host h;
  const auto started = h.start("sleep 600");
  auto other = h.who;
  other.session = "other";
  CHECK(h.ask_error<poll_result>(poll_atom_v, other, started.id, poll_options{}) ==
        errc::not_found);
  CHECK(h.ask<std::vector<process_summary>>(list_atom_v, other).empty());
  h.ask<process_summary>(handoff_atom_v, h.who, started.id, std::string{"other"},
                         std::string{"keep the server for the tests"});
  CHECK(h.ask_error<poll_result>(poll_atom_v, h.who, started.id, poll_options{}) ==
        errc::not_found);
  const auto polled = h.ask<poll_result>(poll_atom_v, other, started.id, poll_options{});
  CHECK(polled.process.handoff_note == "keep the server for the tests");
}

TEST_CASE("ids may be shortened as long as they are clear") {
  host h;
  spawn_request request;
  request.command = "sleep 600";
  request.id = "proc_abcd00000001";
  h.ask<start_result>(start_atom_v, h.who, request);
  CHECK(h.poll("abcd").process.id == request.id);
  CHECK(h.poll("proc_abcd").process.id == request.id);
  CHECK(h.ask_error<poll_result>(poll_atom_v, h.who, std::string{"abc"}, poll_options{}) ==
        errc::not_found);
  request.id = "proc_abcd00000002";
  h.ask<start_result>(start_atom_v, h.who, request);
  CHECK(h.ask_error<poll_result>(poll_atom_v, h.who, std::string{"abcd"}, poll_options{}) ==
        errc::not_found);
  CHECK(h.poll("abcd00000002").process.id == request.id);
  CHECK(h.ask_error<start_result>(start_atom_v, h.who, request) == errc::bad_argument);
}

TEST_CASE("limits refuse with the number and never evict what runs") {
  auto opts = host::quick_options();
  opts.running_per_session = 3;
  opts.finished_per_session = 2;
  host h{opts};
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(h.start("sleep 600").id);
  spawn_request request;
  request.command = "sleep 600";
  CHECK(h.ask_error<start_result>(start_atom_v, h.who, request) == errc::limit_reached);
  for (const auto& id : ids) CHECK(h.poll(id).process.status == process_status::running);
  for (const auto& id : ids) h.kill(id);
  // Of the finished ones the newest are kept.
  CHECK(h.ask_error<poll_result>(poll_atom_v, h.who, ids[0], poll_options{}) == errc::not_found);
  CHECK(h.poll(ids[1]).process.status == process_status::finished);
  CHECK(h.poll(ids[2]).process.status == process_status::finished);
}

TEST_CASE("finished processes are kept for a time that begins at their end") {
  auto opts = host::quick_options();
  opts.finished_retention = std::chrono::milliseconds{300};
  host h{opts};
  const auto started = h.start("sleep 0.5");
  h.wait(started.id);
  CHECK(h.poll(started.id).process.status == process_status::finished);
  CHECK(
      eventually([&] { return h.ask<std::vector<process_summary>>(list_atom_v, h.who).empty(); }));
}

TEST_CASE("sweeps spare what must outlive them, explicit stops do not") {
  host h;
  const auto kept = h.start("sleep 600", [](spawn_request& r) { r.persist_on_release = true; });
  const auto swept = h.start("sleep 600");
  const auto baseline = h.start("sleep 600");
  kill_all_options what;
  what.except = {baseline.id};
  CHECK(h.ask<kill_all_result>(kill_all_atom_v, h.who, what).killed == 1);
  CHECK(h.poll(swept.id).process.status == process_status::finished);
  CHECK(h.poll(kept.id).process.status == process_status::running);
  CHECK(h.poll(baseline.id).process.status == process_status::running);
  CHECK(h.ask<bool>(active_atom_v, h.who, caf::timespan{0}));
  what.sweep = false;
  what.except.clear();
  CHECK(h.ask<kill_all_result>(kill_all_atom_v, h.who, what).killed == 2);
  CHECK_FALSE(h.ask<bool>(active_atom_v, h.who, caf::timespan{0}));
}

TEST_CASE("shutting down ends everything within its limits") {
  std::string one;
  std::string two;
  {
    host h;
    one = h.start("sleep 600").id;
    two = h.start("trap '' TERM; setsid sleep 600 & while :; do sleep 1; done").id;
    const auto three = h.run("sleep 600 & echo left behind");
    CHECK_FALSE(alive_with_marker(three.process.id).empty());
    h.core().shutdown();
    CHECK(alive_with_marker(three.process.id).empty());
  }
  CHECK(alive_with_marker(one).empty());
  CHECK(alive_with_marker(two).empty());
}

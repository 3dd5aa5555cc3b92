// Bytes written to the stdin of `cat >/dev/null` in pieces of 256 KiB, from the first write until
// the process is finished. The host stops while the queue of the core is nearly full and looks again
// a little later. Raw: write(2) of the same pieces to a pipe.
#include <unistd.h>

#include <cerrno>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

constexpr std::size_t piece = 256 * 1024;
constexpr const char* sink = "cat >/dev/null";

/// a: pieces. Gives MB/s.
std::vector<double> raw_write(const raw_args& args) {
  raw_options with;
  with.pipe_input = true;
  const auto start = now_ns();
  const auto child = raw_spawn(sink, with);
  const std::string data(piece, 'x');
  for (double i = 0; i < args.a; ++i) {
    for (std::size_t done = 0; done < piece;) {
      const auto n = ::write(child.input, data.data() + done, piece - done);
      if (n < 0 && errno != EINTR) throw std::runtime_error{"write to the pipe failed"};
      if (n > 0) done += static_cast<std::size_t>(n);
    }
  }
  ::close(child.input);
  raw_wait(child.pid);
  return {args.a * piece / 1e6 / seconds_since(start)};
}

double write_rate(core& host, int pieces) {
  auto request = background(sink);
  request.stdin_pipe = true;
  const std::string data(piece, 'x');
  const std::uint64_t full = core::default_options().stdin_queue_bytes - piece;
  const auto start = now_ns();
  const auto id = host.start(std::move(request));
  for (int i = 0; i < pieces; ++i) {
    auto answer = host.ask<write_result>(write_atom_v, host.who(), id, write_request{data, false});
    // Asking with nothing tells how much is queued.
    while (answer.bytes_queued > full) {
      ::usleep(500);
      answer = host.ask<write_result>(write_atom_v, host.who(), id, write_request{{}, false});
    }
  }
  host.ask<write_result>(write_atom_v, host.who(), id, write_request{{}, true});
  host.wait(id);
  return pieces * double{piece} / 1e6 / seconds_since(start);
}

}  // namespace

results run_stdin(context& ctx) {
  core host;
  write_rate(host, 4);
  const int pieces = ctx.pick(4'000, 800);
  const auto [ours, raw] = interleave(
      ctx.pick(7, 3), [&] { return write_rate(host, pieces); },
      [&] { return ctx.raw.call(raw_write, raw_args::make(pieces)).at(0); });
  return {{"stdin/pipe", ours, "MB/s", raw, {}, {}}};
}

}  // namespace troupe::bench

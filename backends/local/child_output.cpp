// Reading a child's output into the ring.
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "troupe/backends/local/child.hpp"

namespace troupe::backends::local {

namespace {

// One turn of one child: others must get theirs in a flood.
constexpr int rounds_per_turn = 4;
constexpr std::size_t bytes_per_read = 256 * 1024;

bool would_block(ssize_t n) {
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

void child::pump() {
  if (!output_ || output_over_) {
    return;
  }
  const auto self = shared_from_this();
  auto result = read_result::data;
  for (int round = 0; round < rounds_per_turn && result == read_result::data; ++round) {
    result = read_some();
  }
  stalled_ = result == read_result::full;
  tell_advanced();
  if (result == read_result::end) {
    output_ended();
  } else if (phase_ == phase::draining && drain_is_over(result)) {
    finish_drain(false);
  } else if (!stalled_) {
    arm_read();
  }
}

void child::arm_read() {
  if (reading_ || !output_ || output_over_) {
    return;
  }
  reading_ = true;
  output_->async_wait(descriptor::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        self->reading_ = false;
                        if (!error) {
                          self->pump();
                        }
                      });
}

void child::resume() {
  if (stalled_) {
    stalled_ = false;
    pump();
  }
}

child::read_result child::read_some() {
  if (phase_ == phase::discarding) {
    return discard();
  }
  if (pty_) {
    return read_terminal();
  }
  return report_ ? read_reported() : read_pipe();
}

child::read_result child::read_pipe() {
  auto& ring = lease_->producer();
  const auto parts = ring.writable_parts();
  if (parts[0].second == 0) {
    return read_result::full;
  }
  iovec pieces[2];
  pieces[0].iov_base = parts[0].first;
  pieces[0].iov_len = std::min(parts[0].second, bytes_per_read);
  pieces[1].iov_base = parts[1].first;
  pieces[1].iov_len = std::min(parts[1].second, bytes_per_read - pieces[0].iov_len);
  const auto n = ::readv(output_->native_handle(), pieces, pieces[1].iov_len == 0 ? 1 : 2);
  if (n > 0) {
    ring.commit(static_cast<std::size_t>(n));
    must_read_ -= n;
    return read_result::data;
  }
  if (would_block(n)) {
    return read_result::again;
  }
  return n < 0 && errno == EINTR ? read_result::data : read_result::end;
}

/// False: the ring is full, and something is left.
bool child::flush_pending(std::string& pending) {
  if (!pending.empty()) {
    pending.erase(0, lease_->producer().append(pending));
  }
  return pending.empty();
}

// Through a stage that changes the bytes, which puts what is for the ring into `pending`: a copy more
// than `read_pipe`.
template <class Stage, class Feed, class Finish>
child::read_result child::read_through(Stage& stage, Feed feed, Finish finish) {
  if (!flush_pending(stage.pending)) {
    return read_result::full;
  }
  if (stage.ended) {
    return read_result::end;
  }
  auto& scratch = services_.scratch;
  const auto n = ::read(output_->native_handle(), scratch.data(), scratch.size());
  if (would_block(n)) {
    return read_result::again;
  }
  if (n < 0 && errno == EINTR) {
    return read_result::data;
  }
  if (n > 0) {
    must_read_ -= n;
    feed(std::string_view(scratch.data(), static_cast<std::size_t>(n)));
  } else {  // EIO: nobody has the terminal open
    stage.ended = true;
    finish();
  }
  return flush_pending(stage.pending) ? read_result::data : read_result::full;
}

child::read_result child::read_reported() {
  auto& r = *report_;
  return read_through(
      r, [&](std::string_view bytes) { r.filter.feed(bytes, r.pending); },
      [&] { r.filter.finish(r.pending); });
}

child::read_result child::read_terminal() {
  auto& t = *terminal_;
  const auto feed = [&](std::string_view bytes) {
    t.answers.clear();
    t.unfiltered.clear();
    if (report_) {
      report_->pending.clear();
      report_->filter.feed(bytes, report_->pending);
      bytes = report_->pending;
    }
    t.responder.feed(bytes, t.unfiltered, t.answers);
    t.echoes.feed(t.unfiltered, t.pending);
    if (!t.answers.empty()) {
      expect_echo(t.answers);
      stdin_.push_front(t.answers);
      flush_stdin();
    }
  };
  const auto finish = [&] {
    t.unfiltered.clear();
    if (report_) {
      report_->pending.clear();
      report_->filter.finish(report_->pending);
      t.responder.feed(report_->pending, t.unfiltered, t.answers);
    }
    t.responder.finish(t.unfiltered);
    t.echoes.feed(t.unfiltered, t.pending);
    t.echoes.finish(t.pending);
  };
  return read_through(t, feed, finish);
}

// A program that asks usually has echo off; one that has not must not find our answer in its output.
void child::expect_echo(const std::string& typed) {
  termios now{};
  if (::tcgetattr(output_->native_handle(), &now) == 0 && (now.c_lflag & ECHO) != 0) {
    terminal_->echoes.expect(typed, (now.c_lflag & ECHOCTL) != 0);
  }
}

child::read_result child::discard() {
  auto& scratch = services_.scratch;
  const auto n = ::read(output_->native_handle(), scratch.data(), scratch.size());
  if (n > 0) {
    if (lease_) {
      lease_->get().header().discarded.fetch_add(static_cast<std::uint64_t>(n),
                                                 std::memory_order_relaxed);
    }
    return read_result::data;
  }
  if (would_block(n)) {
    return read_result::again;
  }
  return n < 0 && errno == EINTR ? read_result::data : read_result::end;
}

// While draining the consumer has been told of the exit and reads the ring anyway when `drained`
// comes; it is woken only if the rest cannot go on without it.
void child::tell_advanced() {
  if (!sink_ || !lease_ || (phase_ != phase::running && !(phase_ == phase::draining && stalled_))) {
    return;
  }
  const auto& ring = lease_->producer();
  if (ring.end() != told_ && ring.want_wake()) {
    sink_->advanced();
  }
  told_ = ring.end();
}

void child::output_ended() {
  output_over_ = true;
  if (!pty_ || exited_) {
    output_.reset();
  }
  if (!exited_ && !pidfd_ && services_.may_have_ended) {
    services_.may_have_ended(pid_);
  }
  const auto was = phase_;
  if (sink_ && was != phase::discarding) {
    sink_->eof();
  }
  if (was == phase::draining) {
    finish_drain(true);
  } else if (was == phase::discarding) {
    phase_ = phase::over;
    if (exited_) {
      output_.reset();
    }
    forget_if_done();
  }
}

}  // namespace troupe::backends::local

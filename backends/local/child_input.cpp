// A child's stdin, the size of its terminal, and single signals.
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <utility>

#include "troupe/backends/local/child.hpp"

namespace troupe::backends::local {

void child::write(std::uint64_t token, std::string data, bool eof) {
  if (phase_ == phase::starting) {
    defer([this, token, data = std::move(data), eof] { write(token, data, eof); });
    return;
  }
  const auto outcome = stdin_.push(data, eof);
  if (sink_) {
    sink_->written(token, outcome);
  }
  flush_stdin();
}

void child::flush_stdin() {
  switch (stdin_.flush()) {
    case stdin_queue::progress::empty:
      break;
    case stdin_queue::progress::blocked:
      arm_write();
      break;
    case stdin_queue::progress::closed:
      input_.reset();
      break;
  }
}

void child::arm_write() {
  auto& to = pty_ ? output_ : input_;
  if (writing_ || !to) {
    return;
  }
  writing_ = true;
  to->async_wait(descriptor::wait_write,
                 [self = shared_from_this()](const boost::system::error_code& error) {
                   self->writing_ = false;
                   if (!error) {
                     self->flush_stdin();
                   }
                 });
}

void child::close_stdin() {
  stdin_.close();
  input_.reset();
}

void child::resize(std::uint16_t rows, std::uint16_t cols) {
  if (defer([this, rows, cols] { resize(rows, cols); }) || !pty_ || !output_) {
    return;
  }
  winsize size{};
  size.ws_row = rows;
  size.ws_col = cols;
  ::ioctl(output_->native_handle(), TIOCSWINSZ, &size);
  terminal_->responder.resize(rows, cols);
}

void child::signal(std::uint64_t token, int signal_number) {
  if (defer([this, token, signal_number] { signal(token, signal_number); })) {
    return;
  }
  const auto answer = [](child& self, std::uint64_t which, int error) {
    if (self.sink_) {
      self.sink_->signalled(which, error);
    }
  };
  if (!exited_) {
    int group = pid_;
    pid_t foreground = 0;
    if (pty_ && output_ && ::ioctl(output_->native_handle(), TIOCGPGRP, &foreground) == 0 &&
        foreground > 0) {
      group = foreground;
    }
    answer(*this, token, ::kill(-group, signal_number) == 0 ? 0 : errno);
    return;
  }
  // The number of the group may be somebody else's by now: only members that a scan proves.
  const auto who = identity();
  services_.table.query(who, [self = shared_from_this(), who, token, signal_number, answer,
                              &loop = services_.loop](const snapshot& all) {
    int error = ESRCH;
    for (const auto& entry : tree_of(all, who)) {
      if (entry.group) {
        const int e = signal_process({entry.row->pid, entry.row->start_ticks}, signal_number);
        error = error == 0 ? 0 : e;
      }
    }
    loop.post([self, token, error, answer] { answer(*self, token, error); });
  });
}

}  // namespace troupe::backends::local

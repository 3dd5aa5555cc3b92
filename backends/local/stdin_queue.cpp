// See stdin_queue.hpp.
#include "troupe/backends/local/stdin_queue.hpp"

#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace troupe::backends::local {

namespace {

// The kernel throws away what a canonical line has beyond this (N_TTY_BUF_SIZE - 1).
constexpr std::size_t longest_line = 4'095;
constexpr char default_eof = 4;

struct line_mode {
  bool canonical = true;
  bool cr_is_newline = true;
  char eof = default_eof;
  std::optional<char> extra;  // VEOL
};

line_mode read_line_mode(int fd) {
  termios t{};
  line_mode mode;
  if (::tcgetattr(fd, &t) == 0) {
    mode.canonical = (t.c_lflag & ICANON) != 0;
    mode.cr_is_newline = (t.c_iflag & ICRNL) != 0;
    if (mode.canonical && t.c_cc[VEOF] != _POSIX_VDISABLE) {
      mode.eof = static_cast<char>(t.c_cc[VEOF]);
    }
    if (mode.canonical && t.c_cc[VEOL] != _POSIX_VDISABLE) {
      mode.extra = static_cast<char>(t.c_cc[VEOL]);
    }
  }
  return mode;
}

}  // namespace

void stdin_queue::open(int fd, bool pty) noexcept {
  fd_ = fd;
  pty_ = pty;
  was_open_ = true;
}

void stdin_queue::close() noexcept {
  fd_ = -1;
  queue_ = {};
  done_ = 0;
}

write_status stdin_queue::check_lines(std::string_view data) {
  const auto mode = read_line_mode(fd_);
  if (!mode.canonical) {
    line_ = 0;
    return write_status::ok;
  }
  auto length = line_;
  for (const char c : data) {
    if (c == '\n' || (c == '\r' && mode.cr_is_newline) || c == mode.eof || c == mode.extra) {
      length = 0;
    } else if (++length > longest_line) {
      return write_status::line_too_long;
    }
  }
  line_ = length;
  return write_status::ok;
}

write_outcome stdin_queue::push(std::string_view data, bool eof) {
  if (!is_open() || eof_) {
    return {was_open_ ? write_status::closed : write_status::no_stdin, 0, queued()};
  }
  if (queued() + data.size() > limit_) {
    flush();
    if (is_open() && queued() + data.size() > limit_) {
      return {write_status::would_block, 0, queued()};
    }
  }
  if (pty_) {
    if (const auto status = check_lines(data); status != write_status::ok) {
      return {status, 0, queued()};
    }
  }
  queue_.append(data);
  if (eof && pty_) {
    queue_.append(line_ == 0 ? 1 : 2, read_line_mode(fd_).eof);
    line_ = 0;
  } else if (eof) {
    eof_ = true;
  }
  const bool ended_before = eof_ && data.empty();
  if (flush() == progress::closed && !eof_ && !ended_before) {
    return {write_status::closed, 0, 0};
  }
  return {write_status::ok, data.size(), queued()};
}

void stdin_queue::push_front(std::string_view data) {
  if (is_open()) {
    queue_.replace(0, done_, data);
    done_ = 0;
  }
}

stdin_queue::progress stdin_queue::flush() {
  while (is_open() && done_ < queue_.size()) {
    const auto n = ::write(fd_, queue_.data() + done_, queue_.size() - done_);
    if (n > 0) {
      done_ += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && errno != EAGAIN) {
      close();
    } else {
      if (done_ > limit_ / 8) {  // give memory back now and then, not at every byte
        queue_.erase(0, done_);
        done_ = 0;
      }
      return progress::blocked;
    }
  }
  if (!is_open()) {
    return progress::closed;
  }
  queue_.clear();
  done_ = 0;
  if (queue_.capacity() > 64 * 1024) {
    queue_.shrink_to_fit();
  }
  if (eof_) {
    close();
    return progress::closed;
  }
  return progress::empty;
}

}  // namespace troupe::backends::local

// What is to be written to the stdin of one child: a queue in front of a non-blocking descriptor.
// Belongs to the loop's thread; never blocks. Knows what a terminal in canonical mode takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "troupe/backends/backend.hpp"

namespace troupe::backends::local {

class stdin_queue {
 public:
  enum class progress { empty, blocked, closed };

  explicit stdin_queue(std::size_t limit) noexcept : limit_(limit) {}

  /// `fd` stays the caller's and must stay open until `closed`.
  void open(int fd, bool pty) noexcept;
  bool is_open() const noexcept { return fd_ >= 0; }
  /// More may be pushed.
  bool takes_more() const noexcept { return is_open() && !eof_; }
  /// Forgets what is queued. What comes later is refused as closed.
  void close() noexcept;

  /// Takes all of `data` or nothing, writes what the kernel takes at once. `eof` is queued behind:
  /// a pipe is then to be closed; a terminal gets its EOF character (twice if the line before it is
  /// unfinished: once to hand over the line, once at the start of the next) and stays open.
  write_outcome push(std::string_view data, bool eof);
  /// Before everything else: answers to a program's queries.
  void push_front(std::string_view data);
  /// Writes until the queue is empty or the kernel takes no more. `closed`: the reader is gone, or
  /// the EOF has been reached; the descriptor may be closed.
  progress flush();
  std::size_t queued() const noexcept { return queue_.size() - done_; }

 private:
  write_status check_lines(std::string_view data);

  std::size_t limit_;
  int fd_ = -1;
  bool pty_ = false;
  bool was_open_ = false;
  bool eof_ = false;
  std::size_t line_ = 0;  // bytes since the last end of line, as a terminal counts them
  std::string queue_;
  std::size_t done_ = 0;
};

}  // namespace troupe::backends::local

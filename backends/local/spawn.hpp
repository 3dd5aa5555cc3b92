// Starts one child: the only place where a process is made. Used by the direct launcher (and by the
// keeper later). A child is cloned vfork-style (no page tables copied), and shares the descriptor
// table until its first call, so that a start costs the same however much the host has open.
//
// What the child gets: its own session, stdin/stdout/stderr and no other descriptor, default signal
// dispositions, an empty mask, exactly the environment asked for. Whatever fails is told as a
// `start_error`; then no descriptor, zombie or thread is left.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "troupe/backends/backend.hpp"

namespace troupe::backends::local {

/// Owns one descriptor.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~unique_fd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

/// A child that runs. The parent's ends are non-blocking and close-on-exec.
struct spawned {
  int pid = 0;
  std::uint64_t start_ticks = 0;
  unique_fd pidfd;
  /// Read end of the output pipe, or the master of the PTY (then also stdin).
  unique_fd output;
  /// Write end of the stdin pipe, if one was asked for.
  unique_fd input;
  /// The marker it was started with, where that is not its own (a prepared child).
  std::string first_marker;
  /// Write end of the child's descriptor 8, if its command is to be given later.
  unique_fd command;
};

struct spawn_options {
  /// Share the descriptor table with the child until its first call (Linux 5.9). Falls back by
  /// itself where the kernel cannot; false forces the fall-back.
  bool share_descriptors = true;
  /// Soft RLIMIT_NOFILE of children, where the host has raised its own.
  std::optional<rlim_t> nofile_soft;
};

using spawn_result = std::variant<spawned, start_error>;

/// One per thread: owns the stack of its children and the descriptor slots they start with. Not
/// thread-safe; `spawn` blocks its thread until the child has called exec.
class spawner {
 public:
  explicit spawner(spawn_options options = {});
  ~spawner();
  spawner(const spawner&) = delete;
  spawner& operator=(const spawner&) = delete;

  /// `command_later`: descriptor 8 of the child is a pipe, to be written to afterwards.
  spawn_result spawn(const spawn_spec& spec, bool command_later = false);

 private:
  bool reserve_slots();
  void clear_slots() noexcept;

  spawn_options options_;
  void* stack_ = nullptr;
  unique_fd null_;
  unique_fd in_slot_;
  unique_fd out_slot_;
  unique_fd state_slot_;
  unique_fd command_slot_;
};

/// "ENOENT"; "errno 4711" for one without a name.
std::string errno_name(int error);

/// A pidfd of the process, if it still runs and is the one that started then; else empty.
unique_fd open_process(int pid, std::uint64_t start_ticks);

/// Field 22 of /proc/<pid>/stat; 0 when there is no such process.
std::uint64_t read_start_ticks(int pid);

}  // namespace troupe::backends::local

// Runs between clone and exec, in the memory of the parent: raw system calls only, no library state,
// no allocation, no sanitizer instrumentation (its bookkeeping belongs to the suspended thread).
#include "troupe/backends/local/spawn_child.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#if defined(__has_attribute)
#if __has_attribute(disable_sanitizer_instrumentation)
#define TROUPE_UNINSTRUMENTED \
  __attribute__((no_sanitize("address", "thread", "undefined"), disable_sanitizer_instrumentation))
#endif
#endif
#ifndef TROUPE_UNINSTRUMENTED
#define TROUPE_UNINSTRUMENTED __attribute__((no_sanitize("address", "thread", "undefined")))
#endif

namespace troupe::backends::local {

namespace {

// The kernel's own sigaction (glibc's differs, and refuses signals 32 and 33). All zero is SIG_DFL.
struct kernel_sigaction {
  unsigned long words[4];
};
constexpr int last_signal = 64;

[[noreturn]] TROUPE_UNINSTRUMENTED void give_up(child_plan& plan, stage where) noexcept {
  plan.failed_errno = errno;
  plan.failed_stage = where;
  for (;;) {
    ::syscall(SYS_exit_group, 127);
  }
}

TROUPE_UNINSTRUMENTED void close_between(const child_plan& plan, unsigned first,
                                         unsigned last) noexcept {
  if (::syscall(SYS_close_range, first, last, 0U) != 0) {
    for (unsigned fd = first; fd < plan.close_limit && fd <= last; ++fd) {
      ::syscall(SYS_close, fd);
    }
  }
}

TROUPE_UNINSTRUMENTED void take_descriptors(child_plan& plan) noexcept {
  if (plan.shared && ::syscall(SYS_close_range, plan.first_free, ~0U, CLOSE_RANGE_UNSHARE) != 0) {
    give_up(plan, stage::none);  // errno alone: the parent tries again without sharing
  }
  ::syscall(SYS_setsid);
  if (plan.pty && ::syscall(SYS_ioctl, plan.in, TIOCSCTTY, 0) != 0) {
    give_up(plan, stage::limits);
  }
  if (::syscall(SYS_dup3, plan.in, 0, 0) < 0 || ::syscall(SYS_dup3, plan.out, 1, 0) < 0 ||
      ::syscall(SYS_dup3, plan.out, 2, 0) < 0) {
    give_up(plan, stage::limits);
  }
  // The slots are above the scripts' descriptors, so nothing is overwritten that is still needed.
  if ((plan.state >= 0 && ::syscall(SYS_dup3, plan.state, state_descriptor, 0) < 0) ||
      (plan.command >= 0 && ::syscall(SYS_dup3, plan.command, command_descriptor, 0) < 0)) {
    give_up(plan, stage::limits);
  }
  unsigned first = 3;
  if (plan.command >= 0 || plan.state >= 0) {
    close_between(plan, 3, command_descriptor - 1);
    if (plan.command < 0) {
      ::syscall(SYS_close, command_descriptor);
    }
    if (plan.state < 0) {
      ::syscall(SYS_close, state_descriptor);
    }
    first = state_descriptor + 1;
  }
  close_between(plan, first, ~0U);
}

// Handlers must be gone before the mask is: they would run in the parent's memory.
TROUPE_UNINSTRUMENTED void reset_signals() noexcept {
  const kernel_sigaction standard{};
  for (int number = 1; number <= last_signal; ++number) {
    if (number != SIGKILL && number != SIGSTOP) {
      ::syscall(SYS_rt_sigaction, number, &standard, nullptr, sizeof(unsigned long));
    }
  }
  const unsigned long empty = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &empty, nullptr, sizeof empty);
}

}  // namespace

TROUPE_UNINSTRUMENTED int run_child(void* arg) noexcept {
  auto& plan = *static_cast<child_plan*>(arg);
  take_descriptors(plan);
  if (::syscall(SYS_chdir, plan.cwd) != 0) {
    give_up(plan, stage::chdir);
  }
  if (plan.set_nofile) {
    ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &plan.nofile, nullptr);
  }
  reset_signals();
  ::syscall(SYS_execve, plan.path, plan.argv, plan.envp);
  give_up(plan, stage::exec);
}

}  // namespace troupe::backends::local

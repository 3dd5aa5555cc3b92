// troupe-keeper: the parent of the children of a node, which outlives the node (docs/keeper.md). Started
// by the node, with the listening socket: `troupe-keeper --dir D --listen-fd 3`. Two threads: the io
// loop's, and this one, which starts children and reads the process table.
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "troupe/apps/troupe-keeper/server.hpp"
#include "troupe/backends/local/worker.hpp"

namespace {

using troupe::backends::keeper::unique_fd;

constexpr const char* lock_name = "keeper.lock";
constexpr unsigned lock_limit_s = 10;

int usage() {
  std::fputs(
      "usage: troupe-keeper --dir DIRECTORY --listen-fd NUMBER\n"
      "The parent of the processes of a troupe node; nodes start it themselves.\n",
      stderr);
  return 2;
}

// Away from the node: no descriptor of it, a session of our own, a parent that does not wait for us.
void leave_the_node(unsigned listener) {
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) {
    ::dup2(null, fd);
  }
  ::syscall(SYS_close_range, 3U, listener - 1, 0U);
  ::syscall(SYS_close_range, listener + 1, ~0U, 0U);
  ::fcntl(static_cast<int>(listener), F_SETFD, FD_CLOEXEC);
  if (::fork() != 0) {
    ::_exit(0);
  }
  ::setsid();
}

// One keeper per directory. The one before may be about to end: it removes its lock when it has.
unique_fd lock(int dir) {
  ::alarm(lock_limit_s);  // its default action ends us
  for (;;) {
    unique_fd file(::openat(dir, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    struct stat held {};
    struct stat named {};
    if (!file || ::flock(file.get(), LOCK_EX) != 0) {
      return {};
    }
    if (::fstat(file.get(), &held) == 0 && ::fstatat(dir, lock_name, &named, 0) == 0 &&
        held.st_ino == named.st_ino) {
      ::alarm(0);
      return file;
    }
  }
}

rlim_t raise_descriptor_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const auto soft = files.rlim_cur;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return soft;
}

void block_child_signal() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &child, nullptr);
}

int run(const char* dir, int listener) {
  leave_the_node(static_cast<unsigned>(listener));
  ::prctl(PR_SET_DUMPABLE, 0);
  unique_fd folder(::open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    return 1;
  }
  const auto held = lock(folder.get());
  if (!held || ::chdir("/") != 0) {
    return 1;
  }
  block_child_signal();
  troupe::backends::local::worker worker;
  troupe::backends::io_loop loop;
  const int dir_fd = folder.get();
  troupe::keeper_app::server server(loop, worker,
                                    {dir, std::move(folder), unique_fd(listener),
                                     raise_descriptor_limit(), [&worker] { worker.stop(); }});
  loop.post([&server] { server.begin(); });
  worker.run();
  ::unlinkat(dir_fd, lock_name, 0);
  ::_exit(0);  // nothing here wants to be taken apart
}

}  // namespace

#ifdef TROUPE_REPORTS
// For sanitizers: a keeper has no environment with options, and what it prints goes nowhere. Leaks are
// not looked for: it ends by _exit.
extern "C" const char* __asan_default_options() {
  return "log_path=" TROUPE_REPORTS;
}
extern "C" const char* __tsan_default_options() {
  return "halt_on_error=1:log_path=" TROUPE_REPORTS;
}
#endif

int main(int count, char** arguments) {
  const char* dir = nullptr;
  int listener = -1;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = arguments[i];
    if (name == "--dir") {
      dir = arguments[i + 1];
    } else if (name == "--listen-fd") {
      listener = std::atoi(arguments[i + 1]);
    }
  }
  if (count == 2 && std::string_view(arguments[1]) == "--version") {
    std::puts("troupe-keeper " TROUPE_VERSION);
    return 0;
  }
  if (count != 5 || dir == nullptr || dir[0] != '/' || listener < 3) {
    return usage();
  }
  try {
    return run(dir, listener);
  } catch (const std::exception& e) {
    return 1;
  }
}

// The chaos test of the tests, again and again: 50 processes of all kinds, whose node is killed 20 times
// in each round. Only where it is asked for by name. One round with --quick, else until a round fails or the
// program is told to stop.
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "troupe/bench/cleanup.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/state_dir.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

constexpr int kills_each = 20;

/// What it says goes to our stderr.
int run_program(const std::string& path) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const std::array<char*, 2> argv{const_cast<char*>(path.c_str()), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, path.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) throw std::system_error{error, std::generic_category(), "start " + path};
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error{errno, std::generic_category(), "wait for " + path};
  }
  return status;
}

}  // namespace

results run_chaos(context& ctx) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const auto test = (self.parent_path().parent_path() / "tests" / "e2e_chaos_test").string();
  if (!std::filesystem::exists(test)) {
    throw std::runtime_error{"there is no " + test + ": build everything, not only the programs"};
  }
  const state_dir place;  // also for what a test that is killed leaves behind
  ::setenv("TMPDIR", place.path().c_str(), 1);
  ::setenv("TROUPE_CHAOS_ROUNDS", std::to_string(kills_each).c_str(), 1);
  const auto start = now_ns();
  int rounds = 0;
  do {
    stop_point();
    if (const int status = run_program(test); status != 0) {
      stop_point();
      throw std::runtime_error{"round " + std::to_string(rounds + 1) + " failed, see above"};
    }
    ++rounds;
    progress("chaos: " + std::to_string(rounds) + " rounds, " +
             std::to_string(rounds * kills_each) + " kills, nothing lost");
  } while (!ctx.quick);
  return {
      {"chaos/round", seconds_since(start) / rounds, "s", {}, {}, "50 processes, 20 kills each"}};
}

}  // namespace troupe::bench

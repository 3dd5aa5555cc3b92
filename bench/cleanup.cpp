#include "troupe/bench/cleanup.hpp"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "troupe/bench/state_dir.hpp"

namespace troupe::bench {

namespace {

std::atomic<bool> stopping{false};

sigset_t stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  return set;
}

/// Live descendants of this process.
std::vector<pid_t> descendants() {
  struct row {
    pid_t parent = 0;
    char state = '?';
  };
  std::unordered_map<pid_t, row> rows;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return {};
  while (const dirent* entry = ::readdir(proc)) {
    const auto pid = static_cast<pid_t>(std::atoi(entry->d_name));
    if (pid <= 0) continue;
    std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
    std::string line;
    std::getline(file, line);
    const auto close = line.rfind(')');
    if (close == std::string::npos || close + 4 >= line.size()) continue;
    rows[pid] = {static_cast<pid_t>(std::atoi(line.c_str() + close + 4)), line[close + 2]};
  }
  ::closedir(proc);
  const auto self = ::getpid();
  std::vector<pid_t> found;
  for (const auto& [pid, what] : rows) {
    if (pid == self || what.state == 'Z' || what.state == 'X') continue;
    auto up = what.parent;
    for (int depth = 0; up > 1 && up != self && depth < 1000; ++depth) {
      const auto next = rows.find(up);
      up = next == rows.end() ? 0 : next->second.parent;
    }
    if (up == self) found.push_back(pid);
  }
  return found;
}

[[noreturn]] void stop(int signal) {
  stopping = true;
  // A start that was already under way may still appear for a moment.
  for (int quiet = 0, round = 0; quiet < 10 && round < 1000; ++round) {
    const auto alive = descendants();
    quiet = alive.empty() ? quiet + 1 : 0;
    for (const auto pid : alive) ::kill(pid, SIGKILL);
    ::usleep(10'000);
  }
  remove_state_dirs();
  ::_exit(128 + signal);
}

}  // namespace

void block_stop_signals() {
  const auto set = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void watch_stop_signals() {
  std::thread{[] {
    const auto set = stop_signals();
    int signal = 0;
    while (::sigwait(&set, &signal) != 0) {
    }
    stop(signal);
  }}.detach();
}

void stop_point() {
  while (stopping) ::pause();
}

}  // namespace troupe::bench

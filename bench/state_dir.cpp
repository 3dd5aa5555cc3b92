#include "troupe/bench/state_dir.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "troupe/bench/core.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

namespace fs = std::filesystem;

struct known_dirs {
  std::mutex mutex;
  std::set<std::string> paths;
};

known_dirs& known() {
  static known_dirs dirs;
  return dirs;
}

/// A keeper without children and node ends at once, and removes its socket first.
bool has_keeper(const std::string& dir) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator{dir, ec}) {
    if (fs::exists(entry.path() / "keeper.lock", ec)) return true;
  }
  return false;
}

/// Clock ticks that this process has used, if it is a keeper of ours. We are the subreaper: a keeper
/// becomes our child when the process that started it ends.
std::optional<double> ticks_of_keeper(const std::string& pid) {
  std::ifstream file{"/proc/" + pid + "/stat"};
  std::string line;
  std::getline(file, line);
  if (line.find("(troupe-keeper)") == line.npos) return {};
  std::istringstream fields{line.substr(line.rfind(')') + 1)};
  std::string state;
  pid_t parent = 0;
  fields >> state >> parent;
  if (parent != ::getpid() || state == "Z") return {};
  double ticks = 0;
  std::string skipped;
  for (int field = 5; field <= 13; ++field) fields >> skipped;
  for (int field = 14; field <= 15; ++field) {
    double some = 0;
    fields >> some;
    ticks += some;
  }
  return ticks;
}

}  // namespace

state_dir::state_dir() {
  const char* given = std::getenv("TMPDIR");
  const auto below = given != nullptr && *given != '\0' ? fs::path{given} : fs::current_path();
  path_ = (below / "troupe-bench-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) {
    throw std::system_error{errno, std::generic_category(), "mkdtemp " + path_};
  }
  const std::lock_guard guard{known().mutex};
  known().paths.insert(path_);
}

state_dir::~state_dir() {
  using namespace std::chrono_literals;
  for (int i = 0; i < 500 && has_keeper(path_); ++i) std::this_thread::sleep_for(10ms);
}

options state_dir::kept_options(bool keeper) const {
  auto result = core::default_options();
  result.state_dir = path_;
  result.keeper = keeper;
  result.warn = [](const std::string& text) { progress("warning: " + text); };
  return result;
}

double keeper_cpu_seconds() {
  double ticks = 0;
  bool any = false;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator{"/proc", ec}) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    if (const auto used = ticks_of_keeper(name)) {
      ticks += *used;
      any = true;
    }
  }
  if (!any) throw std::runtime_error{"there is no keeper"};
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void remove_state_dirs() {
  const std::lock_guard guard{known().mutex};
  std::error_code ec;
  for (const auto& path : known().paths) {
    fs::remove_all(path, ec);
    if (ec) progress(path + " cannot be removed: " + ec.message());
  }
  known().paths.clear();
}

}  // namespace troupe::bench

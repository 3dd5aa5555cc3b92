#include "troupe/tests/support/host.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <stdexcept>

namespace troupe::testing {

namespace fs = std::filesystem;

namespace {

/// The login files of whoever runs the tests are not part of them.
void use_empty_home() {
  static std::string path = (fs::temp_directory_path() / "troupe-test-home-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) return;
  ::setenv("HOME", path.c_str(), 1);
  std::atexit([] {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  });
}

/// Before a test sets a home of its own.
void begin_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    init_types();
    use_empty_home();
  });
}

std::string slurp(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::ostringstream all;  // what a process shows may be gone half-way: no exception then
  all << in.rdbuf();
  return all.str();
}

/// Calls `visit(pid, stat text after the command name)` for every process.
void each_process(const std::function<void(int, const std::string&)>& visit) {
  std::error_code ignored;
  for (const auto& dir : fs::directory_iterator{"/proc", ignored}) {
    const auto name = dir.path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    const auto stat = slurp(dir.path() / "stat");
    const auto end = stat.rfind(')');
    if (end == stat.npos) continue;
    visit(std::stoi(name), stat.substr(end + 2));
  }
}

}  // namespace

options host::quick_options() {
  begin_once();
  options opts;
  opts.grace = std::chrono::milliseconds{500};
  opts.adopt_orphans = true;
  return opts;
}

host::host(options opts) {
  begin_once();
  config_ = std::make_unique<node_config>();
  system_ = std::make_unique<caf::actor_system>(*config_);
  runtime_ = std::make_unique<runtime>(*system_, std::move(opts));
}

host::~host() {
  runtime_.reset();
  system_.reset();
}

void host::fail(const caf::error& err) {
  throw std::runtime_error(to_string(error_code_of(err)) + ": " + error_text(err));
}

start_result host::start(const std::string& command, std::function<void(spawn_request&)> adjust) {
  spawn_request request;
  request.command = command;
  if (adjust) adjust(request);
  return ask<start_result>(start_atom_v, who, request);
}

run_result host::run(const std::string& command, std::function<void(spawn_request&)> adjust) {
  spawn_request request;
  request.command = command;
  request.timeout = generous;
  if (adjust) adjust(request);
  return ask<run_result>(run_atom_v, who, request);
}

wait_result host::wait(const std::string& id, wait_options what) {
  return ask<wait_result>(wait_atom_v, who, id, what);
}

poll_result host::poll(const std::string& id, poll_options what) {
  return ask<poll_result>(poll_atom_v, who, id, what);
}

kill_result host::kill(const std::string& id, kill_options what) {
  return ask<kill_result>(kill_atom_v, who, id, what);
}

log_result host::log(const std::string& id, log_options what) {
  return ask<log_result>(log_atom_v, who, id, what);
}

write_result host::write(const std::string& id, std::string data, bool eof) {
  return ask<write_result>(write_atom_v, who, id, write_request{std::move(data), eof});
}

std::string host::wait_until(const std::string& id, const std::string& pattern) {
  wait_options what;
  what.timeout = generous;
  what.until = pattern;
  const auto result = wait(id, what);
  if (result.status != wait_status::matched) {
    throw std::runtime_error("no output of " + id + " matched " + pattern + ": " +
                             to_string(result.status) + "\n" + result.output);
  }
  return result.match;
}

std::vector<int> alive_with_marker(const std::string& id) {
  std::vector<int> result;
  each_process([&](int pid, const std::string& stat) {
    if (stat.empty() || stat[0] == 'Z' || stat[0] == 'X') return;
    const auto env = slurp("/proc/" + std::to_string(pid) + "/environ");
    const std::string mark = "TROUPE_PROCESS=" + id;
    const auto at = env.find(mark);
    if (at != env.npos && (at == 0 || env[at - 1] == '\0')) result.push_back(pid);
  });
  return result;
}

int zombie_children() {
  int count = 0;
  each_process([&](int, const std::string& stat) {
    std::istringstream in{stat};
    char state = 0;
    int parent = 0;
    in >> state >> parent;
    if (state == 'Z' && parent == ::getpid()) ++count;
  });
  return count;
}

int open_descriptors() {
  std::error_code ignored;
  return static_cast<int>(std::distance(fs::directory_iterator{"/proc/self/fd", ignored}, {})) - 1;
}

long resident_kib() {
  std::ifstream in{"/proc/self/statm"};
  long total = 0;
  long resident = 0;
  in >> total >> resident;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

std::vector<int> keepers_of(const std::string& state_dir) {
  std::vector<int> result;
  each_process([&](int pid, const std::string&) {
    const auto command = slurp("/proc/" + std::to_string(pid) + "/cmdline");
    if (command.find("troupe-keeper") != command.npos && command.find(state_dir) != command.npos) {
      result.push_back(pid);
    }
  });
  return result;
}

}  // namespace troupe::testing

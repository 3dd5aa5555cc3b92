// Login files that take 300 ms: what the first and the second foreground `true` of a new environment
// take. Raw: `bash -l -c true` with the same login files, and `bash -c true`.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "troupe/bench/core.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_child.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

namespace {

namespace fs = std::filesystem;

/// A home whose login file sleeps for 300 ms, for as long as this exists. The core takes its
/// variables when it begins.
class slow_home {
 public:
  slow_home() {
    auto name = (fs::temp_directory_path() / "troupe-bench-home-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no directory " + name};
    path_ = name;
    std::ofstream{path_ / ".bash_profile"} << "sleep 0.3\n";
    if (const char* value = ::getenv("HOME")) old_ = value;
    ::setenv("HOME", path_.c_str(), 1);
  }
  ~slow_home() {
    ::setenv("HOME", old_.c_str(), 1);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  slow_home(const slow_home&) = delete;
  slow_home& operator=(const slow_home&) = delete;

  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
  std::string old_;
};

/// text: the command. Gives milliseconds.
std::vector<double> raw_command(const raw_args& args) {
  const auto start = now_ns();
  raw_wait(raw_spawn(args.text).pid);
  return {seconds_since(start) * 1e3};
}

double run_ms(core& host) {
  const auto start = now_ns();
  const auto answer = host.ask<run_result>(run_atom_v, host.who(), background("true"));
  if (answer.status != run_status::finished) throw std::runtime_error{"run did not finish"};
  return seconds_since(start) * 1e3;
}

}  // namespace

results run_login(context& ctx) {
  const slow_home home;
  const auto login = "HOME=" + home.path() + " exec bash -l -c true";
  std::vector<double> first, second, raw_first, raw_second;
  for (int round = 0; round < ctx.pick(9, 3); ++round) {
    raw_first.push_back(ctx.raw.call(raw_command, raw_args::make(0, 0, login)).at(0));
    raw_second.push_back(ctx.raw.call(raw_command, raw_args::make(0, 0, "true")).at(0));
    core host;
    first.push_back(run_ms(host));
    second.push_back(run_ms(host));
  }
  return {
      {"login/first", median(first), "ms", median(raw_first), {}, "pays for the login files"},
      {"login/second", median(second), "ms", median(raw_second),
       target{target::kind::max_value, 100}, "does not"},
  };
}

}  // namespace troupe::bench

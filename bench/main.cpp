// troupe-bench: measures the core against system calls on the machine it runs on. See README.md in
// this folder for what each workload does.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "troupe/actors/runtime.hpp"
#include "troupe/bench/cleanup.hpp"
#include "troupe/bench/measure.hpp"
#include "troupe/bench/raw_server.hpp"
#include "troupe/bench/report.hpp"
#include "troupe/bench/stamp.hpp"
#include "troupe/bench/state_dir.hpp"
#include "troupe/bench/workloads.hpp"
#include "troupe/text/quote.hpp"

namespace troupe::bench {

void progress(std::string_view text) {
  std::cerr << "troupe-bench: " << text << std::endl;
}

namespace {

/// 1,000 processes need a few thousand descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void list_workloads() {
  for (const auto& one : workloads) {
    std::printf("%-18s %s\n", std::string{one.name}.c_str(), std::string{one.what}.c_str());
  }
}

int run(const std::vector<std::string>& names, bool quick, bool json) {
  raise_descriptor_limit();
  block_stop_signals();
  raw_server raw;
  watch_stop_signals();
  init_types();
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  context ctx{quick, raw, text::shell_quote(self)};
  const auto where = this_machine();
  std::vector<section> sections;
  int code = 0;
  for (const auto& one : workloads) {
    const bool named = std::find(names.begin(), names.end(), one.name) != names.end();
    if (!named && (!names.empty() || one.only_by_name)) continue;
    progress(one.name);
    const auto start = now_ns();
    try {
      sections.emplace_back(one.name, one.run(ctx));
      char took[64];
      std::snprintf(took, sizeof took, ": done in %.1f s", seconds_since(start));
      progress(std::string{one.name} + took);
    } catch (const std::exception& error) {
      progress(std::string{one.name} + ": " + error.what());
      code = 1;
    }
  }
  if (json) {
    print_json(std::cout, where, sections);
  } else {
    print_table(std::cout, where, sections);
  }
  std::cout.flush();
  return std::cout ? code : 1;
}

int main_of(int argc, char** argv) {
  if (const auto code = run_as_child(argc, argv)) return *code;
  CLI::App app{"Measures Troupe's core against system calls on this machine.", "troupe-bench"};
  bool json = false;
  bool quick = false;
  bool list = false;
  std::vector<std::string> names;
  app.add_flag("--json", json, "One JSON object on stdout instead of a table");
  app.add_flag("--quick", quick, "Fewer rounds: everything in about two minutes");
  app.add_flag("--list", list, "List the workloads and do nothing");
  std::vector<std::string> known;
  known.reserve(std::size(workloads));
  for (const auto& one : workloads) known.emplace_back(one.name);
  app.add_option("WORKLOAD", names, "What to run (default: everything)")
      ->check(CLI::IsMember(known));
  CLI11_PARSE(app, argc, argv);
  if (list) {
    list_workloads();
    return 0;
  }
  return run(names, quick, json);
}

}  // namespace

}  // namespace troupe::bench

int main(int argc, char** argv) {
  int code = 1;
  try {
    code = troupe::bench::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "troupe-bench: " << error.what() << '\n';
  }
  troupe::bench::remove_state_dirs();
  return code;
}

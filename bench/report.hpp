// What troupe-bench prints: the machine, a table for people, or one JSON object.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "troupe/bench/workloads.hpp"

namespace troupe::bench {

/// Where figures come from.
struct machine {
  std::string cpu;
  unsigned cores = 0;
  std::string kernel;
  double memory_mib = 0;
  std::string caf;
  std::string compiler;
  std::string build;
  std::string date;  ///< UTC, ISO 8601
  double load = 0;   ///< one-minute load average at the start
};

machine this_machine();

/// The figures of one workload.
using section = std::pair<std::string, results>;

void print_table(std::ostream& out, const machine& where, const std::vector<section>& sections);

/// `{"machine":{…},"results":[{"workload","case","value","unit","raw","ratio"}…]}`
void print_json(std::ostream& out, const machine& where, const std::vector<section>& sections);

}  // namespace troupe::bench

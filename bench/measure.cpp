#include "troupe/bench/measure.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

namespace troupe::bench {

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double seconds_since(std::int64_t start_ns) {
  return static_cast<double>(now_ns() - start_ns) / 1e9;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = std::ceil(share * static_cast<double>(values.size()));
  const auto index = rank < 1 ? std::size_t{0} : static_cast<std::size_t>(rank) - 1;
  return values[std::min(index, values.size() - 1)];
}

std::pair<double, double> interleave(int rounds, const std::function<double()>& ours,
                                     const std::function<double()>& raw) {
  std::vector<double> mine;
  std::vector<double> theirs;
  for (int round = 0; round < rounds; ++round) {
    theirs.push_back(raw());
    mine.push_back(ours());
  }
  return {median(mine), median(theirs)};
}

double resident_kib() {
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[128] = {};
  const auto size = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (size <= 0) return 0;
  char* end = nullptr;
  std::strtoull(text, &end, 10);
  const auto pages = std::strtoull(end, nullptr, 10);
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

double private_kib() {
  std::ifstream file{"/proc/self/smaps_rollup"};
  double sum = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Private_"))
      sum += std::strtod(line.c_str() + line.find(':') + 1, nullptr);
  }
  return sum;
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

memory_peak::memory_peak()
    : start_(resident_kib()), peak_(start_), thread_([this] {
        while (!stop_) {
          peak_ = std::max(peak_.load(), resident_kib());
          std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
      }) {}

memory_peak::~memory_peak() {
  stop_ = true;
  thread_.join();
}

double memory_peak::growth_mib() {
  return (std::max(peak_.load(), resident_kib()) - start_) / 1024;
}

}  // namespace troupe::bench

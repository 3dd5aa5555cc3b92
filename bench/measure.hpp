// Clocks, statistics and the kernel's counters about this process. Used by all workloads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::bench {

/// CLOCK_MONOTONIC in nanoseconds, the same clock in every process of the machine.
std::int64_t now_ns();

/// Seconds since `start_ns`.
double seconds_since(std::int64_t start_ns);

/// The middle of the values, 0 of none.
double median(std::vector<double> values);

/// The value that `share` (0..1) of the values do not exceed (nearest rank), 0 of none.
double percentile(std::vector<double> values, double share);

/// Runs `ours` and `raw` in turns and gives the median of each.
std::pair<double, double> interleave(int rounds, const std::function<double()>& ours,
                                     const std::function<double()>& raw);

/// Resident memory in KiB, by /proc/self/statm.
double resident_kib();

/// Resident memory that is ours alone in KiB, by /proc/self/smaps_rollup (exact, slow).
double private_kib();

/// User and system time of this process in seconds.
double cpu_seconds();

/// Watches `resident_kib` on a thread of its own, every millisecond, while it exists.
class memory_peak {
 public:
  memory_peak();
  ~memory_peak();
  memory_peak(const memory_peak&) = delete;
  memory_peak& operator=(const memory_peak&) = delete;

  /// Growth of the peak over the start in MiB.
  double growth_mib();

 private:
  double start_;
  std::atomic<double> peak_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace troupe::bench

// Who among the children of this process is not a leader: where it is the child subreaper, those are
// the orphans of the trees of its leaders. With them and the leaders begins everything that descends
// from this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "troupe/backends/local/process_reader.hpp"

namespace troupe::backends::local {

class own_children {
 public:
  // -- on the loop's thread --

  void leader_began(int pid);
  /// It has been reaped.
  void leader_gone(int pid);
  /// All waiting for children goes through this: while it happens, the kernel's list of them may
  /// leave some out.
  template <class Reap>
  auto reaping(Reap reap) {
    const reap_mark mark(*this);
    return reap();
  }

  // -- on one other thread --

  /// Adds our children but the leaders. False if the kernel does not list them.
  bool others(process_reader& reader, std::vector<int>& out);

 private:
  class reap_mark {
   public:
    explicit reap_mark(own_children& all) : all_(all), lock_(all.reaping_) { ++all_.reaps_; }
    ~reap_mark() { ++all_.reaps_; }
    reap_mark(const reap_mark&) = delete;
    reap_mark& operator=(const reap_mark&) = delete;

   private:
    own_children& all_;
    std::lock_guard<std::mutex> lock_;
  };

  bool list(process_reader& reader, std::vector<int>& out);

  std::mutex reaping_;
  std::atomic<std::uint64_t> reaps_{0};  ///< odd: one is under way
  std::mutex mutex_;
  std::unordered_set<int> leaders_;
};

}  // namespace troupe::backends::local

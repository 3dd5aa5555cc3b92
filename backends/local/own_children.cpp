// See own_children.hpp.
#include "troupe/backends/local/own_children.hpp"

#include <unistd.h>

#include <limits>

namespace troupe::backends::local {

void own_children::leader_began(int pid) {
  const std::lock_guard lock(mutex_);
  leaders_.insert(pid);
}

void own_children::leader_gone(int pid) {
  const std::lock_guard lock(mutex_);
  leaders_.erase(pid);
}

// The kernel gives the list in pieces. It goes on after the child that came last or, if that has been
// reaped meanwhile and between reads, by counting, and then leaves out as many as have gone before.
bool own_children::others(process_reader& reader, std::vector<int>& out) {
  const auto before = reaps_.load();
  bool known = list(reader, out);
  if (before % 2 != 0 || reaps_.load() != before) {
    const std::lock_guard lock(reaping_);
    out.clear();
    known = list(reader, out);
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(out, [this](int pid) { return leaders_.contains(pid); });
  return known;
}

bool own_children::list(process_reader& reader, std::vector<int>& out) {
  return reader.children_of(::getpid(), std::numeric_limits<std::uint64_t>::max(), out);
}

}  // namespace troupe::backends::local

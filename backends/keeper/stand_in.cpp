// Life without a keeper: it has died, none can be started, or another node has it now.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "troupe/backends/keeper/core.hpp"
#include "troupe/backends/local/child.hpp"

namespace troupe::backends {

local_backend& keeper_backend::core::local() {
  if (!local_) {
    local_ = std::make_unique<local_backend>(
        loop_, arena::make(options_.slots, options_.ring_bytes), options_.local);
  }
  return *local_;
}

// We have duplicates of the descriptors, and the rings are still mapped: children go on here. What
// cannot be known any more is not told: the status of those that end from now on.
void keeper_backend::core::keeper_died(const std::string& why) {
  link_ = link::none;
  channel_.reset();
  bell_.reset();
  slots_.close();
  std::vector<child_id> all;
  std::size_t running = 0;
  for (const auto& [id, c] : children_) {
    if (c.where == place::keeper) {
      all.push_back(id);
      running += c.started && !c.exit ? 1 : 0;
    }
  }
  report("the keeper (pid " + std::to_string(keeper_pid_) + ") has ended: " + why + "; " +
         std::to_string(running) + " processes go on without it, how they end cannot be known");
  std::sort(all.begin(), all.end());
  for (const auto id : all) {
    auto& c = children_[id];
    if (!c.started) {
      const auto out = std::move(c.out);
      children_.erase(id);
      out->failed({stage::fork, ECONNRESET,
                   "ECONNRESET: the keeper ended before it could say whether the process started"});
    } else if (c.out) {
      take_here(id, c);
    } else {
      c.where = place::orphaned;
    }
  }
  if (!list_complete_) {
    found_.problem = "the keeper ended while it told what it had";
    listed();
  }
}

void keeper_backend::core::take_here(child_id id, child& c) {
  c.where = place::here;
  for (const auto token : std::exchange(c.writes, {})) {
    c.out->written(token, {write_status::closed, 0, 0});
  }
  for (const auto token : std::exchange(c.signals, {})) {
    c.out->signalled(token, EIO);
  }
  local::adopted a;
  a.process.pid = c.pid;
  a.process.start_ticks = c.start_ticks;
  if (!c.exit) {
    a.process.pidfd = local::open_process(c.pid, c.start_ticks);
  }
  a.process.output = std::move(c.output);
  a.process.input = std::move(c.input);
  a.lease = c.lease.lock();
  a.exited = c.exit.has_value();
  a.drained = c.holders.has_value();
  if (!a.lease && !a.drained) {
    return;  // nobody wants to know
  }
  spawn_spec like;
  like.marker = c.marker;
  like.pty = c.pty;
  local().take(id, std::move(a), like, c.out);
  for (const auto token : std::exchange(c.describes, {})) {
    local().describe(id, token);
  }
  if (c.killing) {
    local().kill(id, *c.killing);
  }
}

// Nothing of it is the keeper's.
void keeper_backend::core::adopt_running(child_id id, int pid, std::uint64_t start_ticks,
                                         std::string&& marker, std::shared_ptr<sink> out) {
  auto& c = children_[id];
  c.where = place::here;
  c.out = out;
  c.started = true;
  local().adopt_running(id, pid, start_ticks, std::move(marker), std::move(out));
}

// Another node continues with our children. Nothing is known of them here any more.
void keeper_backend::core::superseded(std::uint64_t by) {
  link_ = link::taken_over;
  busy_ = true;
  why_not_ = "another node (pid " + std::to_string(by) + ") has taken over the keeper";
  slots_.close();
  rings_->part();
  bell_.reset();
  children_.clear();
  std::exchange(channel_, nullptr)->close();
  report(why_not_);
}

}  // namespace troupe::backends

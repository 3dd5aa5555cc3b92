#include "troupe/actors/watch_policy.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

watch_policy::verdict watch_policy::match(std::uint64_t lines, watch_clock::time_point now) {
  if (disabled_) {
    held_back_ += lines;
    return verdict::disable;
  }
  if (now < retry_at_) {
    held_back_ += lines;
    return verdict::hold;
  }
  if (hits_ > 0 && now < window_end_) {
    held_back_ += lines;
    if (!std::exchange(struck_, true)) disabled_ = ++strikes_ >= limits_.strikes;
    return disabled_ ? verdict::disable : verdict::hold;
  }
  return verdict::deliver;
}

bool watch_policy::delivered(std::uint64_t cut, watch_clock::time_point now) {
  ++hits_;
  if (!std::exchange(struck_, false)) strikes_ = 0;
  held_back_ = cut;
  window_end_ = now + limits_.cooldown;
  disabled_ = hits_ >= limits_.hits;
  return disabled_;
}

void watch_policy::refused(std::uint64_t lines, watch_clock::duration pause,
                           watch_clock::time_point now) {
  held_back_ += lines;
  retry_at_ = now + pause;
}

watch_breaker::verdict watch_breaker::match(const std::string& session, std::uint64_t lines,
                                            watch_clock::time_point now) {
  verdict result;
  if (!open_) {
    while (!recent_.empty() && now - recent_.front() >= limits_.window) recent_.pop_front();
    if (recent_.size() < limits_.matches) {
      recent_.push_back(now);
      return result;
    }
    recent_.clear();
    open_ = true;
    until_ = now + limits_.pause;
    result.tripped = true;
  }
  result.admitted = false;
  result.announce = !held_.contains(session);
  held_[session] += lines;
  result.pause = std::max(until_ - now, watch_clock::duration{std::chrono::milliseconds{1}});
  return result;
}

std::vector<watch_breaker::session_count> watch_breaker::reset() {
  std::vector<session_count> result;
  for (auto& [session, lines] : std::exchange(held_, {})) result.push_back({session, lines});
  open_ = false;
  return result;
}

}  // namespace troupe

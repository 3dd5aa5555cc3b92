// Which matches are told (behaviour 4): per process (`watch_policy`) and over all processes
// (`watch_breaker`). Plain classes; the clock is a parameter, so that tests can drive it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace troupe {

using watch_clock = std::chrono::steady_clock;

/// One process. A match that is told opens a window (the cool-down) in which further matches are held
/// back and counted.
class watch_policy {
 public:
  struct limits {
    watch_clock::duration cooldown = std::chrono::seconds{15};
    /// Windows in a row with held-back matches that end watching.
    std::uint32_t strikes = 3;
    /// Told matches in a lifetime; the last one ends watching.
    std::uint32_t hits = 8;
  };
  enum class verdict { deliver, hold, disable };

  explicit watch_policy(limits what) : limits_(what) {}

  /// Goes on after a restart of the node.
  void restore(std::uint64_t hits, bool disabled) {
    hits_ = hits;
    disabled_ = disabled;
  }

  /// `lines` matched. After `deliver`, `delivered` or `refused` must follow.
  verdict match(std::uint64_t lines, watch_clock::time_point now);
  /// It was told, all but `cut` lines. True: that was the last one, watching ends.
  bool delivered(std::uint64_t cut, watch_clock::time_point now);
  /// The breaker held it back: try nothing for a while.
  void refused(std::uint64_t lines, watch_clock::duration pause, watch_clock::time_point now);

  /// Lines held back since the last one that was told.
  std::uint64_t held_back() const noexcept { return held_back_; }
  std::uint64_t hits() const noexcept { return hits_; }
  bool disabled() const noexcept { return disabled_; }

 private:
  limits limits_;
  std::uint64_t held_back_ = 0;
  std::uint64_t hits_ = 0;
  std::uint32_t strikes_ = 0;
  bool struck_ = false;  ///< something was held back in the present window
  bool disabled_ = false;
  watch_clock::time_point window_end_{};
  watch_clock::time_point retry_at_{};
};

/// All processes of a node.
class watch_breaker {
 public:
  struct limits {
    std::uint32_t matches = 15;
    watch_clock::duration window = std::chrono::seconds{10};
    watch_clock::duration pause = std::chrono::seconds{30};
  };
  struct verdict {
    bool admitted = true;
    /// The first match of this session that is held back: it has to be told that matches are.
    bool announce = false;
    /// This match has tripped the breaker.
    bool tripped = false;
    watch_clock::duration pause{};
  };
  struct session_count {
    std::string session;
    std::uint64_t lines = 0;
  };

  explicit watch_breaker(limits what) : limits_(what) {}

  verdict match(const std::string& session, std::uint64_t lines, watch_clock::time_point now);
  /// The pause is over: what was held back, by session.
  std::vector<session_count> reset();

 private:
  limits limits_;
  std::deque<watch_clock::time_point> recent_;
  bool open_ = false;
  watch_clock::time_point until_{};
  std::map<std::string, std::uint64_t> held_;
};

}  // namespace troupe

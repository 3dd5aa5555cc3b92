#include "troupe/messages/events.hpp"

#include <array>

namespace troupe {

namespace {

constexpr auto kind_names =
    std::to_array<const char*>({"completion", "watch_match", "watch_disabled", "watch_overflow",
                                "heartbeat", "environment", "gap"});

}  // namespace

std::string to_string(event_kind x) {
  const auto index = static_cast<std::size_t>(x);
  return index < kind_names.size() ? kind_names[index] : "invalid";
}

bool from_string(compat::string_view text, event_kind& x) {
  for (std::size_t i = 0; i < kind_names.size(); ++i) {
    if (compat::to_std(text) != kind_names[i]) continue;
    x = static_cast<event_kind>(i);
    return true;
  }
  return false;
}

bool from_integer(std::uint8_t value, event_kind& x) {
  if (value >= kind_names.size()) return false;
  x = static_cast<event_kind>(value);
  return true;
}

}  // namespace troupe

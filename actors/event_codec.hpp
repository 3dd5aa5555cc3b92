// Events and marks as the JSON of the journal (docs/state.md). Pure functions; text that is not valid
// UTF-8 survives as well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "troupe/messages/events.hpp"

namespace troupe {

std::string encode_event(const event& x);
/// `number` becomes the sequence number. Nothing if this is no event that we can read.
std::optional<event> decode_event(std::uint64_t number, std::string_view json);

/// A mark names a session and a number: up to where it has acknowledged, or which event it saw.
struct event_mark {
  std::string session;
  std::uint64_t number = 0;
};

std::string encode_mark(const event_mark& mark);
std::optional<event_mark> decode_mark(std::string_view json);

}  // namespace troupe

// Standard base64 with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe::text {

/// Thread-safe.
std::string base64(std::string_view bytes);

/// The bytes again; nothing if this is not what `base64` makes. Thread-safe.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace troupe::text

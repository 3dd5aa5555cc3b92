// CRC-32C (Castagnoli), by tables, eight bytes at a time. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe::persistence {

std::uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace troupe::persistence

#include "troupe/persistence/crc32c.hpp"

#include <array>
#include <cstddef>

namespace troupe::persistence {

namespace {

using table = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr table make_table() {
  table t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    t[0][i] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 255];
  }
  return t;
}

constexpr table tables = make_table();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
  std::uint32_t crc = ~0U;
  const auto at = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
  };
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    crc ^= at(i) | at(i + 1) << 8 | at(i + 2) << 16 | at(i + 3) << 24;
    crc = tables[7][crc & 255] ^ tables[6][crc >> 8 & 255] ^ tables[5][crc >> 16 & 255] ^
          tables[4][crc >> 24] ^ tables[3][at(i + 4)] ^ tables[2][at(i + 5)] ^
          tables[1][at(i + 6)] ^ tables[0][at(i + 7)];
  }
  for (; i < bytes.size(); ++i) crc = (crc >> 8) ^ tables[0][(crc ^ at(i)) & 255];
  return ~crc;
}

}  // namespace troupe::persistence

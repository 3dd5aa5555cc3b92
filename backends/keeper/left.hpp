// Records of children that ended while no node was attached: written by the keeper when it lets go of
// them, read by the next node, which removes them. One file each in `left/`; docs/keeper.md has the
// format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/backends/backend.hpp"

namespace troupe::backends::keeper {

struct left_record {
  found_child child;  ///< without id, policy and `left`
  exit_status exit;
  std::uint64_t dropped = 0;
};

std::string write_left(const left_record& record);
/// Nothing if the text is not exactly what `write_left` makes.
std::optional<left_record> read_left(std::string_view text);

struct left_file {
  std::string name;
  left_record record;
};
/// Everything in `left/` of the directory. Damaged ones are renamed to `*.damaged`, and named in
/// `problem`.
std::vector<left_file> read_all_left(int dir, std::string& problem);

/// `name` is what a file may be called after this marker.
bool is_file_name(std::string_view marker);

inline constexpr const char* left_folder = "left";
inline constexpr const char* spool_folder = "spool";

}  // namespace troupe::backends::keeper

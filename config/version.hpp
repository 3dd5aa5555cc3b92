// The version of Troupe, for people and for `--version`. CMakeLists.txt reads it from here.
#pragma once

namespace troupe {

inline constexpr const char* version = "0.1.0";

}  // namespace troupe

# The libraries Troupe is made of, except CAF. Used by the build and by the installed TroupeConfig.

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(simdjson REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(VTERM REQUIRED IMPORTED_TARGET vterm)

// The main function of every test program; with Catch2 3 its library has one already.
#include <cstdlib>
#include <filesystem>
#include <string>

#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

namespace {

/// A test program begins with an empty home (its state directory is below it), also when it is run again.
/// Programs that it starts, and itself started once more, use it as they find it.
const bool home_is_empty = [] {
  const char* home = std::getenv("TROUPE_HOME");
  if (home == nullptr || std::getenv("TROUPE_TEST_HOME") != nullptr) return false;
  // Only one that the build has made.
  if (std::string{home}.find("/tests/home/") == std::string::npos) return false;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{home, ignored}) {
    std::filesystem::remove_all(entry.path(), ignored);
  }
  ::setenv("TROUPE_TEST_HOME", home, 1);
  return true;
}();

}  // namespace

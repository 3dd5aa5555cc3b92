// A home with login files of its own, for the time of a test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace troupe::testing {

/// Sets HOME for this process while it exists.
struct scratch_home {
  explicit scratch_home(const std::string& profile) {
    auto name = (std::filesystem::temp_directory_path() / "troupe-home-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no directory " + name};
    path = name;
    std::ofstream{path / ".bash_profile"} << profile;
    if (const char* value = ::getenv("HOME")) old = value;
    ::setenv("HOME", path.c_str(), 1);
  }
  ~scratch_home() {
    ::setenv("HOME", old.c_str(), 1);
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  scratch_home(const scratch_home&) = delete;
  scratch_home& operator=(const scratch_home&) = delete;

  std::filesystem::path path;
  std::string old;
};

}  // namespace troupe::testing

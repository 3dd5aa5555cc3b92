// A directory of its own for a test, removed with everything in it at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace troupe::testing {

class temporary_dir {
 public:
  temporary_dir() {
    path_ = (std::filesystem::temp_directory_path() / "troupe-test-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error{"mkdtemp " + path_};
  }
  ~temporary_dir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_dir(const temporary_dir&) = delete;
  temporary_dir& operator=(const temporary_dir&) = delete;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace troupe::testing

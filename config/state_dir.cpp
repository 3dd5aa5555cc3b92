#include "troupe/config/state_dir.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace troupe {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string wanted_dir() {
  if (auto home = variable("TROUPE_HOME"); !home.empty()) return home;
  if (auto state = variable("XDG_STATE_HOME"); state.starts_with('/')) return state + "/troupe";
  if (auto home = variable("HOME"); home.starts_with('/')) return home + "/.local/state/troupe";
  return {};
}

}  // namespace

std::string usable_state_dir(std::string& problem) {
  namespace fs = std::filesystem;
  auto dir = wanted_dir();
  if (dir.empty()) {
    problem = "there is no home directory to keep anything in";
    return {};
  }
  std::error_code ec;
  dir = fs::absolute(dir, ec).string();
  const bool fresh = fs::create_directories(dir, ec);
  if (!ec && fresh) fs::permissions(dir, fs::perms::owner_all, ec);
  if (!ec && ::access(dir.c_str(), R_OK | W_OK | X_OK) != 0) ec = {errno, std::generic_category()};
  if (ec) {
    problem = "cannot keep anything in " + dir + ": " + ec.message();
    return {};
  }
  return dir;
}

}  // namespace troupe

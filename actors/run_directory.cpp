#include "troupe/actors/run_directory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "troupe/backends/local/spawn.hpp"

namespace troupe {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t largest_report = 4 << 20;

/// Places for the directory, best first: memory, then the user's choice.
std::string base_directory() {
  if (::access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm";
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen == '/' ? chosen : "/tmp";
}

/// `troupe-<uid>-<pid>-<start time of the process>-XXXXXX`
std::string own_prefix() {
  return "troupe-" + std::to_string(::getuid()) + "-";
}

/// True if the process that made this directory is gone.
bool is_stale(std::string_view name) {
  name.remove_prefix(own_prefix().size());
  int pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc{} || end == name.data() + name.size() || *end != '-') return false;
  std::uint64_t ticks = 0;
  const auto rest = std::from_chars(end + 1, name.data() + name.size(), ticks);
  if (rest.ec != std::errc{}) return false;
  return backends::local::read_start_ticks(pid) != ticks;
}

void remove_stale(const fs::path& base) {
  std::error_code error;
  for (fs::directory_iterator it{base, error}, end; !error && it != end; it.increment(error)) {
    const auto name = it->path().filename().string();
    struct stat info {};
    if (name.starts_with(own_prefix()) && is_stale(name) &&
        ::lstat(it->path().c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
        info.st_uid == ::getuid()) {
      std::error_code ignored;
      fs::remove_all(it->path(), ignored);
    }
  }
}

}  // namespace

run_directory::run_directory() {
  const auto base = base_directory();
  remove_stale(base);
  path_ = base + "/" + own_prefix() + std::to_string(::getpid()) + "-" +
          std::to_string(backends::local::read_start_ticks(::getpid())) + "-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "make a directory " + path_);
  }
}

run_directory::~run_directory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::optional<std::string> run_directory::take(const std::string& file) const {
  const backends::local::unique_fd fd(
      ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return std::nullopt;
  remove(file);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 0 ||
      static_cast<std::size_t>(info.st_size) > largest_report) {
    return std::nullopt;
  }
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto n = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

void run_directory::remove(const std::string& file) const noexcept {
  ::unlink(file.c_str());
}

}  // namespace troupe

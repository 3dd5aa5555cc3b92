#include "troupe/persistence/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace troupe::persistence {

namespace {

std::error_code last_error() {
  return {errno, std::generic_category()};
}

/// Owns one descriptor.
class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int get() const noexcept { return fd_; }
  bool ok() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

class real_appendable final : public appendable {
 public:
  explicit real_appendable(int fd) : file_(fd) {}

  std::error_code append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const auto written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0) {
        if (errno == EINTR) continue;
        return last_error();
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  std::error_code sync() override {
    while (::fdatasync(file_.get()) != 0) {
      if (errno != EINTR) return last_error();
    }
    return {};
  }

 private:
  descriptor file_;
};

class real_lock final : public file_lock {
 public:
  explicit real_lock(int fd) : file_(fd) {}

 private:
  descriptor file_;
};

/// The directory that a path names its last part in.
descriptor open_parent(const std::string& path, std::string& name) {
  const auto slash = path.rfind('/');
  const auto dir = slash == path.npos ? std::string{"."} : path.substr(0, slash + (slash == 0));
  name = slash == path.npos ? path : path.substr(slash + 1);
  return descriptor{::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

/// A regular file for reading; nothing on the way there is a link that was followed.
descriptor open_regular(const std::string& path, std::uint64_t& bytes, std::error_code& ec) {
  std::string name;
  const auto parent = open_parent(path, name);
  // Not to wait for the writer of a pipe that somebody put there.
  descriptor file{parent.ok() ? ::openat(parent.get(), name.c_str(),
                                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                              : -1};
  struct stat info {};
  if (!file.ok() || ::fstat(file.get(), &info) != 0) {
    ec = last_error();
    return descriptor{-1};
  }
  ec.clear();
  if (!S_ISREG(info.st_mode)) ec = {EINVAL, std::generic_category()};
  bytes = static_cast<std::uint64_t>(info.st_size);
  return file;
}

/// Up to `size` bytes from `offset` on.
std::string read_part(const descriptor& file, std::uint64_t offset, std::size_t size,
                      std::error_code& ec) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const auto got =
        ::pread(file.get(), bytes.data() + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0) {
      if (errno == EINTR) continue;
      ec = last_error();
      break;
    }
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

std::chrono::system_clock::time_point time_of(const timespec& t) {
  using namespace std::chrono;
  return system_clock::time_point{
      duration_cast<system_clock::duration>(seconds{t.tv_sec} + nanoseconds{t.tv_nsec})};
}

class real_file_system final : public file_system {
 public:
  std::unique_ptr<appendable> open_append(const std::string& path, std::error_code& ec) override {
    const int fd =
        ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
      ec = last_error();
      return nullptr;
    }
    ec.clear();
    return std::make_unique<real_appendable>(fd);
  }

  std::unique_ptr<appendable> create_new(const std::string& path, std::error_code& ec) override {
    std::string name;
    const auto parent = open_parent(path, name);
    const int fd =
        parent.ok()
            ? ::openat(parent.get(), name.c_str(),
                       O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
            : -1;
    if (fd < 0) {
      ec = last_error();
      return nullptr;
    }
    ec.clear();
    return std::make_unique<real_appendable>(fd);
  }

  std::error_code overwrite(const std::string& path, std::string_view bytes, bool sync) override {
    const int fd = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return last_error();
    real_appendable file{fd};
    struct stat info {};
    if (::fstat(fd, &info) != 0) return last_error();
    if (!S_ISREG(info.st_mode) || info.st_nlink != 1) return {EINVAL, std::generic_category()};
    if (auto ec = file.append(bytes)) return ec;
    // Not to nothing first: that makes some file systems write at once.
    const auto size = static_cast<off_t>(bytes.size());
    if (info.st_size > size && ::ftruncate(fd, size) != 0) return last_error();
    return sync ? file.sync() : std::error_code{};
  }

  std::string read_all(const std::string& path, std::error_code& ec) override {
    std::string bytes;
    const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file.ok()) {
      ec = last_error();
      return bytes;
    }
    struct stat info {};
    if (::fstat(file.get(), &info) == 0 && info.st_size > 0) {
      bytes.reserve(static_cast<std::size_t>(info.st_size) + 1);
    }
    ec.clear();
    char buffer[64 * 1024];
    for (;;) {
      const auto size = ::read(file.get(), buffer, sizeof buffer);
      if (size < 0) {
        if (errno == EINTR) continue;
        ec = last_error();
        return bytes;
      }
      if (size == 0) return bytes;
      bytes.append(buffer, static_cast<std::size_t>(size));
    }
  }

  std::string read_file(const std::string& path, std::uint64_t limit,
                        std::error_code& ec) override {
    std::uint64_t bytes = 0;
    const auto file = open_regular(path, bytes, ec);
    if (!ec && bytes > limit) ec = {EFBIG, std::generic_category()};
    if (ec) return {};
    return read_part(file, 0, static_cast<std::size_t>(bytes), ec);
  }

  std::string read_range(const std::string& path, std::uint64_t offset, std::uint64_t size,
                         std::uint64_t& file_bytes, std::error_code& ec) override {
    const auto file = open_regular(path, file_bytes, ec);
    if (ec || offset >= file_bytes) return {};
    return read_part(file, offset, static_cast<std::size_t>(std::min(size, file_bytes - offset)),
                     ec);
  }

  std::error_code sync_file(const std::string& path) override {
    const descriptor file{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    if (!file.ok()) return last_error();
    while (::fdatasync(file.get()) != 0) {
      if (errno != EINTR) return last_error();
    }
    return {};
  }

  std::error_code rename(const std::string& from, const std::string& to) override {
    return ::rename(from.c_str(), to.c_str()) == 0 ? std::error_code{} : last_error();
  }

  std::error_code rename_new(const std::string& from, const std::string& to) override {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno != EINVAL && errno != ENOSYS) return last_error();
    // A file system that does not know the flag.
    if (::link(from.c_str(), to.c_str()) != 0) return last_error();
    return unlink(from);
  }

  std::error_code unlink(const std::string& path) override {
    return ::unlink(path.c_str()) == 0 ? std::error_code{} : last_error();
  }

  std::vector<std::string> list(const std::string& dir, std::error_code& ec) override {
    std::vector<std::string> names;
    DIR* handle = ::opendir(dir.c_str());
    if (handle == nullptr) {
      ec = last_error();
      return names;
    }
    ec.clear();
    while (const auto* entry = ::readdir(handle)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    ::closedir(handle);
    std::sort(names.begin(), names.end());
    return names;
  }

  std::vector<file_entry> regular_files(const std::string& dir, std::error_code& ec) override {
    std::vector<file_entry> files;
    DIR* handle = ::opendir(dir.c_str());
    if (handle == nullptr) {
      ec = last_error();
      return files;
    }
    ec.clear();
    while (const auto* entry = ::readdir(handle)) {
      struct stat info {};
      if (::fstatat(::dirfd(handle), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (!S_ISREG(info.st_mode)) continue;
      files.push_back(
          {entry->d_name, static_cast<std::uint64_t>(info.st_size), time_of(info.st_mtim)});
    }
    ::closedir(handle);
    return files;
  }

  std::error_code make_private_directory(const std::string& dir) override {
    if (auto ec = make_directories(dir)) return ec;
    struct stat info {};
    if (::lstat(dir.c_str(), &info) != 0) return last_error();
    if (S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 077) == 0) return {};
    return {EPERM, std::generic_category()};
  }

  std::error_code make_directories(const std::string& dir) override {
    for (std::size_t end = 1; end <= dir.size(); ++end) {
      if (end != dir.size() && dir[end] != '/') continue;
      if (::mkdir(dir.substr(0, end).c_str(), 0700) != 0 && errno != EEXIST) return last_error();
    }
    struct stat info {};
    if (::stat(dir.c_str(), &info) != 0) return last_error();
    return S_ISDIR(info.st_mode) ? std::error_code{}
                                 : std::error_code{ENOTDIR, std::generic_category()};
  }

  std::error_code sync_directory(const std::string& dir) override {
    const descriptor file{::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!file.ok()) return last_error();
    return ::fsync(file.get()) == 0 ? std::error_code{} : last_error();
  }

  std::unique_ptr<file_lock> try_lock(const std::string& path, std::error_code& ec) override {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
      ec = last_error();
      return nullptr;
    }
    auto lock = std::make_unique<real_lock>(fd);
    ec.clear();
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
    if (errno != EWOULDBLOCK) ec = last_error();
    return nullptr;
  }
};

}  // namespace

std::error_code file_system::overwrite(const std::string&, std::string_view, bool) {
  return {ENOTSUP, std::generic_category()};
}

file_system& real_files() {
  static real_file_system files;
  return files;
}

std::error_code replace_file(file_system& files, const std::string& path, std::string_view bytes,
                             bool sync) {
  const auto temporary = path + ".tmp";
  std::error_code ec;
  auto file = files.create_new(temporary, ec);
  if (ec.value() == EEXIST) {  // left by a death in between
    files.unlink(temporary);
    file = files.create_new(temporary, ec);
  }
  if (ec) return ec;
  ec = file->append(bytes);
  if (!ec && sync) ec = file->sync();
  if (!ec) ec = files.rename(temporary, path);
  if (ec) files.unlink(temporary);
  return ec;
}

std::string describe(std::string_view what, const std::string& path, std::error_code ec) {
  const char* name = strerrorname_np(ec.value());
  std::string text = name != nullptr ? name : std::to_string(ec.value());
  text += ": cannot ";
  text += what;
  text += ' ';
  text += path;
  text += ": ";
  text += ec.message();
  return text;
}

}  // namespace troupe::persistence

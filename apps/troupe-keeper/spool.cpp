// See spool.hpp. The file is open only while it is written: a child costs no descriptor for it.
#include "troupe/apps/troupe-keeper/spool.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "troupe/backends/local/spawn.hpp"

namespace troupe::keeper_app {

namespace {

constexpr int most_names = 1'000;

}  // namespace

void spool::append(spool_limits& limits, std::uint64_t position, std::string_view bytes) {
  if (!made_ && bytes_ == 0) {
    from_ = position;
  }
  gap_ = gap_ || position != from_ + bytes_;
  std::size_t kept = 0;
  if (!gap_) {
    const auto room = std::min(limits.per_child - std::min(limits.per_child, bytes_),
                               limits.in_total - std::min(limits.in_total, limits.total));
    kept = write(
        limits.folder,
        bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()))));
  }
  bytes_ += kept;
  limits.total += kept;
  dropped_ += bytes.size() - kept;
  gap_ = gap_ || kept < bytes.size();
}

bool spool::append_end(spool_limits& limits, std::uint64_t position, std::string_view bytes,
                       std::size_t& done) {
  if (!made_ && bytes_ == 0) {
    from_ = position;
  }
  if (tail_ == 0) {
    gap_ = gap_ || position != from_ + bytes_;
  }
  done = write(limits.folder, bytes);
  bytes_ += done;
  limits.total += done;
  tail_ += gap_ ? done : 0;
  return done == bytes.size();
}

void spool::hand_over(spool_limits& limits) {
  limits.total -= std::min(limits.total, bytes_);
  *this = spool(std::move(name_));
}

std::size_t spool::write(int folder, std::string_view bytes) {
  if (bytes.empty()) {
    return 0;
  }
  using backends::local::unique_fd;
  constexpr int how = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  unique_fd file;
  if (made_) {
    file.reset(::openat(folder, file_.c_str(), how));
  }
  for (int i = 0; !made_ && !file && i < most_names; ++i) {
    file_ = name_ + (i == 0 ? "" : "." + std::to_string(i)) + ".raw";
    file.reset(::openat(folder, file_.c_str(), how | O_CREAT | O_EXCL, 0600));
    if (!file && errno != EEXIST) {
      return 0;
    }
  }
  made_ = made_ || file;
  std::size_t done = 0;
  while (file && done < bytes.size()) {
    const auto n = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      break;
    }
  }
  return done;
}

}  // namespace troupe::keeper_app

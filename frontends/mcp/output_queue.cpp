#include "troupe/frontends/mcp/output_queue.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <system_error>
#include <utility>

namespace troupe::mcp {

namespace {

int make_eventfd() {
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return descriptor;
}

}  // namespace

output_queue::output_queue(int descriptor, std::size_t limit)
    : out_{descriptor}, limit_{limit}, relief_{make_eventfd()}, stop_{make_eventfd()} {
  struct stat info {};
  is_socket_ = fstat(out_, &info) == 0 && S_ISSOCK(info.st_mode);
  writer_ = std::thread{[this] { write_all(); }};
}

output_queue::~output_queue() {
  close(std::chrono::milliseconds{0});
  ::close(relief_);
  ::close(stop_);
}

void output_queue::push(std::string frame) {
  frame += '\n';
  std::lock_guard guard{mutex_};
  if (broken_ || closing_) return;
  bytes_ += frame.size();
  frames_.push_back(std::move(frame));
  changed_.notify_all();
}

bool output_queue::congested() const {
  std::lock_guard guard{mutex_};
  return bytes_ > limit_;
}

bool output_queue::broken() const {
  std::lock_guard guard{mutex_};
  return broken_;
}

bool output_queue::close(std::chrono::milliseconds limit) {
  {
    std::unique_lock guard{mutex_};
    closing_ = true;
    changed_.notify_all();
    changed_.wait_for(guard, limit, [this] { return done_; });
  }
  signal(stop_);
  if (writer_.joinable()) writer_.join();
  std::lock_guard guard{mutex_};
  return frames_.empty() && !broken_;
}

void output_queue::write_all() {
  std::unique_lock guard{mutex_};
  while (true) {
    changed_.wait(guard, [this] { return closing_ || !frames_.empty(); });
    if (frames_.empty()) break;
    auto frame = std::move(frames_.front());
    guard.unlock();
    std::string_view rest = frame;
    bool good = true;
    while (good && !rest.empty()) good = write_some(rest);
    guard.lock();
    if (!good) {
      broken_ = true;
      bytes_ = 0;
      frames_.clear();
      signal(relief_);
      break;
    }
    frames_.pop_front();
    bool was_congested = bytes_ > limit_;
    bytes_ -= frame.size();
    if (was_congested && bytes_ <= limit_) signal(relief_);
  }
  done_ = true;
  changed_.notify_all();
}

/// Writes what fits now; waits if nothing does. False if it is over: error, or told to stop.
bool output_queue::write_some(std::string_view& bytes) {
  pollfd waits[2] = {{out_, POLLOUT, 0}, {stop_, POLLIN, 0}};
  if (poll(waits, 2, -1) < 0) return errno == EINTR;
  if ((waits[1].revents & POLLIN) != 0) return false;
  // Not more than a pipe is sure to take, so that the write does not block: the descriptor is
  // shared with others and must not be made non-blocking for them.
  auto size = std::min<std::size_t>(bytes.size(), PIPE_BUF);
  auto written = is_socket_ ? ::send(out_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                            : ::write(out_, bytes.data(), size);
  if (written < 0) return errno == EINTR || errno == EAGAIN;
  bytes.remove_prefix(static_cast<std::size_t>(written));
  return true;
}

void output_queue::signal(int descriptor) {
  std::uint64_t one = 1;
  // Cannot fail but by overflow, and then the descriptor is readable anyway.
  [[maybe_unused]] auto written = ::write(descriptor, &one, sizeof one);
}

}  // namespace troupe::mcp

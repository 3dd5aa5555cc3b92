// See channel.hpp. A packet is a row of frames: kind, number of files, size of the body (native
// order), body. A body too large for a packet travels in a memory file, its first file.
#include "troupe/backends/keeper/channel.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace troupe::backends::keeper {

namespace {

constexpr std::size_t packet_bytes = 32 * 1024;
constexpr std::size_t packet_files = 64;
constexpr std::size_t most_files = 253;  // SCM_MAX_FD
constexpr std::size_t receive_bytes = 64 * 1024;
constexpr std::uint32_t largest_body = 256U << 20;
constexpr int packets_per_turn = 32;
constexpr auto too_many_in_flight = std::chrono::milliseconds{5};

struct frame {
  std::uint16_t what = 0;
  std::uint16_t files = 0;
  std::uint32_t size = 0;
};
constexpr std::uint16_t in_file = 0x8000;

unique_fd file_of(const std::string& body) {
  unique_fd file(::memfd_create("troupe-message", MFD_CLOEXEC));
  for (std::size_t done = 0; file && done < body.size();) {
    const auto n = ::write(file.get(), body.data() + done, body.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      file.reset();
    }
  }
  return file;
}

bool read_file(const unique_fd& file, std::uint32_t size, std::string& body) {
  struct stat info {};
  if (!file || size > largest_body || ::fstat(file.get(), &info) != 0 || info.st_size < size) {
    return false;
  }
  body.resize(size);
  for (std::size_t done = 0; done < size;) {
    const auto n = ::pread(file.get(), body.data() + done, size - done, static_cast<off_t>(done));
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

sockaddr_un address_in(int dir) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A path may be longer than an address has room for.
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", dir, socket_name);
  return address;
}

}  // namespace

std::optional<std::vector<message>> open_packet(std::string_view packet,
                                                std::vector<unique_fd> files) {
  std::vector<message> out;
  std::size_t next_file = 0;
  while (!packet.empty()) {
    frame head;
    if (packet.size() < sizeof head) {
      return std::nullopt;
    }
    std::memcpy(&head, packet.data(), sizeof head);
    packet.remove_prefix(sizeof head);
    const std::size_t count = head.files & ~in_file;
    const bool apart = (head.files & in_file) != 0;
    if (count > most_files || (apart && count == 0) || (!apart && head.size > packet.size())) {
      return std::nullopt;
    }
    auto& m = out.emplace_back();
    m.what = static_cast<kind>(head.what);
    for (std::size_t i = 0; i < count; ++i, ++next_file) {
      m.files.push_back(next_file < files.size() ? std::move(files[next_file]) : unique_fd{});
    }
    if (!apart) {
      m.body = packet.substr(0, head.size);
      packet.remove_prefix(head.size);
    } else if (!read_file(m.files[0], head.size, m.body)) {
      return std::nullopt;
    } else {
      m.files.erase(m.files.begin());
    }
  }
  return out;
}

unique_fd duplicate(int fd) {
  return unique_fd(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

channel::channel(io_loop& loop, unique_fd socket, std::size_t most_queued)
    : loop_(loop),
      socket_(loop.context(), socket.release()),
      most_queued_(most_queued),
      buffer_(receive_bytes) {
  ::fcntl(socket_.native_handle(), F_SETFL, O_NONBLOCK);
}

void channel::begin(handlers h) {
  handlers_ = std::move(h);
  arm_read();
}

bool channel::send(kind what, std::string body, std::vector<unique_fd> files) {
  if (closed_ || deaf_) {
    return true;
  }
  frame head{static_cast<std::uint16_t>(what), 0, static_cast<std::uint32_t>(body.size())};
  if (body.size() > packet_bytes - sizeof head) {
    auto file = file_of(body);
    if (!file) {
      return false;
    }
    files.insert(files.begin(), std::move(file));
    head.files = in_file;
    body.clear();
  }
  head.files = static_cast<std::uint16_t>(head.files | files.size());
  const auto size = sizeof head + body.size();
  if (out_.empty() || out_.back().bytes.size() + size > packet_bytes ||
      out_.back().files.size() + files.size() > packet_files) {
    out_.emplace_back();
  }
  auto& last = out_.back();
  last.bytes.append(reinterpret_cast<const char*>(&head), sizeof head).append(body);
  std::move(files.begin(), files.end(), std::back_inserter(last.files));
  queued_ += size;
  flush_soon();
  return true;
}

void channel::close() {
  if (!std::exchange(closed_, true)) {
    while (!out_.empty() && send_packet(out_.front())) {
      out_.pop_front();
    }
    handlers_ = {};
    out_.clear();
    boost::system::error_code ignored;
    socket_.close(ignored);
  }
}

void channel::fail(const std::string& why) {
  if (!closed_) {
    const auto closed = handlers_.closed;
    out_.clear();
    close();
    if (closed) {
      closed(why);
    }
  }
}

void channel::arm_read() {
  if (!closed_) {
    socket_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         if (!error && !self->closed_) {
                           self->readable();
                         }
                       });
  }
}

void channel::readable() {
  const auto self = shared_from_this();
  for (int i = 0; i < packets_per_turn && !closed_; ++i) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(most_files * sizeof(int))> control;
    iovec piece{buffer_.data(), buffer_.size()};
    msghdr head{};
    head.msg_iov = &piece;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
    const auto n = ::recvmsg(socket_.native_handle(), &head, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      break;
    }
    if (n < 0 && errno == ECONNRESET) {
      continue;  // it has gone without reading all; what it said before is still here
    }
    if (n <= 0) {
      fail(n == 0 ? "it has closed the connection" : std::strerror(errno));
      return;
    }
    std::vector<unique_fd> files;
    for (auto* c = CMSG_FIRSTHDR(&head); c != nullptr; c = CMSG_NXTHDR(&head, c)) {
      if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
        const auto count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t k = 0; k < count; ++k) {
          int fd = -1;
          std::memcpy(&fd, CMSG_DATA(c) + k * sizeof fd, sizeof fd);
          files.emplace_back(fd);
        }
      }
    }
    auto messages =
        (head.msg_flags & MSG_TRUNC) != 0
            ? std::nullopt
            : open_packet({buffer_.data(), static_cast<std::size_t>(n)}, std::move(files));
    if (!messages) {
      fail("it sent a malformed packet");
      return;
    }
    for (auto& one : *messages) {
      if (closed_) {
        return;
      }
      const auto received = handlers_.received;  // the handler may let go of us
      received(std::move(one));
    }
  }
  arm_read();
}

void channel::flush_soon() {
  if (!flushing_ && !writing_) {
    flushing_ = true;
    boost::asio::post(loop_.context(), [self = shared_from_this()] {
      self->flushing_ = false;
      self->flush();
    });
  }
}

void channel::flush() {
  while (!closed_ && !out_.empty()) {
    const auto size = out_.front().bytes.size();
    if (send_packet(out_.front())) {
      queued_ -= size;
      out_.pop_front();
    } else if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
      // Nobody listens any more. What it said before is read first, and then its end.
      deaf_ = true;
      out_.clear();
      queued_ = 0;
    } else if (errno == ETOOMANYREFS || errno == ENOBUFS || errno == ENOMEM) {  // without an event
      writing_ = true;
      loop_.after(too_many_in_flight, [self = shared_from_this()] {
        self->writing_ = false;
        self->flush();
      });
      return;
    } else if (errno != EAGAIN) {
      fail(std::strerror(errno));
      return;
    } else if (queued_ > most_queued_) {
      fail("it does not read what it is told");
      return;
    } else if (!std::exchange(writing_, true)) {
      socket_.async_wait(boost::asio::posix::descriptor_base::wait_write,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           self->writing_ = false;
                           if (!error) {
                             self->flush();
                           }
                         });
      return;
    } else {
      return;
    }
  }
}

bool channel::send_packet(packet& p) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE((packet_files + 4) * sizeof(int))> control{};
  iovec piece{p.bytes.data(), p.bytes.size()};
  msghdr head{};
  head.msg_iov = &piece;
  head.msg_iovlen = 1;
  if (!p.files.empty()) {
    head.msg_control = control.data();
    head.msg_controllen = CMSG_SPACE(p.files.size() * sizeof(int));
    auto* c = CMSG_FIRSTHDR(&head);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(p.files.size() * sizeof(int));
    for (std::size_t i = 0; i < p.files.size(); ++i) {
      const int fd = p.files[i].get();
      std::memcpy(CMSG_DATA(c) + i * sizeof fd, &fd, sizeof fd);
    }
  }
  for (;;) {
    if (::sendmsg(socket_.native_handle(), &head, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
      return true;
    }
    if (errno != EINTR) {
      return false;
    }
  }
}

std::pair<int, bool> peer_of(int socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
    return {0, false};
  }
  return {who.pid, who.uid == ::geteuid() || who.uid == 0};
}

unique_fd connect_to(int dir) {
  unique_fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto address = address_in(dir);
  if (socket &&
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int why = errno;
    socket.reset();
    errno = why;
  }
  return socket;
}

unique_fd listen_in(int dir) {
  unique_fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) {
    return socket;
  }
  ::unlinkat(dir, socket_name, 0);
  ::fchmod(socket.get(), 0600);  // what bind gives the file, so that it is never wider
  const auto address = address_in(dir);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 16) != 0) {
    const int why = errno;
    socket.reset();
    errno = why;
  }
  return socket;
}

}  // namespace troupe::backends::keeper

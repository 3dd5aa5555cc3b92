// One end of the connection between a node and its keeper: messages over a Unix seqpacket socket,
// several in a packet, descriptors with them. Never blocks: what the socket does not take waits in a
// queue. Belongs to the loop's thread.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "troupe/backends/io_loop.hpp"
#include "troupe/backends/keeper/protocol.hpp"
#include "troupe/backends/local/spawn.hpp"

namespace troupe::backends::keeper {

using local::unique_fd;

struct message {
  kind what{};
  std::string body;
  /// As many as were sent with it; one that did not arrive (too many open) is empty.
  std::vector<unique_fd> files;
};

/// Takes a packet apart; nothing if it is malformed. Bodies that travelled in a file are read.
std::optional<std::vector<message>> open_packet(std::string_view packet,
                                                std::vector<unique_fd> files);

/// A duplicate that is close-on-exec; empty on failure or if `fd` is none.
unique_fd duplicate(int fd);

class channel : public std::enable_shared_from_this<channel> {
 public:
  struct handlers {
    std::function<void(message&&)> received;
    /// The other side is gone, or talks nonsense; why. Not called after `close`.
    std::function<void(const std::string&)> closed;
  };

  /// `most_queued`: with more bytes than this waiting the other side counts as gone.
  channel(io_loop& loop, unique_fd socket, std::size_t most_queued);
  void begin(handlers h);

  /// False only if the message is large and no memory file could be made for it.
  template <class Record>
  bool send(const Record& record, std::vector<unique_fd> files = {}) {
    return send(Record::is, encode(record), std::move(files));
  }
  bool send(kind what, std::string body, std::vector<unique_fd> files);
  /// Bytes that wait.
  std::size_t queued() const noexcept { return queued_; }
  /// Hands over what can be handed over at once, then lets go.
  void close();

 private:
  struct packet {
    std::string bytes;
    std::vector<unique_fd> files;
  };

  void arm_read();
  void readable();
  void flush_soon();
  void flush();
  bool send_packet(packet& p);
  void fail(const std::string& why);

  io_loop& loop_;
  boost::asio::posix::stream_descriptor socket_;
  std::size_t most_queued_;
  handlers handlers_;
  std::deque<packet> out_;
  std::size_t queued_ = 0;
  bool flushing_ = false;
  bool writing_ = false;
  bool closed_ = false;
  bool deaf_ = false;  ///< the other side does not read any more
  std::vector<char> buffer_;
};

/// Pid of the process at the other end, and whether it is of our user (or root).
std::pair<int, bool> peer_of(int socket);

/// Connects to `dir`/keeper.sock, or listens there (replacing what was there, mode 0600). Empty with
/// errno set on failure.
unique_fd connect_to(int dir);
unique_fd listen_in(int dir);

inline constexpr const char* socket_name = "keeper.sock";

}  // namespace troupe::backends::keeper

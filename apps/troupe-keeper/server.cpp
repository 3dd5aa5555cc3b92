// Nodes come and go: hello, refusal, taking over, attaching, the death of the owner, the end.
#include "troupe/apps/troupe-keeper/server.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "troupe/backends/keeper/left.hpp"

namespace troupe::keeper_app {

using namespace backends;

namespace {

constexpr std::size_t most_guests = 8;
constexpr std::size_t most_queued = 64 << 20;
constexpr auto first_guest_limit = std::chrono::seconds{10};
constexpr auto letting_go_limit = std::chrono::seconds{1};

/// Also those that nobody refers to: a node may have died between taking one over and removing it.
void remove_spools(int dir) {
  const int folder =
      ::openat(dir, wire::spool_folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (DIR* const list = folder < 0 ? nullptr : ::fdopendir(folder)) {
    while (const auto* entry = ::readdir(list)) {
      ::unlinkat(folder, entry->d_name, 0);  // fails for . and ..
    }
    ::closedir(list);
  } else if (folder >= 0) {
    ::close(folder);
  }
  ::unlinkat(dir, wire::spool_folder, AT_REMOVEDIR);
}

}  // namespace

server::server(io_loop& loop, local::worker& worker, server_settings settings)
    : loop_(loop),
      worker_(worker),
      settings_(std::move(settings)),
      listener_(loop.context(), settings_.listener.release()) {
  ::fcntl(listener_.native_handle(), F_SETFL, O_NONBLOCK);
}

server::~server() = default;

void server::begin() {
  accept_soon();
  loop_.after(first_guest_limit, [this] { end_if_idle(); });
}

void server::accept_soon() {
  listener_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                       [this](const boost::system::error_code& error) {
                         if (!error && !ended_) {
                           accept_all();
                           accept_soon();
                         }
                       });
}

void server::accept_all() {
  for (;;) {
    wire::unique_fd socket(
        ::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      return;
    }
    const auto [pid, trusted] = wire::peer_of(socket.get());
    if (!trusted || guests_.size() >= most_guests) {
      continue;
    }
    auto guest = std::make_shared<wire::channel>(loop_, std::move(socket), most_queued);
    guests_.push_back(guest);
    const std::weak_ptr<wire::channel> weak = guest;
    guest->begin({[this, weak, from = pid](wire::message&& m) {
                    if (const auto one = weak.lock()) {
                      if (one == node_) {
                        received(std::move(m));
                      } else {
                        greet(one, from, std::move(m));
                      }
                    }
                  },
                  [this, weak](const std::string&) {
                    const auto one = weak.lock();
                    std::erase(guests_, one);
                    if (one && one == node_) {
                      detach();
                    }
                    end_if_idle();
                  }});
  }
}

void server::refuse(const channel_ptr& whom, int other, const std::string& why) {
  std::erase(guests_, whom);
  whom->send(wire::refused{other, why});
  whom->close();
  end_if_idle();
}

void server::greet(const channel_ptr& from, int pid, wire::message&& m) {
  std::uint32_t version = 0;
  if (m.what != wire::kind::hello || m.body.size() < sizeof version) {
    refuse(from, 0, "the first message must be a hello");
    return;
  }
  std::memcpy(&version, m.body.data(), sizeof version);
  if (version != wire::protocol_version) {
    refuse(from, 0,
           "the keeper (pid " + std::to_string(::getpid()) + ") speaks version " +
               std::to_string(wire::protocol_version) + " of the protocol, the node version " +
               std::to_string(version));
    return;
  }
  const auto hello = wire::decode<wire::hello>(m.body);
  if (!hello) {
    refuse(from, 0, "malformed hello");
  } else if (!node_ && !successor_) {
    attach(from, pid, *hello);
  } else if (!hello->take_over || successor_) {
    refuse(from, node_pid_,
           "another node (pid " + std::to_string(node_pid_) + ") is attached to the keeper");
  } else {
    take_over_from_node(from, pid, *hello);
  }
}

// The node that is attached may still read and release output until it has closed its end; only then
// the next one begins. One that is stopped cannot close: it has its time, and loses the connection.
void server::take_over_from_node(const channel_ptr& to, int pid, const wire::hello& h) {
  tell(wire::notice<wire::kind::taken_over>{static_cast<std::uint64_t>(pid)});
  successor_ = [this, to, pid, h] { attach(to, pid, h); };
  const auto old = node_;
  loop_.after(letting_go_limit, [this, old] {
    if (node_ == old && successor_) {
      old->close();
      detach();
    }
  });
}

bool server::make_backend(const wire::hello& h) {
  try {
    rings_ = arena::make_shared(static_cast<std::size_t>(h.slots),
                                static_cast<std::size_t>(h.ring_bytes));
    local_options options;
    options.drain_limit = h.drain_limit;
    options.stdin_queue_bytes = static_cast<std::size_t>(h.stdin_queue_bytes);
    options.adopt_orphans = true;
    options.leaders_by_signal = true;
    options.on_worker = &worker_;
    options.on_idle = [this] { end_if_idle(); };
    options.spawn.share_descriptors = h.share_descriptors;
    options.spawn.nofile_soft = h.nofile_soft.value_or(settings_.nofile_soft);
    backend_ = std::make_unique<local_backend>(loop_, rings_, options);
  } catch (const std::system_error&) {
    return false;
  }
  node_bell_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  bell_.emplace(loop_.context(), ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  by_slot_.resize(rings_->slots());
  await_bell();
  return true;
}

void server::attach(const channel_ptr& to, int pid, const wire::hello& h) {
  std::erase(guests_, to);
  constexpr std::uint64_t most_slots = 1 << 20;
  constexpr std::uint64_t most_ring = 1 << 30;
  if (h.slots == 0 || h.slots > most_slots || h.ring_bytes == 0 || h.ring_bytes > most_ring) {
    refuse(to, 0, "a number or size of rings that cannot be");
    return;
  }
  if (!backend_ && !make_backend(h)) {
    refuse(to, 0, local::errno_name(errno) + " while making the output rings");
    return;
  }
  node_ = to;
  node_pid_ = pid;
  terms_ = h;
  spools_.per_child = h.spool_bytes;
  spools_.in_total = h.spool_total_bytes;
  loop_.cancel(grace_timer_);
  grace_is_over_ = false;
  std::vector<wire::unique_fd> files;
  files.push_back(wire::duplicate(rings_->file()));
  files.push_back(wire::duplicate(node_bell_.get()));
  files.push_back(wire::duplicate(bell_->native_handle()));
  rings_->advanced().silence();
  tell(wire::welcome{wire::protocol_version, ::getpid(), next_id_}, std::move(files));
  unlisted_.clear();
  list_open_ = true;
  for (const auto& [id, child] : children_) {
    if (child->info) {
      list(*child);
    } else {
      unlisted_.insert(id);
    }
  }
  end_of_list();
}

void server::detach() {
  node_.reset();
  node_pid_ = 0;
  list_open_ = false;
  for (const auto id : prepared_) {
    backend_->discard(id);
  }
  prepared_.clear();
  for (const auto& [id, child] : children_) {
    child->consume();
  }
  if (const auto next = std::exchange(successor_, nullptr)) {
    next();
    return;
  }
  grace_timer_ = loop_.after(terms_.owner_grace, [this] {
    if (!node_) {
      grace_over();
    }
  });
}

void server::end_if_idle() {
  if (ended_ || node_ || successor_ || !guests_.empty() || !children_.empty() ||
      (backend_ && !backend_->idle())) {
    return;
  }
  ended_ = true;
  // The path goes first: who finds no socket there starts a keeper of its own, and who was too late
  // finds the connection closed and does the same.
  ::unlinkat(settings_.dir_fd.get(), wire::socket_name, 0);
  // What is in `left` names spools that the next node takes over.
  const bool left =
      ::unlinkat(settings_.dir_fd.get(), wire::left_folder, AT_REMOVEDIR) != 0 && errno != ENOENT;
  if (!left) {
    remove_spools(settings_.dir_fd.get());
  }
  boost::system::error_code ignored;
  listener_.close(ignored);
  settings_.done();
}

}  // namespace troupe::keeper_app

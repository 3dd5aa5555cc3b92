// Finding the keeper of a directory, or starting one; hello and welcome.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <exception>
#include <utility>

#include "troupe/backends/keeper/core.hpp"
#include "troupe/backends/local/reaper.hpp"

namespace troupe::backends {

using keeper::unique_fd;
using local::errno_name;

namespace {

/// A keeper that is about to end may close a connection or two.
constexpr int most_attempts = 5;
constexpr std::size_t most_queued = 512 << 20;
constexpr int listener_in_keeper = 3;
constexpr const char* keeper_name = "troupe-keeper";

std::string find_program(const std::string& given) {
  if (!given.empty()) {
    return given;
  }
  char self[PATH_MAX];
  const auto n = ::readlink("/proc/self/exe", self, sizeof self);
  std::string here(self, n > 0 ? static_cast<std::size_t>(n) : 0);
  here.resize(here.rfind('/') == std::string::npos ? 0 : here.rfind('/') + 1);
  for (const char* place : {"", "../libexec/troupe/", "../bin/"}) {
    auto candidate = here;
    candidate.append(place).append(keeper_name);
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return here.append(keeper_name);
}

// Starts the program with the listener as its descriptor 3, nothing in its environment and nothing
// blocked or ignored. Returns 0 or an errno. It forks once more and ends.
int run_keeper(const std::string& program, const std::string& dir, const unique_fd& listener,
               pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, listener.get(), listener_in_keeper);
  ::posix_spawnattr_init(&how);
  sigset_t signals;
  sigfillset(&signals);
  ::posix_spawnattr_setsigdefault(&how, &signals);
  sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&how, &signals);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::string words[] = {program, "--dir", dir, "--listen-fd", std::to_string(listener_in_keeper)};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(),
                  words[3].data(), words[4].data(), nullptr};
  char* env[] = {nullptr};
  const int error = ::posix_spawn(&pid, program.c_str(), &files, &how, argv, env);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&how);
  return error;
}

void reap_later(io_loop& loop, pid_t pid) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) {
    return;  // somebody has reaped it already
  }
  auto ended = std::make_shared<boost::asio::posix::stream_descriptor>(loop.context(), fd);
  ended->async_wait(boost::asio::posix::descriptor_base::wait_read,
                    [ended](const boost::system::error_code& error) {
                      if (!error) {
                        local::reap(3 /* P_PIDFD */, ended->native_handle());
                      }
                    });
}

}  // namespace

void keeper_backend::core::connect(bool launch) {
  if (link_ == link::none) {
    link_ = link::connecting;
    attempts_ = 0;
    may_launch_ = launch;
    limit_ = loop_.after(options_.connect_limit, [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && self->link_ == link::connecting) {
        self->unavailable("the keeper does not answer");
      }
    });
    attempt();
  } else if (link_ == link::connecting) {
    may_launch_ = may_launch_ || launch;
  }
}

void keeper_backend::core::attempt() {
  if (++attempts_ > most_attempts) {
    unavailable("the keeper ends as soon as it has been started");
    return;
  }
  if (may_launch_) {
    ::mkdir(options_.dir.c_str(), 0700);
  }
  dir_.reset(::open(options_.dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir_ && (may_launch_ || errno != ENOENT)) {
    unavailable(errno_name(errno) + " while opening " + options_.dir);
    return;
  }
  auto socket = dir_ ? keeper::connect_to(dir_.get()) : unique_fd{};
  if (socket) {
    begin(std::move(socket));
  } else if (dir_ && errno != ENOENT && errno != ECONNREFUSED) {
    unavailable(errno_name(errno) + " while connecting to the keeper of " + options_.dir);
  } else if (may_launch_) {
    launch();
  } else {  // nobody there, and nobody wanted yet
    loop_.cancel(limit_);
    link_ = link::none;
    listed();
    run_waiting();
  }
}

void keeper_backend::core::launch() {
  const auto program = find_program(options_.program);
  const auto listener = keeper::listen_in(dir_.get());
  if (!listener) {
    unavailable(errno_name(errno) + " while making the socket of the keeper in " + options_.dir);
    return;
  }
  pid_t pid = 0;
  if (const int error = run_keeper(program, options_.dir, listener, pid); error != 0) {
    ::unlinkat(dir_.get(), keeper::socket_name, 0);
    unavailable(errno_name(error) + " while starting " + program);
    return;
  }
  reap_later(loop_, pid);
  // The keeper has the listener too: no need to wait until it runs.
  auto socket = keeper::connect_to(dir_.get());
  if (!socket) {
    unavailable(errno_name(errno) + " while connecting to the new keeper of " + options_.dir);
    return;
  }
  begin(std::move(socket));
}

void keeper_backend::core::begin(unique_fd socket) {
  // The other end's credentials are those of the one that began to listen: our own, if we did.
  if (!keeper::peer_of(socket.get()).second) {
    unavailable("the keeper of " + options_.dir + " belongs to another user");
    return;
  }
  channel_ = std::make_shared<keeper::channel>(loop_, std::move(socket), most_queued);
  channel_->begin({[this](keeper::message&& m) { received(std::move(m)); },
                   [this](const std::string& why) { lost(why); }});
  const auto& local = options_.local;
  keeper::hello h;
  h.take_over = options_.take_over;
  h.slots = options_.slots;
  h.ring_bytes = options_.ring_bytes;
  h.drain_limit = local.drain_limit;
  h.stdin_queue_bytes = local.stdin_queue_bytes;
  h.nofile_soft = local.spawn.nofile_soft;
  h.share_descriptors = local.spawn.share_descriptors;
  h.spool_bytes = options_.spool_bytes;
  h.spool_total_bytes = options_.spool_total_bytes;
  h.owner_grace = options_.owner_grace;
  h.owner_plan = options_.owner_plan;
  channel_->send(h);
}

void keeper_backend::core::welcomed(keeper::message&& m) {
  const auto welcome = keeper::decode<keeper::welcome>(m.body);
  if (!welcome || welcome->version != keeper::protocol_version || m.files.size() != 3) {
    unavailable("the keeper speaks another version of the protocol");
    return;
  }
  try {
    rings_ = arena::map(m.files[0].release());
  } catch (const std::exception& e) {
    unavailable(e.what());
    return;
  }
  by_slot_.assign(rings_->slots(), 0);
  bell_.emplace(loop_.context(), m.files[1].release());
  await_bell();
  slots_.open(rings_, std::move(m.files[2]));
  keeper_pid_ = welcome->pid;
  found_.next_id = welcome->next_id;
  loop_.cancel(limit_);
  link_ = link::attached;
  run_waiting();
}

void keeper_backend::core::lost(const std::string& why) {
  channel_.reset();
  if (link_ == link::connecting) {  // it was about to end
    attempt();
  } else if (link_ == link::attached) {
    keeper_died(why);
  }
}

// There is no keeper, and there will be none.
void keeper_backend::core::unavailable(const std::string& why) {
  loop_.cancel(limit_);
  if (channel_) {
    std::exchange(channel_, nullptr)->close();
  }
  link_ = link::unavailable;
  why_not_ = why;
  found_.problem = why;
  report(busy_ ? why : why + "; processes are started without a keeper");
  listed();
  run_waiting();
}

void keeper_backend::core::report(const std::string& what) {
  if (options_.problem) {
    options_.problem(what);
  }
}

void keeper_backend::core::run_waiting() {
  while (!waiting_.empty() && link_ != link::connecting) {
    const auto next = std::move(waiting_.front());
    waiting_.pop_front();
    next();
  }
}

// The list of what was found is complete: with what is known from files.
void keeper_backend::core::listed() {
  list_complete_ = true;
  if (!recovered_) {
    return;
  }
  if (dir_) {
    std::string problem;
    for (auto& [name, r] : keeper::read_all_left(dir_.get(), problem)) {
      r.child.id = found_.next_id++;
      r.child.left = r.exit;
      left_[r.child.id] = name;
      found_.children.push_back(std::move(r.child));
    }
    if (!problem.empty()) {
      found_.problem.append(found_.problem.empty() ? "" : "; ").append(problem);
    }
  }
  std::exchange(recovered_, nullptr)(std::exchange(found_, {{}, found_.next_id, {}}));
}

}  // namespace troupe::backends

// What the keeper does with children: tells the node about them, or stands in for it while there is
// none.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "troupe/apps/troupe-keeper/server.hpp"
#include "troupe/backends/keeper/left.hpp"

namespace troupe::keeper_app {

using namespace backends;

namespace {

constexpr std::size_t piece_bytes = 64 * 1024;
constexpr auto flush_pause = std::chrono::seconds{5};

std::string file_name(child_id id, const std::string& marker) {
  return wire::is_file_name(marker)
             ? marker
             : "child-" + std::to_string(::getpid()) + "-" + std::to_string(id);
}

std::vector<wire::unique_fd> files_of(local_backend::handles h) {
  std::vector<wire::unique_fd> files;
  for (const int fd : {h.output, h.input}) {
    if (fd >= 0) {
      files.push_back(wire::duplicate(fd));
    }
  }
  return files;
}

bool write_record(int dir, const std::string& name, const std::string& text) {
  ::mkdirat(dir, wire::left_folder, 0700);
  const std::string to = std::string(wire::left_folder) + '/' + name;
  const std::string temporary = std::string(wire::left_folder) + "/." + name;
  const wire::unique_fd file(::openat(dir, temporary.c_str(),
                                      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         ::renameat(dir, temporary.c_str(), dir, to.c_str()) == 0;
}

}  // namespace

server::kept::kept(server& o, child_id number, const spawn_spec& spec)
    : owner(o),
      id(number),
      marker(spec.marker),
      pty(spec.pty),
      has_stdin(spec.pty || spec.stdin_pipe),
      on_owner_death(spec.on_owner_death),
      spilled(file_name(number, spec.marker)) {}

void server::kept::started(const start_info& i) {
  info = i;
  lease = std::move(info->output);
  owner.by_slot_[lease->slot()] = id;
  if (owner.unlisted_.erase(id) != 0) {
    owner.list(*this);
    owner.end_of_list();
  } else if (owner.node_) {
    owner.tell(wire::started{id, info->pid, info->start_ticks, lease->slot()},
               files_of(owner.backend_->handles_of(id)));
  } else if (owner.grace_is_over_) {
    owner.grace_over();
  }
}

void server::kept::failed(const start_error& error) {
  owner.tell(wire::failed{id, error});
  owner.forget(id);
}

void server::kept::advanced() {
  if (!owner.node_) {
    consume();
  } else if (lease && owner.rings_->advanced().raise(lease->slot())) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(owner.node_bell_.get(), &one, sizeof one);
  }
}

void server::kept::eof() {
  output_ended = true;
  owner.tell(wire::about<wire::kind::eof>{id});
}

void server::kept::exited(const exit_status& status) {
  exit = status;
  owner.tell(wire::exited{id, status});
}

// Only whoever started the command knows what to do with it: it is not kept for another node.
void server::kept::reported(std::string report) {
  if (owner.node_ && !owner.node_->send(wire::reported{id, std::move(report)})) {
    owner.tell(wire::reported{id, {}});  // too large: it counts as altered
  }
}

void server::kept::drained(const std::vector<int>& who) {
  holders = who;
  owner.tell(wire::drained{id, who});
  owner.settle(*this);
}

void server::kept::written(std::uint64_t token, const write_outcome& outcome) {
  owner.tell(wire::written{id, token, outcome});
}

void server::kept::signalled(std::uint64_t token, int error_number) {
  owner.tell(wire::signalled{id, token, error_number});
}

void server::kept::kill_done(const std::vector<int>& survivors) {
  ending = false;
  owner.tell(wire::kill_done{id, survivors});
  owner.settle(*this);
}

void server::kept::described(std::uint64_t token, const description& what) {
  if (owner.node_ && !owner.node_->send(wire::described{id, token, what})) {
    owner.tell(wire::described{id, token, {}});
  }
}

void server::kept::consume() {
  if (!lease || owner.node_) {
    return;
  }
  if (!owner.spool_folder_) {
    ::mkdirat(owner.settings_.dir_fd.get(), wire::spool_folder, 0700);
    owner.spool_folder_.reset(::openat(owner.settings_.dir_fd.get(), wire::spool_folder,
                                       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    owner.spools_.folder = owner.spool_folder_.get();
  }
  auto& output = lease->producer();
  const auto capacity = lease->get().capacity();
  lease->get().take_wake();
  bool stalled = lease->get().header().stalled.load() != 0;
  while (output.end() - output.begin() > capacity - capacity / 4) {
    const auto piece = output.oldest(piece_bytes);
    spilled.append(owner.spools_, output.begin(), piece);
    stalled = output.drop_oldest(piece.size()) || stalled;
  }
  if (stalled) {
    owner.backend_->resume(id);
  }
}

void server::kept::ring_done() {
  if (lease && over()) {
    total_bytes = lease->producer().end();
    for (std::size_t i = 0; i < notes.size(); ++i) {
      notes[i] = lease->get().header().notes[i].load();
    }
    owner.by_slot_[lease->slot()] = 0;
    owner.backend_->drop_output(id);
    lease.reset();
  }
}

backends::found_child server::kept::known() const {
  backends::found_child f;
  f.marker = marker;
  f.pid = info->pid;
  f.start_ticks = info->start_ticks;
  f.pty = pty;
  f.owner_ended = owner_ended;
  f.total_bytes = lease ? lease->producer().end() : total_bytes;
  f.notes = notes;
  if (spilled.has_file()) {
    f.spool_path = owner.settings_.dir + '/' + wire::spool_folder + '/' + spilled.name();
  }
  f.spool_from = spilled.from();
  f.spool_bytes = spilled.bytes();
  f.tail_bytes = spilled.tail();
  return f;
}

server::kept* server::find(child_id id) {
  const auto entry = children_.find(id);
  return entry == children_.end() ? nullptr : entry->second.get();
}

void server::list(kept& child) {
  const auto handles = backend_->handles_of(child.id);
  wire::found f;
  f.child = child.known();
  f.child.id = child.id;
  f.child.has_stdin = handles.input >= 0 || (child.pty && !child.exit);
  f.child.on_owner_death = child.on_owner_death;
  f.has_output = handles.output >= 0;
  f.eof = child.output_ended;
  f.exit = child.exit;
  f.holders = child.holders;
  f.ring_gone = !child.lease;
  f.slot = child.lease ? child.lease->slot() : 0;
  tell(f, files_of(handles));
}

void server::end_of_list() {
  if (list_open_ && unlisted_.empty()) {
    list_open_ = false;
    tell(wire::notice<wire::kind::list_end>{next_id_});
  }
}

// The owner is dead for good.
void server::grace_over() {
  grace_is_over_ = true;
  std::vector<std::shared_ptr<kept>> all;
  for (const auto& [id, child] : children_) {
    all.push_back(child);
  }
  for (const auto& child : all) {
    if (!child->info) {
      continue;  // this is done again when it has started
    }
    if (child->on_owner_death == owner_death::end && !child->ending) {
      child->ending = true;
      child->owner_ended = !child->exit;
      if (child->pty && !child->exit) {
        backend_->signal(child->id, 0, SIGHUP);
      }
      backend_->kill(child->id, terms_.owner_plan);
    }
    settle(*child);
  }
  end_if_idle();
}

// A child that has ended while nobody is there to hear of it goes to the files.
void server::settle(kept& child) {
  if (node_ || !grace_is_over_ || !child.over() || child.ending) {
    return;
  }
  // With its directory gone nobody can come back for it.
  if (flush(child) || directory_is_gone()) {
    const auto id = child.id;
    backend_->release(id);
    forget(id);
  } else {
    flush_again_later();
  }
}

bool server::directory_is_gone() const {
  struct stat info {};
  return ::fstat(settings_.dir_fd.get(), &info) == 0 && info.st_nlink == 0;
}

void server::flush_again_later() {
  if (!std::exchange(flush_planned_, true)) {
    loop_.after(flush_pause, [this] {
      flush_planned_ = false;
      std::vector<std::shared_ptr<kept>> all;
      for (const auto& [id, child] : children_) {
        all.push_back(child);
      }
      for (const auto& child : all) {
        settle(*child);
      }
    });
  }
}

bool server::flush(kept& child) {
  child.consume();
  while (child.lease) {
    auto& output = child.lease->producer();
    const auto piece = output.oldest(piece_bytes);
    if (piece.empty()) {
      break;
    }
    std::size_t done = 0;
    const bool all = child.spilled.append_end(spools_, output.begin(), piece, done);
    output.drop_oldest(done);
    if (!all) {
      return false;
    }
  }
  const auto lost = child.lease ? child.lease->producer().lost() : 0;
  child.ring_done();
  wire::left_record r;
  r.child = child.known();
  r.child.has_stdin = child.has_stdin;
  r.child.holders = *child.holders;
  r.exit = *child.exit;
  r.dropped = child.spilled.dropped() + lost;
  return write_record(settings_.dir_fd.get(), file_name(child.id, child.marker),
                      wire::write_left(r));
}

void server::forget(child_id id) {
  const auto entry = children_.extract(id);
  if (entry && entry.mapped()->lease) {
    by_slot_[entry.mapped()->lease->slot()] = 0;
  }
  if (unlisted_.erase(id) != 0) {
    end_of_list();
  }
  // The backend may still be in one of its calls for this child.
  loop_.post([this] { end_if_idle(); });
}

}  // namespace troupe::keeper_app

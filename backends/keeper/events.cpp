// What the keeper says, on its way to the sinks. Marks in the shared memory overtake messages, so
// before `exited` and `drained` a mark is looked for: what it announces came first.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "troupe/backends/keeper/core.hpp"

namespace troupe::backends {

using keeper::kind;

template <class Record, class Action>
void keeper_backend::core::with(const keeper::message& m, Action action) {
  const auto record = keeper::decode<Record>(m.body);
  if (!record) {
    return;
  }
  const auto entry = children_.find(record->id);
  if (entry != children_.end() && entry->second.where == place::keeper) {
    action(entry->second, *record);
  }
}

void keeper_backend::core::received(keeper::message&& m) {
  switch (m.what) {
    case kind::welcome:
      welcomed(std::move(m));
      break;
    case kind::refused:
      if (const auto r = keeper::decode<keeper::refused>(m.body); link_ == link::connecting && r) {
        busy_ = r->other_pid != 0;
        unavailable(r->text);
      }
      break;
    case kind::found:
      if (auto f = keeper::decode<keeper::found>(m.body)) {
        found(std::move(*f), std::move(m.files));
      }
      break;
    case kind::list_end:
      if (const auto end = keeper::decode<keeper::notice<kind::list_end>>(m.body)) {
        found_.next_id = std::max(found_.next_id, end->number);
      }
      listed();
      break;
    case kind::taken_over:
      if (const auto by = keeper::decode<keeper::notice<kind::taken_over>>(m.body)) {
        superseded(by->number);
      }
      break;
    case kind::started:
      if (const auto s = keeper::decode<keeper::started>(m.body)) {
        started(*s, std::move(m.files));
      }
      break;
    case kind::failed:
      with<keeper::failed>(m, [this](child& c, const keeper::failed& r) {
        const auto out = std::move(c.out);
        children_.erase(r.id);
        if (out) {
          out->failed(r.what);
        }
      });
      break;
    case kind::eof:
      with<keeper::about<kind::eof>>(m, [](child& c, const auto&) {
        c.eof = true;
        if (!c.pty) {
          c.output.reset();
        }
        if (c.out) {
          c.out->eof();
        }
      });
      break;
    case kind::exited:
      with<keeper::exited>(m, [this](child& c, const keeper::exited& r) {
        tell_mark(c);
        c.exit = r.what;
        c.input.reset();
        if (c.out) {
          c.out->exited(r.what);
        }
      });
      break;
    case kind::reported:
      with<keeper::reported>(m, [](child& c, const keeper::reported& r) {
        if (c.out) {
          c.out->reported(r.what);
        }
      });
      break;
    case kind::drained:
      with<keeper::drained>(m, [this](child& c, const keeper::drained& r) {
        tell_mark(c);
        c.holders = r.what;
        if (r.what.empty() || c.eof) {
          c.output.reset();
        }
        if (c.out) {
          c.out->drained(r.what);
        }
      });
      break;
    case kind::written:
      with<keeper::written>(m, [](child& c, const keeper::written& r) {
        if (std::erase(c.writes, r.token) != 0 && c.out) {
          c.out->written(r.token, r.what);
        }
      });
      break;
    case kind::signalled:
      with<keeper::signalled>(m, [](child& c, const keeper::signalled& r) {
        if (std::erase(c.signals, r.token) != 0 && c.out) {
          c.out->signalled(r.token, r.what);
        }
      });
      break;
    case kind::kill_done:
      with<keeper::kill_done>(m, [](child& c, const keeper::kill_done& r) {
        c.killing.reset();
        if (c.out) {
          c.out->kill_done(r.what);
        }
      });
      break;
    case kind::described:
      with<keeper::described>(m, [](child& c, const keeper::described& r) {
        if (std::erase(c.describes, r.token) != 0 && c.out) {
          c.out->described(r.token, r.what);
        }
      });
      break;
    default:
      break;  // of a later version that knows more: nothing that matters to us
  }
}

std::shared_ptr<arena::lease> keeper_backend::core::lease_of(child_id id, std::uint32_t slot) {
  return rings_->use(slot, [weak = weak_from_this(), id](std::uint32_t) {
    // The consumer has it no more; the loop may be gone by then.
    if (const auto self = weak.lock()) {
      self->slots_.while_open([&] { self->loop_.post([self, id] { self->ring_done(id); }); });
    }
  });
}

void keeper_backend::core::ring_done(child_id id) {
  const auto* c = find(id);
  if (c != nullptr && c->where == place::keeper && link_ == link::attached) {
    channel_->send(keeper::about<kind::ring_done>{id});
  }
}

void keeper_backend::core::started(const keeper::started& s,
                                   std::vector<keeper::unique_fd>&& files) {
  auto* c = find(s.id);
  if (c == nullptr || s.slot >= by_slot_.size()) {
    return;
  }
  c->started = true;
  c->pid = s.pid;
  c->start_ticks = s.start_ticks;
  c->slot = s.slot;
  if (!files.empty()) {
    c->output = std::move(files[0]);
  }
  if (files.size() > 1 && !c->input_ends) {
    c->input = std::move(files[1]);
  }
  by_slot_[s.slot] = s.id;
  slots_.set(s.id, s.slot);
  const auto lease = lease_of(s.id, s.slot);
  c->lease = lease;
  const auto out = c->out;
  rings_->advanced().take(s.slot);
  out->started({s.pid, s.start_ticks, lease});
  // A mark that came before is not there any more; that there was one is still to be seen.
  if (lease->get().header().wake.load() != 0) {
    out->advanced();
  }
}

void keeper_backend::core::found(keeper::found&& f, std::vector<keeper::unique_fd>&& files) {
  if (f.slot >= by_slot_.size()) {
    return;
  }
  auto& out = f.child;
  auto& c = children_[out.id];
  c.marker = out.marker;
  c.pty = out.pty;
  c.started = true;
  c.pid = out.pid;
  c.start_ticks = out.start_ticks;
  c.slot = f.slot;
  c.eof = f.eof;
  c.exit = f.exit;
  c.holders = f.holders;
  std::size_t next = 0;
  if (f.has_output && next < files.size()) {
    c.output = std::move(files[next++]);
  }
  if (out.has_stdin && next < files.size()) {
    c.input = std::move(files[next]);
  }
  if (f.ring_gone) {
    out.left = f.exit;
  } else {
    by_slot_[f.slot] = out.id;
    slots_.set(out.id, f.slot);
    const auto lease = rings_->use(f.slot, [](std::uint32_t) {});
    for (std::size_t i = 0; i < out.notes.size(); ++i) {
      out.notes[i] = lease->get().header().notes[i].load();
    }
  }
  if (f.holders) {
    out.holders = *f.holders;
  }
  found_.children.push_back(std::move(out));
}

void keeper_backend::core::adopt(child_id id, std::shared_ptr<sink> out) {
  when_known([this, id, out = std::move(out)] {
    const auto entry = children_.find(id);
    if (entry == children_.end() || entry->second.out || !entry->second.started) {
      return;
    }
    auto& c = entry->second;
    c.out = out;
    const auto lease = lease_of(id, c.slot);
    c.lease = lease;
    if (c.where == place::orphaned) {
      out->started({c.pid, c.start_ticks, lease});
      take_here(id, c);
      return;
    }
    channel_->send(keeper::about<kind::adopt>{id});
    rings_->advanced().take(c.slot);
    const auto& ring = lease->get();
    ring.take_wake();  // whoever it was meant for is gone
    out->started({c.pid, c.start_ticks, lease});
    if (ring.end() > ring.begin() && ring.header().wake.exchange(1) == 0) {
      out->advanced();
    }
    if (c.eof) {
      out->eof();
    }
    if (c.exit) {
      out->exited(*c.exit);
    }
    if (c.holders) {
      out->drained(*c.holders);
    }
  });
}

void keeper_backend::core::tell_mark(child& c) {
  if (rings_->advanced().take(c.slot) && c.out) {
    c.out->advanced();
  }
}

void keeper_backend::core::await_bell() {
  bell_->async_wait(boost::asio::posix::descriptor_base::wait_read,
                    [self = shared_from_this()](const boost::system::error_code& error) {
                      if (error || !self->bell_) {
                        return;
                      }
                      std::uint64_t count = 0;
                      [[maybe_unused]] const auto n =
                          ::read(self->bell_->native_handle(), &count, sizeof count);
                      self->rings_->advanced().silence();
                      self->rings_->advanced().take_all([&](std::uint32_t slot) {
                        auto* c = self->find(self->by_slot_[slot]);
                        if (c != nullptr && c->out && c->slot == slot && !c->holders) {
                          c->out->advanced();
                        }
                      });
                      self->await_bell();
                    });
}

}  // namespace troupe::backends

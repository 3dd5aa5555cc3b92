// The door to the loop, and requests on their way to the keeper (or to the stand-in).
#include "troupe/backends/keeper/keeper_backend.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <utility>

#include "troupe/backends/keeper/core.hpp"

namespace troupe::backends {

using keeper::kind;

namespace {

/// More than this waiting for the keeper: it does not keep up, and a write has to come again.
constexpr std::size_t most_waiting = 32 << 20;

}  // namespace

void keeper_slots::open(std::shared_ptr<arena> rings, keeper::unique_fd bell) {
  const std::lock_guard lock(mutex_);
  rings_ = std::move(rings);
  bell_ = std::move(bell);
  slots_.clear();
}

void keeper_slots::close() {
  open(nullptr, {});
}

void keeper_slots::set(child_id id, std::uint32_t slot) {
  const std::lock_guard lock(mutex_);
  slots_[id] = slot;
}

void keeper_slots::erase(child_id id) {
  const std::lock_guard lock(mutex_);
  slots_.erase(id);
}

bool keeper_slots::resume(child_id id) {
  const std::lock_guard lock(mutex_);
  const auto entry = slots_.find(id);
  if (entry == slots_.end()) {
    return false;
  }
  if (rings_->resumed().raise(entry->second)) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(bell_.get(), &one, sizeof one);
  }
  return true;
}

keeper_backend::core::core(io_loop& loop, keeper_options options)
    : loop_(loop), options_(std::move(options)) {}

void keeper_backend::core::when_known(std::function<void()> action) {
  if (closed_) {
    return;
  }
  if (link_ == link::connecting) {
    waiting_.push_back(std::move(action));
  } else {
    action();
  }
}

keeper_backend::core::child* keeper_backend::core::find(child_id id) {
  const auto entry = children_.find(id);
  return entry == children_.end() ? nullptr : &entry->second;
}

// Why nothing is started here, if nothing is.
std::optional<start_error> keeper_backend::core::refusal() const {
  if (!busy_) {
    return std::nullopt;
  }
  return start_error{stage::fork, EBUSY, "EBUSY: " + why_not_};
}

void keeper_backend::core::prepare(child_id id, spawn_spec&& spec) {
  connect(true);
  when_known([this, id, spec = std::move(spec)]() mutable {
    if (link_ == link::attached) {
      channel_->send(keeper::prepare_order{id, std::move(spec)});
    } else if (!refusal()) {
      local().prepare(id, std::move(spec));
    }
  });
}

void keeper_backend::core::discard(child_id id) {
  when_known([this, id] {
    if (link_ == link::attached) {
      channel_->send(keeper::about<kind::discard>{id});
    }
    if (local_) {
      local_->discard(id);
    }
  });
}

void keeper_backend::core::start(child_id id, spawn_spec&& spec, std::shared_ptr<sink> out) {
  auto& c = children_[id];
  c.out = std::move(out);
  c.marker = spec.marker;
  c.pty = spec.pty;
  connect(true);
  when_known([this, id, spec = std::move(spec)]() mutable {
    const auto entry = children_.find(id);
    if (entry == children_.end()) {
      return;  // released meanwhile
    }
    auto& started = entry->second;
    auto error = refusal();
    if (!error && link_ != link::attached) {
      started.where = place::here;
      local().start(id, std::move(spec), started.out);
      return;
    }
    if (!error && !channel_->send(keeper::start_order{id, std::move(spec)})) {
      error =
          start_error{stage::limits, errno,
                      local::errno_name(errno) + " while handing a large command to the keeper"};
    }
    if (error) {
      const auto whom = started.out;
      children_.erase(entry);
      whom->failed(*error);
    }
  });
}

void keeper_backend::core::write(child_id id, std::uint64_t token, std::string&& data, bool eof) {
  when_known([this, id, token, data = std::move(data), eof]() mutable {
    auto* c = find(id);
    if (c == nullptr) {
      return;
    }
    if (c->where == place::here) {
      local().write(id, token, std::move(data), eof);
      return;
    }
    if (c->where != place::keeper) {
      return;
    }
    if (channel_->queued() > most_waiting ||
        !channel_->send(keeper::write_request{id, token, eof, std::move(data)})) {
      if (c->out) {
        c->out->written(token, {write_status::would_block, 0, 0});
      }
      return;
    }
    c->writes.push_back(token);
    if (eof) {
      c->input_ends = true;
      c->input.reset();
    }
  });
}

void keeper_backend::core::signal(child_id id, std::uint64_t token, int number) {
  when_known([this, id, token, number] {
    if (auto* c = find(id); c != nullptr && c->where == place::here) {
      local().signal(id, token, number);
    } else if (c != nullptr && c->where == place::keeper) {
      c->signals.push_back(token);
      channel_->send(keeper::signal_request{id, token, number});
    }
  });
}

void keeper_backend::core::kill(child_id id, kill_plan plan) {
  when_known([this, id, plan] {
    if (auto* c = find(id); c != nullptr && c->where == place::here) {
      local().kill(id, plan);
    } else if (c != nullptr && c->where == place::keeper) {
      c->killing = plan;
      channel_->send(keeper::kill_request{id, plan});
    }
  });
}

void keeper_backend::core::resize(child_id id, std::uint16_t rows, std::uint16_t cols) {
  when_known([this, id, rows, cols] {
    if (auto* c = find(id); c != nullptr && c->where == place::here) {
      local().resize(id, rows, cols);
    } else if (c != nullptr && c->where == place::keeper) {
      channel_->send(keeper::resize_request{id, rows, cols});
    }
  });
}

void keeper_backend::core::resume(child_id id) {
  if (auto* c = find(id); c != nullptr && c->where == place::here && !closed_) {
    local().resume(id);
  }
}

void keeper_backend::core::describe(child_id id, std::uint64_t token) {
  when_known([this, id, token] {
    if (auto* c = find(id); c != nullptr && c->where == place::here) {
      local().describe(id, token);
    } else if (c != nullptr && c->where == place::keeper) {
      c->describes.push_back(token);
      channel_->send(keeper::describe_request{id, token});
    }
  });
}

void keeper_backend::core::set_owner_death(child_id id, owner_death what) {
  when_known([this, id, what] {
    if (auto* c = find(id); c != nullptr && c->where == place::keeper) {
      channel_->send(keeper::owner_death_request{id, what});
    }
  });
}

void keeper_backend::core::release(child_id id) {
  when_known([this, id] {
    if (const auto record = left_.extract(id)) {
      const auto name = std::string(keeper::left_folder) + '/' + record.mapped();
      ::unlinkat(dir_.get(), name.c_str(), 0);
      ::unlinkat(dir_.get(), keeper::left_folder, AT_REMOVEDIR);  // if that was the last one
      return;
    }
    auto entry = children_.extract(id);
    if (!entry) {
      return;
    }
    const auto& c = entry.mapped();
    if (c.where == place::here) {
      local().release(id);
    } else if (link_ == link::attached) {
      channel_->send(keeper::about<kind::release>{id});
      slots_.erase(id);
      if (c.slot < by_slot_.size() && by_slot_[c.slot] == id) {
        by_slot_[c.slot] = 0;
      }
    }
  });
}

void keeper_backend::core::recover(std::function<void(recovery)> done) {
  recovered_ = std::move(done);
  connect(false);
  if (link_ != link::connecting && (list_complete_ || link_ != link::attached)) {
    listed();
  }
}

void keeper_backend::core::close() {
  closed_ = true;
  link_ = link::unavailable;
  loop_.cancel(limit_);
  waiting_.clear();
  slots_.close();
  if (channel_) {
    std::exchange(channel_, nullptr)->close();
  }
  bell_.reset();
  children_.clear();
  rings_.reset();
}

keeper_backend::keeper_backend(io_loop& loop, keeper_options options)
    : core_(std::make_shared<core>(loop, std::move(options))), loop_(loop) {}

keeper_backend::~keeper_backend() {
  std::promise<void> closed;
  loop_.post([this, &closed] {
    core_->close();
    closed.set_value();
  });
  closed.get_future().wait();
  core_->join();
}

void keeper_backend::prepare(child_id id, spawn_spec spec) {
  loop_.post(
      [c = core_, id, spec = std::move(spec)]() mutable { c->prepare(id, std::move(spec)); });
}

void keeper_backend::discard(child_id id) {
  loop_.post([c = core_, id] { c->discard(id); });
}

void keeper_backend::start(child_id id, spawn_spec spec, std::shared_ptr<sink> out) {
  loop_.post([c = core_, id, spec = std::move(spec), out = std::move(out)]() mutable {
    c->start(id, std::move(spec), std::move(out));
  });
}

void keeper_backend::write(child_id id, std::uint64_t token, std::string data, bool eof) {
  loop_.post([c = core_, id, token, data = std::move(data), eof]() mutable {
    c->write(id, token, std::move(data), eof);
  });
}

void keeper_backend::signal(child_id id, std::uint64_t token, int signal_number) {
  loop_.post([c = core_, id, token, signal_number] { c->signal(id, token, signal_number); });
}

void keeper_backend::kill(child_id id, kill_plan plan) {
  loop_.post([c = core_, id, plan] { c->kill(id, plan); });
}

void keeper_backend::resize(child_id id, std::uint16_t rows, std::uint16_t cols) {
  loop_.post([c = core_, id, rows, cols] { c->resize(id, rows, cols); });
}

void keeper_backend::resume(child_id id) {
  if (!core_->slots().resume(id)) {
    loop_.post([c = core_, id] { c->resume(id); });
  }
}

void keeper_backend::describe(child_id id, std::uint64_t token) {
  loop_.post([c = core_, id, token] { c->describe(id, token); });
}

void keeper_backend::recover(std::function<void(recovery)> done) {
  loop_.post([c = core_, done = std::move(done)]() mutable { c->recover(std::move(done)); });
}

void keeper_backend::adopt(child_id id, std::shared_ptr<sink> out) {
  loop_.post([c = core_, id, out = std::move(out)]() mutable { c->adopt(id, std::move(out)); });
}

void keeper_backend::adopt_running(child_id id, int pid, std::uint64_t start_ticks,
                                   std::string marker, std::shared_ptr<sink> out) {
  loop_.post([c = core_, id, pid, start_ticks, marker = std::move(marker),
              out = std::move(out)]() mutable {
    c->adopt_running(id, pid, start_ticks, std::move(marker), std::move(out));
  });
}

void keeper_backend::set_owner_death(child_id id, owner_death what) {
  loop_.post([c = core_, id, what] { c->set_owner_death(id, what); });
}

void keeper_backend::release(child_id id) {
  loop_.post([c = core_, id] { c->release(id); });
}

}  // namespace troupe::backends

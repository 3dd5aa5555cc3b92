// The table of children and the door to the loop: every request is a task on the loop's thread.
#include "troupe/backends/local/local_backend.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "troupe/backends/local/child.hpp"
#include "troupe/backends/local/process_table.hpp"
#include "troupe/backends/local/reaper.hpp"

namespace troupe::backends::local {

namespace {

/// What an empty pipe takes at once on every Linux (its capacity is at least this).
constexpr std::size_t prepared_script_bytes = 60 * 1024;

std::unique_ptr<launcher> make_launcher(io_loop& loop, const local_options& options) {
  if (options.on_worker != nullptr) {
    return std::make_unique<direct_launcher>(loop, *options.on_worker, options.spawn);
  }
  return std::make_unique<direct_launcher>(loop, options.launcher_threads, options.spawn);
}

bool become_subreaper() {
  return ::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

reaper::mode how_to_wait(const local_options& options) {
  return options.leaders_by_signal ? reaper::mode::leaders_by_signal
         : options.adopt_orphans   ? reaper::mode::orphans
                                   : reaper::mode::pidfds_only;
}

}  // namespace

class local_backend::core : public std::enable_shared_from_this<core> {
 public:
  core(io_loop& loop, std::shared_ptr<arena> rings, local_options options)
      : loop_(loop),
        rings_(std::move(rings)),
        launcher_(make_launcher(loop, options)),
        table_(std::make_unique<process_table>(options.adopt_orphans && become_subreaper(),
                                               options.on_worker)),
        services_{loop,
                  *table_,
                  options.drain_limit,
                  options.stdin_queue_bytes,
                  !options.leaders_by_signal,
                  {},
                  {},
                  {}},
        reaper_(std::make_shared<reaper>(loop, table_->own(), how_to_wait(options))),
        on_idle_(options.on_idle) {
    services_.reaped = [this](int pid) { reaper_->gone(pid); };
    services_.may_have_ended = [this](int pid) { reaper_->look_at_later(pid); };
    services_.forget = [this](child_id id) { forget(id); };
  }

  // -- on the loop's thread --

  void begin() { reaper_->begin(); }

  void add(child_id id, const std::shared_ptr<child>& one) {
    if (!closed_) {
      children_[id] = one;
    }
  }

  void launched(child_id id, const std::shared_ptr<sink>& out, spawn_result&& result,
                std::shared_ptr<arena::lease> lease) {
    if (closed_) {
      return;
    }
    const auto entry = children_.find(id);
    if (auto* error = std::get_if<start_error>(&result)) {
      const bool wanted = entry != children_.end() && !released_.contains(id);
      released_.erase(id);
      if (entry != children_.end()) {
        children_.erase(entry);
      }
      if (wanted) {
        out->failed(*error);
      }
    } else if (entry != children_.end()) {
      auto& s = std::get<spawned>(result);
      const auto one = entry->second;
      const auto early = reaper_->began(s, one);
      one->began(std::move(s), std::move(lease));
      if (early) {
        one->leader_exited(*early);
      }
    }
  }

  void launch(spawn_spec spec, std::function<void(spawn_result)> done, bool command_later) {
    const auto number = reaper_->launch_begins();
    launcher_->launch(
        std::move(spec),
        [c = shared_from_this(), number, done = std::move(done)](spawn_result result) {
          done(std::move(result));
          c->reaper_->launch_ends(number);
        },
        command_later);
  }

  void take(child_id id, adopted&& a, const std::shared_ptr<child>& one) {
    if (!closed_) {
      children_[id] = one;
      one->adopt(std::move(a));
    }
  }

  void drop_output(child_id id) {
    if (const auto entry = children_.find(id); entry != children_.end()) {
      entry->second->drop_output();
    }
  }

  bool idle() const { return children_.empty() && prepared_.empty() && !reaper_->launching(); }

  handles handles_of(child_id id) {
    const auto entry = children_.find(id);
    return entry == children_.end()
               ? handles{}
               : handles{entry->second->output_handle(), entry->second->input_handle()};
  }

  template <class Action>
  void with(child_id id, Action action) {
    const auto entry = children_.find(id);
    if (entry != children_.end() && !released_.contains(id)) {
      const auto one = entry->second;  // may be forgotten by what it does
      action(*one);
    }
  }

  // -- prepared children --

  void prepare(child_id id, spawn_spec spec) {
    if (closed_) {
      return;
    }
    prepared_[id];
    auto marker = spec.marker;
    launch(
        std::move(spec),
        [c = shared_from_this(), id, marker](spawn_result result) {
          const auto entry = c->prepared_.find(id);
          auto* made = std::get_if<spawned>(&result);
          std::function<void()> next;
          if (entry == c->prepared_.end() || made == nullptr || c->closed_) {
            if (entry != c->prepared_.end()) {
              next = std::move(entry->second.wanted);
              c->prepared_.erase(entry);
            }
            if (made != nullptr) {
              c->let_end(std::move(*made));
            }
          } else {
            made->first_marker = marker;
            c->reaper_->prepared(made->pid);
            entry->second.made = std::move(*made);
            next = std::move(entry->second.wanted);
          }
          if (next) {
            next();
          }
        },
        true);
  }

  void discard(child_id id) {
    if (auto entry = prepared_.extract(id); entry && entry.mapped().made) {
      let_end(std::move(*entry.mapped().made));
    }
  }

  // The prepared child `id`, with `script` on its way to it; nothing if it is not ready, not alive
  // any more, or the script does not go into its pipe at once.
  std::optional<spawned> take_prepared(child_id id, const std::string& script) {
    auto entry = prepared_.extract(id);
    if (!entry || !entry.mapped().made) {
      return std::nullopt;
    }
    auto made = std::move(*entry.mapped().made);
    pollfd ended{made.pidfd.get(), POLLIN, 0};
    const bool usable = script.size() <= prepared_script_bytes && ::poll(&ended, 1, 0) == 0 &&
                        ::write(made.command.get(), script.data(), script.size()) ==
                            static_cast<ssize_t>(script.size());
    made.command.reset();
    if (!usable) {
      let_end(std::move(made));
      return std::nullopt;
    }
    return made;
  }

  void start(child_id id, spawn_spec spec, const std::shared_ptr<sink>& out,
             const std::shared_ptr<child>& one) {
    add(id, one);
    // One that is still being made will be there sooner than a new one.
    if (const auto entry = prepared_.find(spec.prepared);
        spec.prepared != 0 && entry != prepared_.end() && !entry->second.made && !closed_) {
      auto order = std::make_shared<spawn_spec>(std::move(spec));
      entry->second.wanted = [c = shared_from_this(), id, order, out] {
        c->begin_start(id, std::move(*order), out);
      };
      return;
    }
    begin_start(id, std::move(spec), out);
  }

  void begin_start(child_id id, spawn_spec spec, const std::shared_ptr<sink>& out) {
    auto lease = closed_ ? nullptr : rings_->acquire();
    if (!lease) {
      launched(
          id, out,
          start_error{stage::limits, ENOBUFS, "ENOBUFS: no output ring left for another process"},
          {});
      return;
    }
    if (spec.prepared != 0) {
      if (auto made = take_prepared(spec.prepared, spec.command_script)) {
        launched(id, out, std::move(*made), std::move(lease));
        return;
      }
    }
    launch(
        std::move(spec),
        [c = shared_from_this(), id, out, lease](spawn_result result) {
          c->launched(id, out, std::move(result), lease);
        },
        false);
  }

  void release(child_id id) {
    with(id, [&](child& one) {
      released_.insert(id);
      one.release();
    });
  }

  void close() {
    closed_ = true;
    reaper_->close();
    for (const auto& [id, one] : children_) {
      one->close();
    }
    children_.clear();
    prepared_.clear();
    rings_.reset();
  }

  // -- on any other thread, after `close` --

  void join() {
    launcher_.reset();
    table_.reset();
  }

  child_services& services() { return services_; }

 private:
  // A prepared shell ends by itself once its pipe is closed; only its status must be taken.
  void let_end(spawned&& made) {
    made.command.reset();
    made.output.reset();
    if (!made.pidfd) {
      return;
    }
    auto fd = std::make_shared<boost::asio::posix::stream_descriptor>(loop_.context(),
                                                                      made.pidfd.release());
    fd->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [fd, r = reaper_, pid = made.pid](const boost::system::error_code& error) {
                     if (!error) {
                       r->reap_prepared(pid, fd->native_handle());
                     }
                   });
  }

  void forget(child_id id) {
    released_.erase(id);
    if (const auto entry = children_.find(id); entry != children_.end()) {
      const auto one = entry->second;
      children_.erase(entry);
      one->close();
      if (on_idle_ && children_.empty()) {
        loop_.post(on_idle_);
      }
    }
  }

  io_loop& loop_;
  std::shared_ptr<arena> rings_;
  std::unique_ptr<launcher> launcher_;
  std::unique_ptr<process_table> table_;
  child_services services_;
  std::shared_ptr<reaper> reaper_;
  std::unordered_map<child_id, std::shared_ptr<child>> children_;
  std::set<child_id> released_;
  struct prepared_child {
    std::optional<spawned> made;   ///< empty while the launch is under way
    std::function<void()> wanted;  ///< a start that waits for it
  };
  std::unordered_map<child_id, prepared_child> prepared_;
  std::function<void()> on_idle_;
  bool closed_ = false;
};

local_backend::local_backend(io_loop& loop, std::shared_ptr<arena> rings, local_options options)
    : core_(std::make_shared<core>(loop, std::move(rings), options)), loop_(loop) {
  loop.post([c = core_] { c->begin(); });
}

local_backend::~local_backend() {
  if (loop_.on_loop()) {
    core_->close();
  } else {
    std::promise<void> closed;
    loop_.post([this, &closed] {
      core_->close();
      closed.set_value();
    });
    closed.get_future().wait();
  }
  core_->join();
}

void local_backend::start(child_id id, spawn_spec spec, std::shared_ptr<sink> out) {
  auto one = std::make_shared<child>(core_->services(), id, out, spec);
  auto order = std::make_shared<spawn_spec>(std::move(spec));
  loop_.post([c = core_, id, order, out = std::move(out), one] {
    c->start(id, std::move(*order), out, one);
  });
}

void local_backend::take(child_id id, adopted what, const spawn_spec& like,
                         std::shared_ptr<sink> out) {
  auto one = std::make_shared<child>(core_->services(), id, std::move(out), like);
  auto a = std::make_shared<adopted>(std::move(what));
  loop_.post([c = core_, id, a, one] { c->take(id, std::move(*a), one); });
}

void local_backend::adopt_running(child_id id, int pid, std::uint64_t start_ticks,
                                  std::string marker, std::shared_ptr<sink> out) {
  adopted a;
  a.process.pid = pid;
  a.process.start_ticks = start_ticks;
  a.process.pidfd = open_process(pid, start_ticks);
  spawn_spec like;
  like.marker = std::move(marker);
  loop_.post([out, pid, start_ticks] { out->started({pid, start_ticks, nullptr}); });
  take(id, std::move(a), like, out);
}

local_backend::handles local_backend::handles_of(child_id id) {
  return core_->handles_of(id);
}

void local_backend::drop_output(child_id id) {
  core_->drop_output(id);
}

bool local_backend::idle() {
  return core_->idle();
}

void local_backend::prepare(child_id id, spawn_spec spec) {
  auto order = std::make_shared<spawn_spec>(std::move(spec));
  loop_.post([c = core_, id, order] { c->prepare(id, std::move(*order)); });
}

void local_backend::discard(child_id id) {
  loop_.post([c = core_, id] { c->discard(id); });
}

void local_backend::write(child_id id, std::uint64_t token, std::string data, bool eof) {
  loop_.post([c = core_, id, token, data = std::move(data), eof] {
    c->with(id, [&](child& one) { one.write(token, data, eof); });
  });
}

void local_backend::signal(child_id id, std::uint64_t token, int signal_number) {
  loop_.post([c = core_, id, token, signal_number] {
    c->with(id, [&](child& one) { one.signal(token, signal_number); });
  });
}

void local_backend::kill(child_id id, kill_plan plan) {
  loop_.post([c = core_, id, plan] { c->with(id, [&](child& one) { one.kill(plan); }); });
}

void local_backend::resize(child_id id, std::uint16_t rows, std::uint16_t cols) {
  loop_.post(
      [c = core_, id, rows, cols] { c->with(id, [&](child& one) { one.resize(rows, cols); }); });
}

void local_backend::resume(child_id id) {
  loop_.post([c = core_, id] { c->with(id, [](child& one) { one.resume(); }); });
}

void local_backend::describe(child_id id, std::uint64_t token) {
  loop_.post([c = core_, id, token] { c->with(id, [&](child& one) { one.describe(token); }); });
}

void local_backend::recover(std::function<void(recovery)> done) {
  loop_.post([done = std::move(done)] { done({}); });
}

void local_backend::release(child_id id) {
  loop_.post([c = core_, id] { c->release(id); });
}

}  // namespace troupe::backends::local

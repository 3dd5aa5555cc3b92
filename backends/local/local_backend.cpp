// The table of children and the door to the loop: every request is a task on the loop's thread.
#include "troupe/backends/local/local_backend.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "troupe/backends/local/child.hpp"
#include "troupe/backends/local/process_table.hpp"

namespace troupe::backends::local {

namespace {

/// What an empty pipe takes at once on every Linux (its capacity is at least this).
constexpr std::size_t prepared_script_bytes = 60 * 1024;

// Signals of children that end together are one signal. Those whose output has ended are looked at
// with every signal; the others (a descendant holds the output) all together a little later: how much
// depends on how many there are, so that exits of a few cost the same among thousands.
constexpr auto look_after = std::chrono::microseconds{500};
constexpr auto look_after_per_child = std::chrono::microseconds{20};  // a look takes 0.3 for each
constexpr auto end_follows_output = std::chrono::milliseconds{500};

std::unique_ptr<launcher> make_launcher(io_loop& loop, const local_options& options) {
  if (options.on_worker != nullptr) {
    return std::make_unique<direct_launcher>(loop, *options.on_worker, options.spawn);
  }
  return std::make_unique<direct_launcher>(loop, options.launcher_threads, options.spawn);
}

}  // namespace

class local_backend::core : public std::enable_shared_from_this<core> {
 public:
  core(io_loop& loop, std::shared_ptr<arena> rings, local_options options)
      : loop_(loop),
        rings_(std::move(rings)),
        launcher_(make_launcher(loop, options)),
        table_(options.on_worker != nullptr ? std::make_unique<process_table>(*options.on_worker)
                                            : std::make_unique<process_table>()),
        services_{loop,
                  *table_,
                  options.drain_limit,
                  options.stdin_queue_bytes,
                  !options.leaders_by_signal,
                  {},
                  {},
                  {}},
        child_signals_(loop.context()),
        on_idle_(options.on_idle) {
    services_.reaped = [this](int pid) { leaders_.erase(pid); };
    services_.may_have_ended = [this](int pid) {
      loop_.post([c = shared_from_this(), pid] { c->look_at(pid); });
    };
    services_.forget = [this](child_id id) { forget(id); };
    if (options.adopt_orphans) {
      adopting_ = true;
      ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    }
  }

  // -- on the loop's thread --

  void begin() {
    if (!services_.pidfds) {
      sigset_t child_ended;
      sigemptyset(&child_ended);
      sigaddset(&child_ended, SIGCHLD);
      signals_.emplace(loop_.context(), ::signalfd(-1, &child_ended, SFD_NONBLOCK | SFD_CLOEXEC));
      await_signals();
    } else if (adopting_) {
      child_signals_.add(SIGCHLD);
      await_child_signal();
    }
  }

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
      const auto pid = s.pid;
      const auto one = entry->second;
      const auto early = early_exits_.extract(pid);
      if (early && s.start_ticks == 0) {
        s.start_ticks = early.mapped().start_ticks;
      }
      leaders_[pid] = one;
      one->began(std::move(s), std::move(lease));
      if (early) {
        one->leader_exited(early.mapped().status);
      }
    }
  }

  void launch(spawn_spec spec, std::function<void(spawn_result)> done, bool command_later) {
    const auto number = ++last_launch_;
    launching_.insert(number);
    launcher_->launch(
        std::move(spec),
        [c = shared_from_this(), number, done = std::move(done)](spawn_result result) {
          done(std::move(result));
          c->launching_.erase(number);
          const auto oldest = c->launching_.empty() ? number + 1 : *c->launching_.begin();
          if (!c->early_exits_.empty()) {
            std::erase_if(c->early_exits_,
                          [&](const auto& e) { return e.second.launches < oldest; });
          }
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

  bool idle() const { return children_.empty() && prepared_.empty() && launching_.empty(); }

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
    boost::system::error_code ignored;
    child_signals_.cancel(ignored);
    child_signals_.clear(ignored);
    signals_.reset();
    for (const auto& [id, one] : children_) {
      one->close();
    }
    children_.clear();
    leaders_.clear();
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
                   [fd](const boost::system::error_code& error) {
                     if (!error) {
                       reap(P_PIDFD, fd->native_handle());
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

  void await_child_signal() {
    child_signals_.async_wait(
        [self = shared_from_this()](const boost::system::error_code& error, int) {
          if (!error && !self->closed_) {
            self->await_child_signal();
            self->reap_all();
          }
        });
  }

  void await_signals() {
    signals_->async_wait(boost::asio::posix::descriptor_base::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           if (!error && !self->closed_) {
                             self->take_signals();
                             self->await_signals();
                           }
                         });
  }

  void take_signals() {
    // Signals of one number do not queue: there is one at most.
    signalfd_siginfo info;
    if (::read(signals_->native_handle(), &info, sizeof info) == sizeof info) {
      child_ended(static_cast<int>(info.ssi_pid));
    }
    const auto now = io_loop::clock::now();
    for (auto at = suspects_.begin(); at != suspects_.end();) {
      const auto [pid, until] = *at;
      at = suspects_.erase(at);
      if (until > now && !look_and_see(pid)) {
        suspects_.emplace(pid, until);
      }
    }
    if (!std::exchange(look_planned_, true)) {
      loop_.after(look_after + look_after_per_child * children_.size(),
                  [self = shared_from_this()] {
                    self->look_planned_ = false;
                    if (!self->closed_) {
                      self->reap_all();
                    }
                  });
    }
  }

  // Whether this leader has ended (or is none any more).
  bool look_and_see(int pid) {
    if (leaders_.contains(pid)) {
      child_ended(pid);
    }
    return !leaders_.contains(pid);
  }

  void look_at(int pid) {
    if (!closed_ && !look_and_see(pid)) {
      suspects_[pid] = io_loop::clock::now() + end_follows_output;
    }
  }

  void reap_all() {
    for (;;) {
      siginfo_t info{};
      if (::syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, nullptr) != 0 ||
          info.si_pid == 0) {
        return;
      }
      child_ended(info.si_pid);
    }
  }

  // Leaders are handled as such, adopted orphans are only put to rest. A leader may end before its
  // launch is known here: then its status is kept until all launches that were under way are known.
  void child_ended(int pid) {
    if (const auto leader = leaders_.find(pid); leader != leaders_.end()) {
      const auto outcome = reap(P_PID, pid);
      if (outcome.ended) {
        const auto one = leader->second;
        one->leader_exited(outcome.status);
      }
      return;
    }
    const auto start_ticks = launching_.empty() ? 0 : read_start_ticks(pid);
    const auto outcome = reap(P_PID, pid);
    if (outcome.ended && outcome.status.known && !launching_.empty()) {
      early_exits_[pid] = {outcome.status, start_ticks, last_launch_};
    }
  }

  io_loop& loop_;
  std::shared_ptr<arena> rings_;
  std::unique_ptr<launcher> launcher_;
  std::unique_ptr<process_table> table_;
  child_services services_;
  std::unordered_map<child_id, std::shared_ptr<child>> children_;
  std::unordered_map<int, std::shared_ptr<child>> leaders_;
  std::set<child_id> released_;
  struct prepared_child {
    std::optional<spawned> made;   ///< empty while the launch is under way
    std::function<void()> wanted;  ///< a start that waits for it
  };
  std::unordered_map<child_id, prepared_child> prepared_;
  struct early_exit {
    exit_status status;
    std::uint64_t start_ticks = 0;
    std::uint64_t launches = 0;  ///< the last launch that had begun
  };
  std::set<std::uint64_t> launching_;
  std::uint64_t last_launch_ = 0;
  std::unordered_map<int, early_exit> early_exits_;
  boost::asio::signal_set child_signals_;
  std::optional<boost::asio::posix::stream_descriptor> signals_;
  bool look_planned_ = false;
  std::map<int, io_loop::clock::time_point> suspects_;  ///< leaders without output
  std::function<void()> on_idle_;
  bool adopting_ = false;
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

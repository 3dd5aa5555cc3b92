// One thread that runs an Asio context; timers are looked up by id so that a cancelled one can
// never fire late. Everything but the id counter belongs to the loop's thread.
#include "troupe/backends/io_loop.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

namespace troupe::backends {

namespace asio = boost::asio;

namespace {

// A write to a pipe whose reader is gone must be an error, not the end of the host. A host that has
// chosen something else for SIGPIPE keeps it.
void ignore_sigpipe() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction old {};
    if (::sigaction(SIGPIPE, nullptr, &old) == 0 && (old.sa_flags & SA_SIGINFO) == 0 &&
        old.sa_handler == SIG_DFL) {
      struct sigaction ignore {};
      ignore.sa_handler = SIG_IGN;
      ::sigaction(SIGPIPE, &ignore, nullptr);
    }
  });
}

// Tries 127.0.0.1, then ::1, then pauses. Refusals on the loopback interface come at once.
class port_probe : public std::enable_shared_from_this<port_probe> {
 public:
  port_probe(asio::io_context& context, std::uint16_t port, io_loop::clock::time_point deadline,
             std::function<void(bool)> done)
      : socket_(context),
        pause_(context),
        limit_(context),
        port_(port),
        deadline_(deadline),
        done_(std::move(done)) {}

  void start() {
    limit_.expires_at(deadline_);
    limit_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) {
        self->finish(false);
      }
    });
    attempt(false);
  }

  void cancel() {
    done_ = nullptr;
    finish(false);
  }

 private:
  void attempt(bool v6) {
    boost::system::error_code ignored;
    socket_.close(ignored);
    const asio::ip::address address = v6 ? asio::ip::address{asio::ip::address_v6::loopback()}
                                         : asio::ip::address{asio::ip::address_v4::loopback()};
    socket_.async_connect({address, port_},
                          [self = shared_from_this(), v6](const boost::system::error_code& error) {
                            self->attempted(v6, error);
                          });
  }

  void attempted(bool v6, const boost::system::error_code& error) {
    if (finished_) {
      return;
    }
    if (!error) {
      finish(true);
    } else if (!v6) {
      attempt(true);
    } else if (io_loop::clock::now() >= deadline_) {
      finish(false);
    } else {
      pause_.expires_after(wait_);
      wait_ = std::min(wait_ * 2, std::chrono::milliseconds{100});
      pause_.async_wait([self = shared_from_this()](const boost::system::error_code& failed) {
        if (!failed && !self->finished_) {
          self->attempt(false);
        }
      });
    }
  }

  void finish(bool accepted) {
    if (std::exchange(finished_, true)) {
      return;
    }
    boost::system::error_code ignored;
    socket_.close(ignored);
    pause_.cancel();
    limit_.cancel();
    if (auto done = std::exchange(done_, nullptr)) {
      done(accepted);
    }
  }

  asio::ip::tcp::socket socket_;
  asio::steady_timer pause_;
  asio::steady_timer limit_;
  std::uint16_t port_;
  io_loop::clock::time_point deadline_;
  std::function<void(bool)> done_;
  std::chrono::milliseconds wait_{5};
  bool finished_ = false;
};

}  // namespace

struct io_loop::impl {
  asio::io_context context{1};  // one thread runs it: Asio leaves out what only many need
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  std::atomic<timer_id> last_id{0};
  std::unordered_map<timer_id, std::unique_ptr<asio::steady_timer>> timers;
  std::unordered_map<timer_id, std::shared_ptr<port_probe>> probes;
  std::mutex starting;
  std::thread thread;

  template <class Task>
  void run_on_loop(Task task) {
    if (std::this_thread::get_id() == thread.get_id()) {
      task();
    } else {
      asio::post(context, std::move(task));
    }
  }
};

io_loop::io_loop() : impl_(std::make_unique<impl>()) {
  ignore_sigpipe();
  // The thread id is read by the thread itself: start it only when it is stored.
  const std::lock_guard lock(impl_->starting);
  impl_->thread = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "troupe-io");
    { const std::lock_guard stored(impl_->starting); }
    impl_->context.run();
  });
}

io_loop::~io_loop() {
  impl_->work.reset();
  impl_->context.stop();
  impl_->thread.join();
}

asio::io_context& io_loop::context() noexcept {
  return impl_->context;
}

void io_loop::post(std::function<void()> task) {
  asio::post(impl_->context, std::move(task));
}

io_loop::timer_id io_loop::after(clock::duration delay, std::function<void()> fire) {
  const auto id = ++impl_->last_id;
  const auto when = clock::now() + delay;
  impl_->run_on_loop([self = impl_.get(), id, when, fire = std::move(fire)]() mutable {
    auto timer = std::make_unique<asio::steady_timer>(self->context, when);
    timer->async_wait([self, id, fire = std::move(fire)](const boost::system::error_code& error) {
      if (!error && self->timers.erase(id) != 0) {
        fire();
      }
    });
    self->timers.emplace(id, std::move(timer));
  });
  return id;
}

void io_loop::cancel(timer_id id) {
  impl_->run_on_loop([self = impl_.get(), id] {
    self->timers.erase(id);
    if (auto probe = self->probes.extract(id)) {
      probe.mapped()->cancel();
    }
  });
}

io_loop::timer_id io_loop::probe_port(std::uint16_t port, clock::time_point deadline,
                                      std::function<void(bool)> done) {
  const auto id = ++impl_->last_id;
  impl_->run_on_loop([self = impl_.get(), id, port, deadline, done = std::move(done)]() mutable {
    auto finish = [self, id, done = std::move(done)](bool accepted) {
      self->probes.erase(id);
      done(accepted);
    };
    auto probe = std::make_shared<port_probe>(self->context, port, deadline, std::move(finish));
    self->probes.emplace(id, probe);
    probe->start();
  });
  return id;
}

bool io_loop::on_loop() const noexcept {
  return std::this_thread::get_id() == impl_->thread.get_id();
}

}  // namespace troupe::backends

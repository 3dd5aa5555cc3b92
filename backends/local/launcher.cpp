// Launcher threads: a queue, one spawner each. The spawners are made first, so that their
// descriptor slots have low numbers.
#include "troupe/backends/local/launcher.hpp"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace troupe::backends::local {

direct_launcher::direct_launcher(io_loop& loop, std::size_t threads, spawn_options options)
    : loop_(loop) {
  threads = std::max<std::size_t>(threads, 1);
  for (std::size_t i = 0; i < threads; ++i) {
    makers_.push_back(std::make_unique<spawner>(options));
  }
  for (auto& maker : makers_) {
    threads_.emplace_back([this, &maker] {
      ::pthread_setname_np(::pthread_self(), "troupe-launch");
      run(*maker);
    });
  }
}

direct_launcher::direct_launcher(io_loop& loop, worker& on, spawn_options options)
    : loop_(loop), worker_(&on) {
  makers_.push_back(std::make_unique<spawner>(options));
}

direct_launcher::~direct_launcher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (auto& thread : threads_) {
    thread.join();
  }
}

void direct_launcher::launch(spawn_spec spec, callback done, bool command_later) {
  job next{std::move(spec), std::move(done), command_later};
  if (worker_ != nullptr) {
    worker_->post(
        [this, next = std::move(next)]() mutable { carry_out(*makers_[0], std::move(next)); },
        true);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(next));
  }
  work_.notify_one();
}

void direct_launcher::run(spawner& maker) {
  for (;;) {
    std::unique_lock lock(mutex_);
    work_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) {
      return;
    }
    auto next = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    carry_out(maker, std::move(next));
  }
}

void direct_launcher::carry_out(spawner& maker, job&& next) {
  // std::function wants copyable captures: the result travels in a shared_ptr.
  auto result = std::make_shared<spawn_result>(maker.spawn(next.spec, next.command_later));
  loop_.post(
      [result = std::move(result), done = std::move(next.done)] { done(std::move(*result)); });
}

}  // namespace troupe::backends::local

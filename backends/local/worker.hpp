// Tasks for one thread that may block: starts of children and scans of the process table, where a
// program has a thread for both (the keeper). Starts go first.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace troupe::backends::local {

class worker {
 public:
  /// Thread-safe.
  void post(std::function<void()> task, bool urgent) {
    {
      const std::lock_guard lock(mutex_);
      (urgent ? urgent_ : tasks_).push_back(std::move(task));
    }
    wanted_.notify_one();
  }

  /// Makes the calling thread the one that does it, until `stop`.
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wanted_.wait(lock, [this] { return stop_ || !urgent_.empty() || !tasks_.empty(); });
      if (stop_) {
        return;
      }
      auto& from = urgent_.empty() ? tasks_ : urgent_;
      auto task = std::move(from.front());
      from.pop_front();
      lock.unlock();
      task();
    }
  }

  /// Thread-safe. Tasks that have not begun are dropped.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wanted_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::function<void()>> urgent_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
};

}  // namespace troupe::backends::local

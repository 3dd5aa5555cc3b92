// The ring: nothing lost, nothing repeated, no wake-up and no resume missed.
#include <condition_variable>
#include <random>
#include <thread>

#include "troupe/backends/arena.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe::backends;

namespace {

// A flag one thread raises and the other waits for: the mailbox of this test.
class bell {
 public:
  void ring() {
    const std::lock_guard lock(mutex_);
    raised_ = true;
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return raised_; });
    raised_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;
};

char expected(std::uint64_t position) {
  return static_cast<char>((position * 2654435761U) >> 13);
}

}  // namespace

TEST_CASE("a ring wraps around and keeps positions") {
  auto rings = arena::make(2, 4096);
  auto lease = rings->acquire();
  const auto& r = lease->get();
  auto& p = lease->producer();
  CHECK(r.capacity() == 4096);
  CHECK(p.append(std::string(4000, 'a')) == 4000);
  CHECK(p.append(std::string(200, 'b')) == 96);
  CHECK(p.append("x") == 0);
  CHECK(r.release(4000));  // it had stalled
  CHECK_FALSE(r.release(4000));
  CHECK(p.append("hello") == 5);
  CHECK(r.copy(4095, 4101) == "bhello");
  CHECK(r.slices(4090, 9999)[0].size() == 6);
  CHECK(r.slices(4090, 9999)[1] == "hello");
  CHECK(r.slices(0, 10)[0].empty());
  const auto parts = p.writable_parts();
  CHECK(parts[0].second + parts[1].second == 4096 - (4101 - 4000));
}

TEST_CASE("a ring that is given back comes fresh, and its pages are gone") {
  auto rings = arena::make(1, 64 * 1024);
  {
    auto lease = rings->acquire();
    lease->producer().append(std::string(64 * 1024, 'x'));
    lease->producer().want_wake();
    CHECK(rings->acquire() == nullptr);
  }
  auto again = rings->acquire();
  REQUIRE(again);
  CHECK(again->get().end() == 0);
  CHECK(again->producer().want_wake());
  const auto room = again->producer().writable();
  CHECK(room.second == 64 * 1024);
  CHECK(std::string_view(room.first, room.second).find_first_not_of('\0') ==
        std::string_view::npos);
}

TEST_CASE("two threads, random sizes: every byte once, and both ends only sleep when they may") {
  auto rings = arena::make(1, 8192);
  auto lease = rings->acquire();
  const auto ring = lease->get();
  auto& filling = lease->producer();
  constexpr std::uint64_t total = 20'000'000;
  bell to_consumer;
  bell to_producer;
  std::uint64_t stalls = 0;

  std::thread producer([&] {
    std::minstd_rand random(1);
    std::uint64_t at = 0;
    while (at < total) {
      const auto [to, room] = filling.writable();
      if (room == 0) {
        ++stalls;
        to_producer.wait();
        continue;
      }
      const auto n = std::min<std::uint64_t>({room, random() % 3000 + 1, total - at});
      for (std::uint64_t i = 0; i < n; ++i) {
        to[i] = expected(at + i);
      }
      filling.commit(n);
      at += n;
      if (filling.want_wake()) {
        to_consumer.ring();
      }
    }
  });

  std::minstd_rand random(2);
  std::uint64_t seen = 0;
  std::uint64_t wrong = 0;
  while (seen < total) {
    to_consumer.wait();
    ring.take_wake();
    const auto end = ring.end();
    while (seen < end) {
      const auto to = std::min<std::uint64_t>(end, seen + random() % 5000 + 1);
      for (const auto part : ring.slices(seen, to)) {
        for (const char c : part) {
          wrong += c != expected(seen++) ? 1 : 0;
        }
      }
      if (ring.release(seen)) {
        to_producer.ring();
      }
    }
  }
  producer.join();
  CHECK(wrong == 0);
  CHECK(seen == total);
  CHECK(stalls > 0);
}

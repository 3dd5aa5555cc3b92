// The ring's protocol. See ring.hpp for the contract; here is why no wake-up and no resume can be
// lost.
//
// Wake-up: producer publishes `produced`, then exchanges `wake` to 1; consumer exchanges `wake` to 0,
// then reads `produced`. Both are read-modify-writes of one atomic, so one comes first: either the
// producer sees 0 and tells the consumer, or the consumer synchronizes with the producer and sees
// the bytes.
//
// Stall: producer stores `stalled`, then looks at `released` again; consumer stores `released`, then
// looks at `stalled`. All four are sequentially consistent, so at least one sees the other.
#include "troupe/backends/ring.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::backends {

void ring::take_wake() const noexcept {
  header_->wake.exchange(0, std::memory_order_acq_rel);
}

std::array<std::string_view, 2> ring::slices(std::uint64_t from, std::uint64_t to) const noexcept {
  from = std::max(from, begin());
  to = std::min(to, end());
  if (from >= to || to - from > capacity_) {
    return {};
  }
  const auto size = static_cast<std::size_t>(to - from);
  const auto at = static_cast<std::size_t>(from % capacity_);
  const auto first = std::min(size, capacity_ - at);
  return {std::string_view{data_ + at, first}, std::string_view{data_, size - first}};
}

std::string ring::copy(std::uint64_t from, std::uint64_t to) const {
  const auto parts = slices(from, to);
  std::string out;
  out.reserve(parts[0].size() + parts[1].size());
  out.append(parts[0]).append(parts[1]);
  return out;
}

bool ring::release(std::uint64_t position) const noexcept {
  position = std::min(position, end());
  if (position > begin()) {
    header_->released.store(position, std::memory_order_seq_cst);
  }
  return header_->stalled.load(std::memory_order_seq_cst) != 0 &&
         header_->stalled.exchange(0, std::memory_order_seq_cst) != 0;
}

ring_producer::ring_producer(const ring& r) noexcept
    : ring_(r), produced_(r.header().produced.load(std::memory_order_acquire)) {
  const auto released = r.header().released.load(std::memory_order_acquire);
  released_ = produced_ - std::min<std::uint64_t>(produced_, r.capacity());
  if (released - released_ > produced_ - released_) {
    repair();
  } else {
    released_ = released;
  }
}

std::uint64_t ring_producer::used(std::memory_order order) noexcept {
  const auto& header = ring_.header();
  const auto released = header.released.load(order);
  if (released - released_ > produced_ - released_ ||
      header.produced.load(std::memory_order_relaxed) != produced_) {
    repair();
  } else {
    released_ = released;
  }
  return produced_ - released_;
}

// The counters say what cannot be. What was in the ring is lost; from here on they are right again.
void ring_producer::repair() noexcept {
  auto& header = ring_.header();
  lost_ += produced_ - released_;
  released_ = produced_;
  header.released.store(produced_, std::memory_order_seq_cst);
  header.produced.store(produced_, std::memory_order_release);
}

std::array<std::pair<char*, std::size_t>, 2> ring_producer::writable_parts() noexcept {
  const auto capacity = ring_.capacity();
  auto in_use = used(std::memory_order_acquire);
  if (in_use >= capacity) {
    auto& stalled = ring_.header().stalled;
    stalled.store(1, std::memory_order_seq_cst);
    in_use = used(std::memory_order_seq_cst);
    if (in_use >= capacity) {
      return {};
    }
    stalled.store(0, std::memory_order_relaxed);
  }
  const auto free = capacity - static_cast<std::size_t>(in_use);
  const auto at = static_cast<std::size_t>(produced_ % capacity);
  const auto first = std::min(free, capacity - at);
  return {{{ring_.data() + at, first}, {ring_.data(), free - first}}};
}

std::pair<char*, std::size_t> ring_producer::writable() noexcept {
  return writable_parts()[0];
}

void ring_producer::commit(std::size_t n) noexcept {
  produced_ += n;
  ring_.header().produced.store(produced_, std::memory_order_release);
}

std::size_t ring_producer::append(std::string_view bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto [to, room] = writable();
    if (room == 0) {
      break;
    }
    const auto n = std::min(room, bytes.size() - done);
    std::memcpy(to, bytes.data() + done, n);
    commit(n);
    done += n;
  }
  return done;
}

bool ring_producer::want_wake() const noexcept {
  return ring_.header().wake.exchange(1, std::memory_order_acq_rel) == 0;
}

std::string_view ring_producer::oldest(std::size_t most) noexcept {
  const auto at = static_cast<std::size_t>(begin() % ring_.capacity());
  const auto kept = static_cast<std::size_t>(produced_ - released_);
  return {ring_.data() + at, std::min({kept, most, ring_.capacity() - at})};
}

bool ring_producer::drop_oldest(std::size_t n) noexcept {
  return ring_.release(begin() + n);
}

}  // namespace troupe::backends

// The output ring of one process: one producer (the io loop, or the keeper), one consumer (the
// process actor), two counters; no locks, no copies, no allocation per read. It is plain memory, so
// it may be shared with another program (arena.hpp): the buffer then outlives the node.
//
// Positions are byte offsets in the whole output of the process, from 0, and never wrap. Bytes
// [released, produced) may be read by the consumer at any time; the producer writes only into the
// free rest of the ring and never touches what the consumer may still read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::backends {

/// Counters of one ring. Shared between producer and consumer; each cache line has one writer.
struct ring_header {
  /// Bytes ever produced. Written by the producer only (release order).
  alignas(64) std::atomic<std::uint64_t> produced{0};
  /// Bytes that did not go through the ring because nobody wanted them (after the end).
  std::atomic<std::uint64_t> discarded{0};
  /// Lowest position still kept. Written by the consumer only (release order).
  alignas(64) std::atomic<std::uint64_t> released{0};
  /// 1 while an `advanced` is under way to the consumer: set by the producer, cleared by the
  /// consumer before it looks at `produced`. At most one wake-up is ever in a mailbox.
  std::atomic<std::uint32_t> wake{0};
  /// 1 while the producer has stopped for lack of space and wants `resume`.
  std::atomic<std::uint32_t> stalled{0};
  /// The consumer's own, for the consumer that comes after it; the producer never looks at them.
  alignas(64) std::array<std::atomic<std::uint64_t>, 8> notes{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The consumer's end of one ring; cheap to copy. The memory belongs to the arena.
class ring {
 public:
  ring() = default;
  ring(ring_header* header, char* data, std::size_t capacity) noexcept
      : header_(header), data_(data), capacity_(capacity) {}

  explicit operator bool() const noexcept { return header_ != nullptr; }
  std::size_t capacity() const noexcept { return capacity_; }
  ring_header& header() const noexcept { return *header_; }
  char* data() const noexcept { return data_; }

  /// To be called first when a wake-up arrives.
  void take_wake() const noexcept;
  std::uint64_t begin() const noexcept { return header_->released.load(std::memory_order_relaxed); }
  std::uint64_t end() const noexcept { return header_->produced.load(std::memory_order_acquire); }
  /// [from, to) as at most two pieces; clamped to what is kept.
  std::array<std::string_view, 2> slices(std::uint64_t from, std::uint64_t to) const noexcept;
  std::string copy(std::uint64_t from, std::uint64_t to) const;
  /// Gives everything before `position` back to the producer. Returns true when the producer has
  /// stalled and must be resumed (see `backend::resume`).
  bool release(std::uint64_t position) const noexcept;

 private:
  ring_header* header_ = nullptr;
  char* data_ = nullptr;
  std::size_t capacity_ = 0;
};

/// The producer's end. It keeps both counters for itself and believes the shared ones only as far as
/// they make sense, so a consumer that writes nonsense loses its output and nothing else happens.
/// Belongs to one thread.
class ring_producer {
 public:
  /// Goes on where the counters of the ring are.
  explicit ring_producer(const ring& r) noexcept;

  /// The contiguous free part that comes next; empty when the ring is full. When it is, the ring is
  /// marked as stalled: the `release` that makes room returns true.
  std::pair<char*, std::size_t> writable() noexcept;
  /// The whole free part, in one or two pieces; otherwise as `writable`.
  std::array<std::pair<char*, std::size_t>, 2> writable_parts() noexcept;
  /// Publishes `n` bytes written into `writable()`.
  void commit(std::size_t n) noexcept;
  /// Copies as much of `bytes` as fits; returns how much that was.
  std::size_t append(std::string_view bytes) noexcept;
  /// True exactly when the consumer must be told: no wake-up is under way yet.
  bool want_wake() const noexcept;

  std::uint64_t end() const noexcept { return produced_; }
  /// What the consumer has not released begins here.
  std::uint64_t begin() noexcept { return produced_ - used(std::memory_order_acquire); }
  /// Where there is no consumer: its part. The next bytes that are kept, in one piece.
  std::string_view oldest(std::size_t most) noexcept;
  /// Releases `n` of them; true as from `ring::release`.
  bool drop_oldest(std::size_t n) noexcept;
  /// Bytes that nobody could read, because the counters were damaged.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  std::uint64_t used(std::memory_order order) noexcept;
  void repair() noexcept;

  ring ring_;
  std::uint64_t produced_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace troupe::backends

// For those that name the arena and still include this.
#include "troupe/backends/arena.hpp"

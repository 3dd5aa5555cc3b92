// The output ring of one process and the arena all rings live in. One producer (the io loop, later
// the keeper), one consumer (the process actor), two counters; no locks, no copies, no allocation
// per read. The layout is plain memory so that a shared memory file can replace the private mapping:
// the buffer then outlives the node.
//
// Positions are byte offsets in the whole output of the process, from 0, and never wrap. Bytes
// [released, produced) may be read by the consumer at any time; the producer writes only into the
// free rest of the ring and never touches what the consumer may still read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// A view of one ring; cheap to copy. The memory belongs to the arena.
class ring {
 public:
  ring() = default;
  ring(ring_header* header, char* data, std::size_t capacity) noexcept
      : header_(header), data_(data), capacity_(capacity) {}

  explicit operator bool() const noexcept { return header_ != nullptr; }
  std::size_t capacity() const noexcept { return capacity_; }
  ring_header& header() const noexcept { return *header_; }

  // -- producer --

  /// The contiguous free part that comes next; empty when the ring is full. When it is, the ring is
  /// marked as stalled: the `release` that makes room returns true.
  std::pair<char*, std::size_t> writable() const noexcept;
  /// The whole free part, in one or two pieces; otherwise as `writable`.
  std::array<std::pair<char*, std::size_t>, 2> writable_parts() const noexcept;
  /// Publishes `n` bytes written into `writable()`.
  void commit(std::size_t n) const noexcept;
  /// Copies as much of `bytes` as fits; returns how much that was.
  std::size_t append(std::string_view bytes) const noexcept;
  /// True exactly when the consumer must be told: no wake-up is under way yet.
  bool want_wake() const noexcept;

  // -- consumer --

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

/// All rings, in one mapping: headers first, then the data, pages touched only when used and given
/// back when a ring is. Thread-safe.
class arena : public std::enable_shared_from_this<arena> {
 public:
  /// Holds one ring until destroyed (by producer and consumer together through a shared_ptr).
  class lease {
   public:
    lease(std::shared_ptr<arena> owner, std::uint32_t slot) noexcept;
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease();
    const ring& get() const noexcept { return ring_; }
    std::uint32_t slot() const noexcept { return slot_; }

   private:
    std::shared_ptr<arena> owner_;
    std::uint32_t slot_;
    ring ring_;
  };

  /// `ring_bytes` must be a multiple of the page size. Throws std::system_error if the address
  /// space cannot be reserved.
  static std::shared_ptr<arena> make(std::size_t slots, std::size_t ring_bytes);
  ~arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  /// A fresh ring, or null when all are taken.
  std::shared_ptr<lease> acquire();
  std::size_t ring_bytes() const noexcept { return ring_bytes_; }

 private:
  arena(std::size_t slots, std::size_t ring_bytes);
  ring view(std::uint32_t slot) const noexcept;
  void give_back(std::uint32_t slot) noexcept;

  std::size_t slots_;
  std::size_t ring_bytes_;
  char* base_ = nullptr;
  std::size_t header_bytes_ = 0;
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;
  std::uint32_t next_ = 0;
};

}  // namespace troupe::backends

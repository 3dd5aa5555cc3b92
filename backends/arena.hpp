// The memory all rings live in: one mapping, headers first, then the data; pages are touched only
// when used and given back when a ring is. Either private, or one shared memory file: then one
// program (the keeper) owns the slots and produces, another (the node) maps the file and consumes,
// and each tells the other through `slot_signals` which rings to look at.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "troupe/backends/ring.hpp"

namespace troupe::backends {

/// Rings that one side has marked for the other, and whether that one has been woken for them. The
/// waker is an eventfd next to it.
class slot_signals {
 public:
  slot_signals() = default;
  slot_signals(std::atomic<std::uint32_t>* bell, std::atomic<std::uint64_t>* words,
               std::size_t slots) noexcept
      : bell_(bell), words_(words), count_((slots + 63) / 64) {}

  /// Marks a slot; true when the other side must be woken, because nobody has since it last looked.
  bool raise(std::uint32_t slot) const noexcept;
  /// Takes one mark back; whether it was there.
  bool take(std::uint32_t slot) const noexcept;
  /// To be called first after a wake-up, before marks are taken.
  void silence() const noexcept { bell_->exchange(0); }
  /// Calls `each(slot)` for every mark, and takes it.
  template <class Each>
  void take_all(Each each) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (words_[i].load(std::memory_order_relaxed) == 0) {
        continue;
      }
      for (auto bits = words_[i].exchange(0); bits != 0; bits &= bits - 1) {
        each(static_cast<std::uint32_t>(i * 64) +
             static_cast<std::uint32_t>(std::countr_zero(bits)));
      }
    }
  }

 private:
  std::atomic<std::uint32_t>* bell_ = nullptr;
  std::atomic<std::uint64_t>* words_ = nullptr;
  std::size_t count_ = 0;
};

/// Thread-safe but where noted.
class arena : public std::enable_shared_from_this<arena> {
 public:
  /// Holds one ring until destroyed (by producer and consumer together through a shared_ptr).
  class lease {
   public:
    using end = std::function<void(std::uint32_t slot)>;
    lease(std::shared_ptr<arena> owner, std::uint32_t slot, end done) noexcept;
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease();
    const ring& get() const noexcept { return ring_; }
    /// For the one that fills it.
    ring_producer& producer() noexcept { return producer_; }
    std::uint32_t slot() const noexcept { return slot_; }

   private:
    friend class arena;
    std::shared_ptr<arena> owner_;
    std::uint32_t slot_;
    end done_;
    ring ring_;
    ring_producer producer_;
  };

  /// `ring_bytes` is rounded up to the page size. Throws std::system_error if the address space
  /// cannot be reserved.
  static std::shared_ptr<arena> make(std::size_t slots, std::size_t ring_bytes);
  /// In a memory file (`file()`), which other programs can map.
  static std::shared_ptr<arena> make_shared(std::size_t slots, std::size_t ring_bytes);
  /// The rings of another program. `fd` is taken over, also on failure. Throws std::system_error, or
  /// std::runtime_error if the file is not what it should be.
  static std::shared_ptr<arena> map(int fd);
  ~arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  /// A fresh ring, or null when all are taken.
  std::shared_ptr<lease> acquire();
  /// A ring of the program that owns them; null if there is no such slot. `done` is called when it is
  /// not used here any more, on any thread.
  std::shared_ptr<lease> use(std::uint32_t slot, lease::end done);
  /// From now on nothing that is written here is seen by the other program, and the other way round.
  void part() noexcept;

  std::size_t slots() const noexcept { return slots_; }
  std::size_t ring_bytes() const noexcept { return ring_bytes_; }
  int file() const noexcept { return file_; }
  /// Rings with new output, and rings with room again. Only where the memory is shared.
  const slot_signals& advanced() const noexcept { return advanced_; }
  const slot_signals& resumed() const noexcept { return resumed_; }

 private:
  arena(std::size_t slots, std::size_t ring_bytes, int file, bool create);
  std::size_t size() const noexcept { return data_at_ + slots_ * ring_bytes_; }
  ring view(std::uint32_t slot) const noexcept;
  void give_back(std::uint32_t slot) noexcept;

  std::size_t slots_;
  std::size_t ring_bytes_;
  int file_ = -1;
  char* base_ = nullptr;
  std::size_t headers_at_ = 0;
  std::size_t data_at_ = 0;
  slot_signals advanced_;
  slot_signals resumed_;
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;
  std::uint32_t next_ = 0;
};

}  // namespace troupe::backends

// The ring's protocol and the arena's memory. See ring.hpp for the contract; here is why no wake-up
// and no resume can be lost.
//
// Wake-up: producer publishes `produced`, then exchanges `wake` to 1; consumer exchanges `wake` to 0,
// then reads `produced`. Both are read-modify-writes of one atomic, so one comes first: either the
// producer sees 0 and tells the consumer, or the consumer synchronizes with the producer and sees
// the bytes.
//
// Stall: producer stores `stalled`, then looks at `released` again; consumer stores `released`, then
// looks at `stalled`. All four are sequentially consistent, so at least one sees the other.
#include "troupe/backends/ring.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace troupe::backends {

namespace {

std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t round_up(std::size_t n, std::size_t unit) noexcept {
  return (n + unit - 1) / unit * unit;
}

}  // namespace

std::array<std::pair<char*, std::size_t>, 2> ring::writable_parts() const noexcept {
  const auto produced = header_->produced.load(std::memory_order_relaxed);
  auto used = produced - header_->released.load(std::memory_order_acquire);
  if (used >= capacity_) {
    header_->stalled.store(1, std::memory_order_seq_cst);
    used = produced - header_->released.load(std::memory_order_seq_cst);
    if (used >= capacity_) {
      return {};
    }
    header_->stalled.store(0, std::memory_order_relaxed);
  }
  const auto free = capacity_ - static_cast<std::size_t>(used);
  const auto at = static_cast<std::size_t>(produced % capacity_);
  const auto first = std::min(free, capacity_ - at);
  return {{{data_ + at, first}, {data_, free - first}}};
}

std::pair<char*, std::size_t> ring::writable() const noexcept {
  return writable_parts()[0];
}

void ring::commit(std::size_t n) const noexcept {
  const auto produced = header_->produced.load(std::memory_order_relaxed);
  header_->produced.store(produced + n, std::memory_order_release);
}

std::size_t ring::append(std::string_view bytes) const noexcept {
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

bool ring::want_wake() const noexcept {
  return header_->wake.exchange(1, std::memory_order_acq_rel) == 0;
}

void ring::take_wake() const noexcept {
  header_->wake.exchange(0, std::memory_order_acq_rel);
}

std::array<std::string_view, 2> ring::slices(std::uint64_t from, std::uint64_t to) const noexcept {
  from = std::max(from, begin());
  to = std::min(to, end());
  if (from >= to) {
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

arena::lease::lease(std::shared_ptr<arena> owner, std::uint32_t slot) noexcept
    : owner_(std::move(owner)), slot_(slot), ring_(owner_->view(slot)) {}

arena::lease::~lease() {
  owner_->give_back(slot_);
}

std::shared_ptr<arena> arena::make(std::size_t slots, std::size_t ring_bytes) {
  return std::shared_ptr<arena>(new arena(slots, ring_bytes));
}

arena::arena(std::size_t slots, std::size_t ring_bytes)
    : slots_(slots),
      ring_bytes_(round_up(ring_bytes, page_size())),
      header_bytes_(round_up(slots * sizeof(ring_header), page_size())) {
  const auto size = header_bytes_ + slots_ * ring_bytes_;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "reserve the output rings");
  }
  base_ = static_cast<char*>(memory);
  // One byte of output must not cost a huge page.
  ::madvise(memory, size, MADV_NOHUGEPAGE);
}

arena::~arena() {
  ::munmap(base_, header_bytes_ + slots_ * ring_bytes_);
}

std::shared_ptr<arena::lease> arena::acquire() {
  std::uint32_t slot = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      slot = free_.back();
      free_.pop_back();
    } else if (next_ < slots_) {
      slot = next_++;
    } else {
      return nullptr;
    }
  }
  new (base_ + slot * sizeof(ring_header)) ring_header{};
  return std::make_shared<lease>(shared_from_this(), slot);
}

ring arena::view(std::uint32_t slot) const noexcept {
  auto* header =
      std::launder(reinterpret_cast<ring_header*>(base_ + std::size_t{slot} * sizeof(ring_header)));
  return {header, base_ + header_bytes_ + std::size_t{slot} * ring_bytes_, ring_bytes_};
}

void arena::give_back(std::uint32_t slot) noexcept {
  const auto r = view(slot);
  const auto produced = r.header().produced.load(std::memory_order_acquire);
  const auto touched = static_cast<std::size_t>(std::min<std::uint64_t>(produced, ring_bytes_));
  if (touched != 0) {
    ::madvise(base_ + header_bytes_ + std::size_t{slot} * ring_bytes_,
              round_up(touched, page_size()), MADV_DONTNEED);
  }
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

}  // namespace troupe::backends

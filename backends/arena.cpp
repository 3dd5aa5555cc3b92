// See arena.hpp. The layout of a shared file: `shared_front`, the two sets of marks, the headers, the
// data; each part begins at a page but for the marks.
//
// No mark is missed: the one that marks sets the bit, then exchanges the bell to 1; the one that
// looks exchanges the bell to 0, then reads the bits. One exchange comes first: either the marker
// finds 0 and wakes the other, or the other's reading comes after the bit was set.
#include "troupe/backends/arena.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace troupe::backends {

namespace {

constexpr std::uint64_t layout_magic = 0x736e6952'65707254;  // changes with the layout
constexpr std::size_t most_slots = 1 << 20;
constexpr std::size_t most_ring_bytes = 1 << 30;

struct shared_front {
  std::uint64_t magic = layout_magic;
  std::uint64_t slots = 0;
  std::uint64_t ring_bytes = 0;
  alignas(64) std::atomic<std::uint32_t> advanced{0};
  alignas(64) std::atomic<std::uint32_t> resumed{0};
};

std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::size_t round_up(std::size_t n, std::size_t unit) noexcept {
  return (n + unit - 1) / unit * unit;
}

[[noreturn]] void fail(const char* doing) {
  throw std::system_error(errno, std::generic_category(), doing);
}

}  // namespace

bool slot_signals::raise(std::uint32_t slot) const noexcept {
  words_[slot / 64].fetch_or(std::uint64_t{1} << (slot % 64));
  return bell_->exchange(1) == 0;
}

bool slot_signals::take(std::uint32_t slot) const noexcept {
  const auto bit = std::uint64_t{1} << (slot % 64);
  return (words_[slot / 64].load(std::memory_order_relaxed) & bit) != 0 &&
         (words_[slot / 64].fetch_and(~bit) & bit) != 0;
}

arena::lease::lease(std::shared_ptr<arena> owner, std::uint32_t slot, end done) noexcept
    : owner_(std::move(owner)),
      slot_(slot),
      done_(std::move(done)),
      ring_(owner_->view(slot)),
      producer_(ring_) {}

arena::lease::~lease() {
  if (done_) {
    done_(slot_);
  } else {
    owner_->give_back(slot_);
  }
}

std::shared_ptr<arena> arena::make(std::size_t slots, std::size_t ring_bytes) {
  return std::shared_ptr<arena>(new arena(slots, round_up(ring_bytes, page_size()), -1, false));
}

std::shared_ptr<arena> arena::make_shared(std::size_t slots, std::size_t ring_bytes) {
  const int file = ::memfd_create("troupe-rings", MFD_CLOEXEC);
  if (file < 0) {
    fail("create the memory file of the output rings");
  }
  std::shared_ptr<arena> made(new arena(slots, round_up(ring_bytes, page_size()), file, true));
  auto* front = new (made->base_) shared_front;
  front->slots = slots;
  front->ring_bytes = made->ring_bytes_;
  return made;
}

std::shared_ptr<arena> arena::map(int fd) {
  struct stat info {};
  shared_front front;
  const bool read = ::fstat(fd, &info) == 0 && ::pread(fd, &front, sizeof front, 0) == sizeof front;
  if (!read || front.magic != layout_magic || front.slots == 0 || front.slots > most_slots ||
      front.ring_bytes == 0 || front.ring_bytes > most_ring_bytes ||
      front.ring_bytes % page_size() != 0) {
    ::close(fd);
    throw std::runtime_error("the keeper's memory file is not what it should be");
  }
  std::shared_ptr<arena> made(new arena(front.slots, front.ring_bytes, fd, false));
  if (static_cast<std::size_t>(info.st_size) != made->size()) {
    throw std::runtime_error("the keeper's memory file has the wrong size");
  }
  return made;
}

arena::arena(std::size_t slots, std::size_t ring_bytes, int file, bool create)
    : slots_(slots), ring_bytes_(ring_bytes), file_(file) {
  const auto marks = round_up((slots + 63) / 64 * sizeof(std::uint64_t), 64);
  headers_at_ = file < 0 ? 0 : round_up(sizeof(shared_front) + 2 * marks, page_size());
  data_at_ = headers_at_ + round_up(slots * sizeof(ring_header), page_size());
  void* memory = MAP_FAILED;
  if (!create || ::ftruncate(file, static_cast<off_t>(size())) == 0) {
    memory = ::mmap(nullptr, size(), PROT_READ | PROT_WRITE,
                    (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_NORESERVE, file, 0);
  }
  if (memory == MAP_FAILED) {
    if (file >= 0) {
      ::close(file);
    }
    fail("reserve the output rings");
  }
  base_ = static_cast<char*>(memory);
  // One byte of output must not cost a huge page.
  ::madvise(memory, size(), MADV_NOHUGEPAGE);
  if (file >= 0) {
    auto* front = reinterpret_cast<shared_front*>(base_);
    auto* words = reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + sizeof(shared_front));
    advanced_ = {&front->advanced, words, slots};
    resumed_ = {&front->resumed, words + marks / sizeof(std::uint64_t), slots};
  }
}

arena::~arena() {
  ::munmap(base_, size());
  if (file_ >= 0) {
    ::close(file_);
  }
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
  new (base_ + headers_at_ + slot * sizeof(ring_header)) ring_header{};
  return std::make_shared<lease>(shared_from_this(), slot, lease::end{});
}

std::shared_ptr<arena::lease> arena::use(std::uint32_t slot, lease::end done) {
  if (slot >= slots_) {
    return nullptr;
  }
  return std::make_shared<lease>(shared_from_this(), slot, std::move(done));
}

void arena::part() noexcept {
  // In one step for whoever reads or writes meanwhile; a failure leaves what was there.
  static_cast<void>(::mmap(base_, size(), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_, 0));
}

ring arena::view(std::uint32_t slot) const noexcept {
  auto* header = std::launder(reinterpret_cast<ring_header*>(
      base_ + headers_at_ + std::size_t{slot} * sizeof(ring_header)));
  return {header, base_ + data_at_ + std::size_t{slot} * ring_bytes_, ring_bytes_};
}

void arena::give_back(std::uint32_t slot) noexcept {
  const auto r = view(slot);
  const auto produced = r.header().produced.load(std::memory_order_acquire);
  const auto touched = static_cast<std::size_t>(std::min<std::uint64_t>(produced, ring_bytes_));
  if (touched != 0) {
    ::madvise(r.data(), round_up(touched, page_size()), file_ < 0 ? MADV_DONTNEED : MADV_REMOVE);
  }
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

}  // namespace troupe::backends

// Bounded views of long output: head and tail of a stream, and plain tails. Used for foreground
// results and previews. All sizes are characters (code points) of valid UTF-8; no cut is ever inside
// a character, and the counts are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::text {

/// Keeps the first 40 % and the last 60 % of a stream while it runs. Memory is bounded by the cap (at
/// most about 2.2 times the cap in characters, plus one chunk); cost is amortised constant per byte.
/// Not thread-safe.
class head_tail {
 public:
  static constexpr size_t default_cap = 50'000;

  /// `cap`: the most characters of the stream that `render` shows.
  explicit head_tail(size_t cap = default_cap);

  /// Takes the next part of the stream. It must be valid UTF-8 made of whole characters.
  void feed(std::string_view valid_utf8);

  /// The stream, whole if it has no more than `cap` characters (together with `suffix`), else head,
  /// marker line and tail:
  ///   `... [OUTPUT TRUNCATED - 12,345 chars omitted out of 67,890 total] ...`
  /// with a line feed before and after it. `suffix` is appended verbatim and has its place inside
  /// the cap; it is never cut, even if it alone exceeds the cap. Without marker and its two line
  /// feeds the result has no more than `cap` characters.
  std::string render(std::string_view suffix = {}) const;

  /// True if `render` has to leave something out, with a suffix of `reserved` characters.
  bool truncated(size_t reserved = 0) const { return omitted_chars(reserved) > 0; }

  /// Characters fed so far.
  uint64_t total_chars() const noexcept { return total_; }

  /// Characters that `render` leaves out, with a suffix of `reserved` characters.
  uint64_t omitted_chars(size_t reserved = 0) const;

 private:
  void trim_tail();

  size_t cap_;
  size_t head_cap_;
  size_t tail_cap_;
  uint64_t total_ = 0;
  size_t head_chars_ = 0;
  size_t tail_chars_ = 0;
  std::string head_;
  std::string tail_;  // at least the last tail_cap_ characters after the head; trimmed now and then
};

/// A tail and how many characters were cut before it.
struct tail_cut {
  std::string text;
  uint64_t cut_chars = 0;
};

/// The last `max_chars` characters of `valid_utf8`.
tail_cut tail(std::string_view valid_utf8, size_t max_chars);

/// A number with thousands separators: `12,345`.
std::string with_thousands(uint64_t n);

}  // namespace troupe::text

// Incremental UTF-8: decoding of arbitrary bytes into valid text, and character boundaries in byte
// buffers. Used by every view that leaves as text and by whoever cuts a buffer. Guarantees: decoder
// output is always valid UTF-8 and does not depend on how the input was split.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::text {

/// Turns a stream of arbitrary bytes into valid UTF-8. Each maximal invalid subpart becomes one
/// U+FFFD (the Unicode recommended practice): overlong forms, surrogates and values above U+10FFFF
/// are invalid. Holds back at most 3 bytes. One stream per object; not thread-safe.
class utf8_decoder {
 public:
  /// Decodes the next bytes of the stream and appends the text to `out`. A character that is not
  /// finished yet is held until its rest comes.
  void feed(std::string_view bytes, std::string& out);

  /// Ends the stream: a held, unfinished character becomes exactly one U+FFFD. The decoder is then
  /// ready for a new stream.
  void finish(std::string& out);

  /// Number of bytes (0..3) held back because they begin an unfinished character.
  size_t pending() const noexcept { return held_; }

 private:
  char buffer_[4] = {};
  size_t held_ = 0;
};

/// The whole of `bytes` decoded as one stream.
std::string to_valid_utf8(std::string_view bytes);

bool is_ascii(std::string_view bytes);

/// True if `bytes` is well-formed UTF-8 from its first to its last byte.
bool is_valid_utf8(std::string_view bytes);

/// The nearest character boundary at or before `pos` (bytes). Moves by at most 3 bytes; a byte that
/// is part of no character is its own boundary, so garbage does not move the position. Cutting
/// there changes nothing in the decoded text. Positions past the end give the size.
size_t boundary_at_or_before(std::string_view bytes, size_t pos);

/// The nearest character boundary at or after `pos` (bytes), under the same rules.
size_t boundary_at_or_after(std::string_view bytes, size_t pos);

/// Number of bytes (0..3) at the end that begin a valid but unfinished character.
size_t incomplete_tail(std::string_view bytes);

/// Number of code points of valid UTF-8. In other input: the number of bytes that are not
/// continuation bytes.
size_t count_chars(std::string_view valid_utf8);

/// The last `n` code points of valid UTF-8; everything if there are no more.
std::string_view last_chars(std::string_view valid_utf8, size_t n);

/// The first `n` code points of valid UTF-8; everything if there are no more.
std::string_view first_chars(std::string_view valid_utf8, size_t n);

}  // namespace troupe::text

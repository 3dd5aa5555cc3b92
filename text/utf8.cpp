// Incremental UTF-8, see utf8.hpp. One function (`scan`) knows what a well-formed character is; the
// rest asks it. ASCII runs are skipped 32 bytes at a time.
#include "troupe/text/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace troupe::text {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";
constexpr uint64_t every_byte = 0x0101010101010101;

enum class verdict { valid, invalid, unfinished };

/// What the bytes at a position are: one character, one maximal invalid subpart, or the beginning
/// of a character whose rest is missing; and how many bytes that is (at least 1).
struct unit {
  verdict what;
  size_t length;
};

unit scan(const char* data, size_t size) {
  auto byte = [data](size_t i) { return static_cast<unsigned char>(data[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {verdict::valid, 1};
  if (lead < 0xc2 || lead > 0xf4) return {verdict::invalid, 1};
  const size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte alone keeps out overlong forms, surrogates and values above U+10FFFF.
  unsigned low = 0x80;
  unsigned high = 0xbf;
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  for (size_t i = 1; i < length; ++i) {
    if (i == size) return {verdict::unfinished, i};
    if (byte(i) < low || byte(i) > high) return {verdict::invalid, i};
    low = 0x80;
    high = 0xbf;
  }
  return {verdict::valid, length};
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

uint64_t load(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

size_t skip_ascii(const char* data, size_t from, size_t size) {
  while (from + 32 <= size) {
    const char* p = data + from;
    if ((load(p) | load(p + 8) | load(p + 16) | load(p + 24)) & (every_byte << 7)) break;
    from += 32;
  }
  while (from < size && static_cast<unsigned char>(data[from]) < 0x80) ++from;
  return from;
}

/// The first position at or after `from` that is not the start of a valid character.
size_t skip_valid(std::string_view bytes, size_t from, unit& stop) {
  while (from < bytes.size()) {
    if (static_cast<unsigned char>(bytes[from]) < 0x80) {
      from = skip_ascii(bytes.data(), from, bytes.size());
      continue;
    }
    stop = scan(bytes.data() + from, bytes.size() - from);
    if (stop.what != verdict::valid) break;
    from += stop.length;
  }
  return from;
}

/// The unit that covers position `pos`, when it began before `pos`: its start and length.
bool covering(std::string_view bytes, size_t pos, size_t& start, size_t& length) {
  const size_t reach = std::min<size_t>(pos, 3);
  for (size_t back = 1; back <= reach; ++back) {
    if (is_continuation(bytes[pos - back])) continue;
    start = pos - back;
    length = scan(bytes.data() + start, bytes.size() - start).length;
    return length > back;
  }
  return false;
}

/// One bit per byte of `word` that is not a continuation byte, at the lowest bit of that byte.
uint64_t starts(uint64_t word) {
  return (~(word >> 7) | (word >> 6)) & every_byte;
}

}  // namespace

void utf8_decoder::feed(std::string_view bytes, std::string& out) {
  size_t at = 0;
  while (held_ > 0 && at < bytes.size()) {
    buffer_[held_] = bytes[at];
    const unit u = scan(buffer_, held_ + 1);
    if (u.what == verdict::invalid) {
      // The held bytes were fine so far: the new one does not belong to them and is looked at again.
      out += replacement;
      held_ = 0;
    } else {
      ++at;
      ++held_;
      if (u.what == verdict::valid) {
        out.append(buffer_, held_);
        held_ = 0;
      }
    }
  }
  while (at < bytes.size()) {
    unit stop{};
    const size_t end = skip_valid(bytes, at, stop);
    out.append(bytes.substr(at, end - at));
    if (end == bytes.size()) return;
    if (stop.what == verdict::unfinished) {
      held_ = bytes.size() - end;
      std::memcpy(buffer_, bytes.data() + end, held_);
      return;
    }
    out += replacement;
    at = end + stop.length;
  }
}

void utf8_decoder::finish(std::string& out) {
  if (held_ > 0) out += replacement;
  held_ = 0;
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  utf8_decoder decoder;
  decoder.feed(bytes, out);
  decoder.finish(out);
  return out;
}

bool is_ascii(std::string_view bytes) {
  return skip_ascii(bytes.data(), 0, bytes.size()) == bytes.size();
}

bool is_valid_utf8(std::string_view bytes) {
  unit stop{};
  return skip_valid(bytes, 0, stop) == bytes.size();
}

size_t boundary_at_or_before(std::string_view bytes, size_t pos) {
  if (pos >= bytes.size()) return bytes.size();
  size_t start = 0;
  size_t length = 0;
  if (!is_continuation(bytes[pos]) || !covering(bytes, pos, start, length)) return pos;
  return start;
}

size_t boundary_at_or_after(std::string_view bytes, size_t pos) {
  if (pos >= bytes.size()) return bytes.size();
  size_t start = 0;
  size_t length = 0;
  if (!is_continuation(bytes[pos]) || !covering(bytes, pos, start, length)) return pos;
  return start + length;
}

size_t incomplete_tail(std::string_view bytes) {
  const size_t reach = std::min<size_t>(bytes.size(), 3);
  for (size_t back = 1; back <= reach; ++back) {
    const size_t start = bytes.size() - back;
    if (is_continuation(bytes[start])) continue;
    return scan(bytes.data() + start, back).what == verdict::unfinished ? back : 0;
  }
  return 0;
}

size_t count_chars(std::string_view valid_utf8) {
  if (is_ascii(valid_utf8)) return valid_utf8.size();
  const char* p = valid_utf8.data();
  size_t left = valid_utf8.size();
  size_t count = 0;
  while (left >= 16) {
    // Two sums of 8 counters of one byte each, folded before any of them can overflow.
    const size_t rounds = std::min<size_t>(left / 16, 127);
    uint64_t sum = 0;
    for (size_t i = 0; i < rounds; ++i, p += 16) sum += starts(load(p)) + starts(load(p + 8));
    left -= rounds * 16;
    constexpr uint64_t even = 0x00ff00ff00ff00ff;
    const uint64_t pairs = (sum & even) + ((sum >> 8) & even);
    count += (pairs * 0x0001000100010001) >> 48;
  }
  for (; left > 0; --left, ++p) count += is_continuation(*p) ? 0 : 1;
  return count;
}

std::string_view last_chars(std::string_view valid_utf8, size_t n) {
  size_t at = valid_utf8.size();
  if (at <= n) return valid_utf8;
  while (n >= 256 && at >= 256) {
    n -= count_chars(valid_utf8.substr(at - 256, 256));
    at -= 256;
  }
  while (n > 0 && at > 0) {
    if (!is_continuation(valid_utf8[--at])) --n;
  }
  // A block of 256 bytes may have begun inside a character that was not counted.
  while (n == 0 && at < valid_utf8.size() && is_continuation(valid_utf8[at])) ++at;
  return valid_utf8.substr(at);
}

std::string_view first_chars(std::string_view valid_utf8, size_t n) {
  if (valid_utf8.size() <= n) return valid_utf8;
  size_t at = 0;
  while (n >= 256 && valid_utf8.size() - at >= 256) {
    n -= count_chars(valid_utf8.substr(at, 256));
    at += 256;
  }
  for (; at < valid_utf8.size(); ++at) {
    if (is_continuation(valid_utf8[at])) continue;
    if (n == 0) break;
    --n;
  }
  return valid_utf8.substr(0, at);
}

}  // namespace troupe::text

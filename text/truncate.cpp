// Bounded views of long output, see truncate.hpp.
#include "troupe/text/truncate.hpp"

#include <algorithm>

#include "troupe/text/utf8.hpp"

namespace troupe::text {
namespace {

size_t head_share(size_t room) {
  return room / 5 * 2 + room % 5 * 2 / 5;
}

}  // namespace

head_tail::head_tail(size_t cap)
    : cap_(cap), head_cap_(head_share(cap)), tail_cap_(cap - head_cap_) {}

void head_tail::feed(std::string_view valid_utf8) {
  if (head_chars_ < head_cap_) {
    const std::string_view part = first_chars(valid_utf8, head_cap_ - head_chars_);
    const size_t chars = count_chars(part);
    head_.append(part);
    head_chars_ += chars;
    total_ += chars;
    valid_utf8.remove_prefix(part.size());
  }
  if (valid_utf8.empty()) return;
  const size_t chars = count_chars(valid_utf8);
  total_ += chars;
  if (chars >= tail_cap_) {
    tail_.assign(last_chars(valid_utf8, tail_cap_));
    tail_chars_ = tail_cap_;
    return;
  }
  tail_.append(valid_utf8);
  tail_chars_ += chars;
  if (tail_chars_ >= 2 * tail_cap_) trim_tail();
}

void head_tail::trim_tail() {
  tail_.erase(0, first_chars(tail_, tail_chars_ - tail_cap_).size());
  tail_chars_ = tail_cap_;
}

uint64_t head_tail::omitted_chars(size_t reserved) const {
  const uint64_t room = cap_ - std::min(cap_, reserved);
  return total_ > room ? total_ - room : 0;
}

std::string head_tail::render(std::string_view suffix) const {
  const size_t reserved = count_chars(suffix);
  const uint64_t omitted = omitted_chars(reserved);
  std::string out;
  if (omitted == 0) {
    out.reserve(head_.size() + tail_.size() + suffix.size());
    out.append(head_).append(tail_).append(suffix);
    return out;
  }
  const size_t room = cap_ - std::min(cap_, reserved);
  const size_t head_room = head_share(room);
  out.append(first_chars(head_, head_room));
  out.append("\n... [OUTPUT TRUNCATED - ").append(with_thousands(omitted));
  out.append(" chars omitted out of ").append(with_thousands(total_)).append(" total] ...\n");
  const size_t tail_room = room - head_room;
  if (tail_chars_ >= tail_room) {
    out.append(last_chars(tail_, tail_room));
  } else {
    // The stream is shorter than the cap and gives way to the suffix: the tail reaches into the head.
    out.append(last_chars(head_, tail_room - tail_chars_)).append(tail_);
  }
  return out.append(suffix);
}

tail_cut tail(std::string_view valid_utf8, size_t max_chars) {
  const std::string_view kept = last_chars(valid_utf8, max_chars);
  const std::string_view cut = valid_utf8.substr(0, valid_utf8.size() - kept.size());
  return {std::string(kept), count_chars(cut)};
}

std::string with_thousands(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

}  // namespace troupe::text

#include "troupe/text/echo_filter.hpp"

#include <algorithm>

namespace troupe::text {

void echo_filter::expect(std::string_view typed, bool carets) {
  std::string shown;
  for (const char c : typed) {
    const auto byte = static_cast<unsigned char>(c);
    // As N_TTY echoes: control characters but tab and line feed, and DEL, as ^X.
    if (carets && ((byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7f)) {
      shown += '^';
      shown += static_cast<char>(byte ^ 0x40);
    } else {
      shown += c;
    }
  }
  if (!shown.empty()) expected_.push_back({std::move(shown)});
}

void echo_filter::feed(std::string_view in, std::string& out) {
  if (expected_.empty()) {
    out += in;
    return;
  }
  std::string data = std::move(held_) + std::string{in};
  held_.clear();
  while (!expected_.empty()) {
    auto& next = expected_.front();
    if (const auto at = data.find(next.text); at != data.npos) {
      out.append(data, 0, at);
      data.erase(0, at + next.text.size());
      expected_.pop_front();
      continue;
    }
    std::size_t tail = std::min(data.size(), next.text.size() - 1);
    while (tail > 0 && !data.ends_with(std::string_view{next.text}.substr(0, tail))) --tail;
    next.waited += data.size() - tail;
    if (next.waited <= patience) {
      out.append(data, 0, data.size() - tail);
      held_.assign(data, data.size() - tail, tail);
      return;
    }
    expected_.pop_front();
  }
  out += data;
}

void echo_filter::finish(std::string& out) {
  out += held_;
  held_.clear();
  expected_.clear();
}

}  // namespace troupe::text

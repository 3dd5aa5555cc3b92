// Splits a byte stream into lines, with a bound on their length. Used by the server for its input.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::mcp {

class line_splitter {
 public:
  /// `limit`: the longest line in bytes, without line feed.
  explicit line_splitter(std::size_t limit) : limit_{limit} {}

  /// Calls `on_line(std::string_view)` for every line that ends in `bytes` and `on_oversized()` once
  /// for every line above the limit, which is thrown away up to its line feed.
  template <class OnLine, class OnOversized>
  void feed(std::string_view bytes, OnLine on_line, OnOversized on_oversized) {
    while (!bytes.empty()) {
      auto end = bytes.find('\n');
      take(bytes.substr(0, end), on_oversized);
      if (end == std::string_view::npos) return;
      if (!skipping_) on_line(std::string_view{line_});
      clear();
      bytes.remove_prefix(end + 1);
    }
  }

  /// The stream has ended: a last line without line feed counts as one.
  template <class OnLine>
  void finish(OnLine on_line) {
    if (!skipping_ && !line_.empty()) on_line(std::string_view{line_});
    clear();
  }

 private:
  template <class OnOversized>
  void take(std::string_view part, OnOversized on_oversized) {
    if (skipping_) return;
    if (part.size() > limit_ - line_.size()) {
      clear();
      skipping_ = true;
      on_oversized();
      return;
    }
    line_ += part;
  }

  void clear() {
    skipping_ = false;
    // One huge line must not keep its memory for ever.
    if (line_.capacity() > 1 << 20) {
      line_ = {};
    } else {
      line_.clear();
    }
  }

  std::size_t limit_;
  std::string line_;
  bool skipping_ = false;
};

}  // namespace troupe::mcp

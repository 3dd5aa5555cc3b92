// Splitting of byte streams into lines with a bounded window. Used by watch patterns and log views.
// Guarantees: the pieces delivered do not depend on how the input was split into chunks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/text/utf8.hpp"

namespace troupe::text {

/// One line, or one piece of a line that is longer than the window. `text` lives only during the
/// callback.
struct line_view {
  std::string_view text;      ///< without the line feed and without a CR before it
  bool continuation = false;  ///< true for every piece of a long line but its first
  bool complete = true;       ///< false if more of the same line follows, or the stream ended in it
};

/// Feeds on chunks and calls back for each line. A line of more than `max_line` bytes comes in
/// pieces of at most that size, cut at character boundaries. Holds at most about one window.
/// One stream per object; not thread-safe; the callback must not call the splitter.
class line_splitter {
 public:
  static constexpr size_t default_max_line = 64 * 1024;

  /// `max_line` in bytes; less than 4 counts as 4.
  explicit line_splitter(size_t max_line = default_max_line)
      : max_line_(std::max<size_t>(max_line, 4)) {}

  /// Delivers every line (or full piece) that ends in `chunk`: `on_line(line_view)`.
  template <class OnLine>
  void feed(std::string_view chunk, OnLine&& on_line) {
    while (!chunk.empty()) {
      const size_t feed_at = chunk.find('\n');
      const bool ends = feed_at != std::string_view::npos;
      std::string_view part = chunk.substr(0, ends ? feed_at : chunk.size());
      chunk.remove_prefix(ends ? feed_at + 1 : chunk.size());
      if (ends && held_.empty()) {
        end_line(part, on_line);
        continue;
      }
      while (!part.empty()) {
        const size_t take = std::min(part.size(), max_line_ + 2 - held_.size());
        held_.append(part.substr(0, take));
        part.remove_prefix(take);
        held_.erase(0, deliver_full(held_, on_line));
      }
      if (ends) {
        end_line(held_, on_line);
        held_.clear();
      }
    }
  }

  /// Ends the stream: delivers an unfinished last line (with `complete` false), if there is one.
  template <class OnLine>
  void finish(OnLine&& on_line) {
    std::string_view rest = held_;
    rest.remove_prefix(deliver_full(rest, on_line));
    while (rest.size() > max_line_) rest.remove_prefix(deliver_piece(rest, on_line));
    if (!rest.empty()) on_line(line_view{rest, continues_, false});
    held_.clear();
    continues_ = false;
  }

  /// Bytes of the unfinished line that are held.
  size_t pending() const noexcept { return held_.size(); }

 private:
  template <class OnLine>
  size_t deliver_piece(std::string_view text, OnLine& on_line) {
    const size_t cut = boundary_at_or_before(text, max_line_);
    on_line(line_view{text.substr(0, cut), continues_, false});
    continues_ = true;
    return cut;
  }

  /// Delivers what cannot be the end of a line that fits; returns the number of bytes delivered. One
  /// CR above the window may still turn out to belong to the line feed.
  template <class OnLine>
  size_t deliver_full(std::string_view text, OnLine& on_line) {
    size_t done = 0;
    for (;;) {
      const std::string_view rest = text.substr(done);
      if (rest.size() <= max_line_ || (rest.size() == max_line_ + 1 && rest.back() == '\r')) break;
      done += deliver_piece(rest, on_line);
    }
    return done;
  }

  template <class OnLine>
  void end_line(std::string_view text, OnLine& on_line) {
    text.remove_prefix(deliver_full(text, on_line));
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    on_line(line_view{text, continues_, true});
    continues_ = false;
  }

  size_t max_line_;
  std::string held_;
  bool continues_ = false;
};

/// The lines of `text`, without their line feeds (and a CR before one). A final line feed does not
/// create an empty line; empty text has no lines. The views point into `text`.
std::vector<std::string_view> split_lines(std::string_view text);

}  // namespace troupe::text

// Takes the terminal's echo of our own answers out of a program's output. A terminal with echo on
// prints what is typed; an answer to a status query is typed by us, so its echo is not the program's
// output. Used for PTYs, behind the query responder.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace troupe::text {

/// One per terminal; not thread-safe. Bounded: an echo that has not come after `patience` bytes of
/// output is not awaited any more.
class echo_filter {
 public:
  static constexpr std::size_t patience = 4096;

  /// `typed` goes to a terminal that echoes; `carets`: control characters are shown as `^X`.
  void expect(std::string_view typed, bool carets);

  /// Appends the output without the echoes awaited to `out`; holds back what may be the beginning of
  /// one.
  void feed(std::string_view in, std::string& out);

  /// Ends the stream: what was held back was no echo.
  void finish(std::string& out);

  bool idle() const noexcept { return expected_.empty(); }

 private:
  struct echo {
    std::string text;
    std::size_t waited = 0;
  };
  std::deque<echo> expected_;
  std::string held_;
};

}  // namespace troupe::text

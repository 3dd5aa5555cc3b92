// Takes the report of a shell out of its output, for backends where the output is the only way back
// (behaviour 5). The shell writes it between two tokens that carry a random number of this command,
// so nothing that a command prints can be mistaken for it, and nothing of it stays in the output:
//
//   RS "troupe:" NUMBER "{" TAB LF  report  RS "troupe:" NUMBER "}"
//
// TAB and LF say what a terminal in between does to the bytes: the LF that has become CR LF is undone
// everywhere in the report; anything else is not, and such a report is empty. Used by the loop, before
// bytes enter the ring. A descendant that prints while the shell reports can get bytes in between;
// they are lost with the report, which then is likely to be incomplete.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::text {

/// One per child; not thread-safe. Holds back at most one report and one token.
class report_filter {
 public:
  static constexpr std::size_t largest_report = 4 << 20;

  /// What a shell gives to printf, with the number as the argument.
  static constexpr std::string_view begin_format = "\\036troupe:%s{\\t\\n";
  static constexpr std::string_view end_format = "\\036troupe:%s}";

  /// `number`: not empty. A report of more than `limit` bytes is output like any other.
  explicit report_filter(std::string_view number, std::size_t limit = largest_report);

  /// Appends what is no report to `out`. Tokens may be split anywhere between calls.
  void feed(std::string_view in, std::string& out);

  /// Ends the stream: a report without its end was none, and is appended to `out`.
  void finish(std::string& out);

  /// The last complete report, once; empty text: one that was altered on its way.
  std::optional<std::string> take();

 private:
  bool find_begin(std::string& out);
  bool find_end(std::string& out);
  void keep(std::string_view report);

  std::string begin_;
  std::string end_;
  std::size_t limit_;
  /// Outside of a report: what may be the beginning of a token. Inside: everything from the token on.
  std::string held_;
  bool inside_ = false;
  std::size_t searched_ = 0;  ///< inside: no token begins before this position of `held_`
  std::optional<std::string> last_;
};

}  // namespace troupe::text

// What the demo prints: headings, the output of processes, what happened. Colours only if asked for.
#pragma once

#include <string>
#include <string_view>

namespace troupe::cli {

class demo_screen {
 public:
  explicit demo_screen(bool color) : color_{color} {}

  void title(std::string_view text);
  /// A step: its number, what it shows, and the command.
  void step(std::string_view what, std::string_view command);
  /// A fact: what Troupe did or saw.
  void fact(std::string_view text);
  /// Output of a process, as it comes; lines are shown whole.
  void output(std::string_view text);
  /// Ends a line that the output left open.
  void end_output();

 private:
  void line(std::string_view style, std::string_view text);

  bool color_;
  int steps_ = 0;
  std::string open_line_;
};

}  // namespace troupe::cli

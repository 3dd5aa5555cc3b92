#include "troupe/frontends/cli/demo_screen.hpp"

#include <cstdio>

namespace troupe::cli {

namespace {

constexpr std::string_view bold = "\033[1m";
constexpr std::string_view green = "\033[32m";
constexpr std::string_view dim = "\033[2m";
constexpr std::string_view reset = "\033[0m";

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

void demo_screen::line(std::string_view style, std::string_view text) {
  if (color_) print(style);
  print(text);
  if (color_) print(reset);
  print("\n");
  std::fflush(stdout);
}

void demo_screen::title(std::string_view text) {
  line(bold, text);
}

void demo_screen::step(std::string_view what, std::string_view command) {
  print("\n");
  line(bold, std::to_string(++steps_) + ". " + std::string{what});
  if (!command.empty()) line(dim, "   $ " + std::string{command});
}

void demo_screen::fact(std::string_view text) {
  end_output();
  line(green, "   > " + std::string{text});
}

void demo_screen::output(std::string_view text) {
  while (!text.empty()) {
    auto end = text.find('\n');
    open_line_ += text.substr(0, end);
    if (end == std::string_view::npos) return;
    end_output();
    text.remove_prefix(end + 1);
  }
}

void demo_screen::end_output() {
  while (!open_line_.empty() && open_line_.back() == '\r') open_line_.pop_back();
  if (!open_line_.empty()) line({}, "   | " + open_line_);
  open_line_.clear();
}

}  // namespace troupe::cli

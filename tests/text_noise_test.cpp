// Shell noise at the start of output.
#include "troupe/tests/catch.hpp"
#include "troupe/text/noise.hpp"

#include <string>
#include <vector>

using namespace troupe::text;

namespace {

const std::string group =
    "bash: cannot set terminal process group (12): Inappropriate ioctl for device\n";
const std::string control = "bash: no job control in this shell\n";

std::string filtered(const std::string& text, size_t step) {
  noise_filter filter;
  std::string out;
  for (size_t at = 0; at < text.size(); at += step) filter.feed(text.substr(at, step), out);
  filter.finish(out);
  return out;
}

/// What is passed on at once, before anything else comes.
std::string at_once(const std::string& text) {
  noise_filter filter;
  std::string out;
  filter.feed(text, out);
  return out;
}

}  // namespace

TEST_CASE("leading noise lines are dropped until the first real line, however they are split") {
  struct row {
    std::string in, out;
  };
  const std::vector<row> rows = {
      {group + control + "real\n", "real\n"},
      {control + "real\n" + control, "real\n" + control},
      {"\n" + control + " \r\nreal\n", "\n \r\nreal\n"},
      {"bash: [12: 1 (255)] tcsetattr: Inappropriate ioctl for device\nreal", "real"},
      {"/bin/bash: line 1: no job control in this shell\nreal", "real"},
      {"-bash: no job control in this shell\r\nreal", "real"},
      {"tcsetattr: Inappropriate ioctl for device\nreal", "real"},
      {control, ""},
      {"bash: no job control in this shell", ""},
      {"bash: no job contr", "bash: no job contr"},
      {"bash: line 1: foo: command not found\n", "bash: line 1: foo: command not found\n"},
      {"tool: no job control in this shell\n", "tool: no job control in this shell\n"},
      {"  " + control, "  " + control},
      {"", ""},
      {"b", "b"},
      {"bash", "bash"},
  };
  for (const row& r : rows) {
    CAPTURE(r.in);
    for (size_t step = 1; step <= r.in.size() + 1; ++step) REQUIRE(filtered(r.in, step) == r.out);
  }
}

TEST_CASE("a prompt without line feed is not held") {
  for (const std::string text :
       {"Password: ", "$ ", "bash-5.2$ ", "bash: x", "bash: line 1: x", "/home/user",
        "login: ", "> ", "bashful", "\n\nName? ", "bash:x"}) {
    CAPTURE(text);
    CHECK(at_once(text) == text);
  }
  CHECK(at_once("bash: no").empty());
}

TEST_CASE("the noise at the start of a retained buffer is measured") {
  CHECK(noise_prefix(group + control + "real\n") == group.size() + control.size());
  CHECK(noise_prefix("real\n" + control) == 0);
  CHECK(noise_prefix("\n\n") == 0);
  CHECK(noise_prefix(control + "\n" + control + "x") == 2 * control.size() + 1);
  CHECK(noise_prefix("") == 0);
}

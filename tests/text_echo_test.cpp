// The echo of our answers to a terminal's program is not its output.
#include "troupe/tests/catch.hpp"
#include "troupe/text/echo_filter.hpp"

using troupe::text::echo_filter;

namespace {

std::string filtered(const std::string& input, std::size_t step) {
  echo_filter filter;
  filter.expect("\033[1;1R", true);
  filter.expect("\033]11;x\a", true);
  std::string out;
  for (std::size_t i = 0; i < input.size(); i += step) filter.feed(input.substr(i, step), out);
  filter.finish(out);
  return out;
}

}  // namespace

TEST_CASE("an awaited echo is taken out, wherever the reads are split") {
  const std::string input = "before^[[1;1Rbetween^[]11;x^Gafter^[[1;1R";
  for (std::size_t step = 1; step <= input.size(); ++step) {
    CHECK(filtered(input, step) == "beforebetweenafter^[[1;1R");
  }
}

TEST_CASE("what only resembles an echo stays") {
  const std::string input = "^[[1;2R ^[[1; ^[";
  for (std::size_t step = 1; step <= input.size(); ++step) CHECK(filtered(input, step) == input);
}

TEST_CASE("an echo that does not come is not awaited for ever") {
  echo_filter filter;
  filter.expect("\033[1;1R", false);
  std::string out;
  const std::string much(echo_filter::patience + 1, 'x');
  filter.feed(much, out);
  CHECK(filter.idle());
  filter.feed("\033[1;1R", out);
  CHECK(out == much + "\033[1;1R");
}

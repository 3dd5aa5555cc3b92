// Shell quoting, checked against a real shell.
#include "troupe/tests/catch.hpp"
#include "troupe/text/quote.hpp"

#include <cstdio>
#include <memory>
#include <random>
#include <string>

using namespace troupe::text;

namespace {

std::string shell(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  REQUIRE(pipe);
  std::string out;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe.get())) out.append(buffer, n);
  return out;
}

}  // namespace

TEST_CASE("words are quoted") {
  CHECK(shell_quote("") == "''");
  CHECK(shell_quote("word") == "'word'");
  CHECK(shell_quote("it's") == "'it'\\''s'");
  CHECK(shell_quote("a b\n$x") == "'a b\n$x'");
}

TEST_CASE("a shell gives back exactly what was quoted") {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    std::string text;
    for (size_t n = random() % 40; n > 0; --n) text += static_cast<char>(1 + random() % 255);
    CHECK(shell("printf %s. " + shell_quote(text)) == text + ".");
  }
}

TEST_CASE("a leading tilde is left to the shell, nothing else is") {
  CHECK(quote_path("~") == "~");
  CHECK(quote_path("~/") == "~/");
  CHECK(quote_path("~/x y") == "~/'x y'");
  CHECK(quote_path("~root/x") == "'~root/x'");
  CHECK(quote_path("/a ~") == "'/a ~'");
  CHECK(quote_path("-P") == "'-P'");
  CHECK(quote_path("-") == "'./-'");
  CHECK(shell("HOME=/h; printf %s " + quote_path("~/x y")) == "/h/x y");
}

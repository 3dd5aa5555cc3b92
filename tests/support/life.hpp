// A node that a test can kill: tests/life_host.cpp as a child. Header-only.
#pragma once

#include <signal.h>

#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "troupe/tests/support/host.hpp"
#include "troupe/tests/support/program.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

namespace troupe::testing {

/// What lives of one node share.
struct life_place {
  temporary_dir dir;
  std::string kind = "keeper";
  std::string state() const { return dir.path() + "/state"; }
  std::string out() const { return dir.path() + "/out"; }

  life_place() { std::filesystem::create_directory(out()); }
};

class life {
 public:
  explicit life(const life_place& where)
      : program_(std::vector<std::string>{TROUPE_LIFE, where.state(), where.out(), where.kind}) {
    program_.line_with("ready");
  }

  int pid() const { return program_.pid(); }
  void tell(const std::string& line) { program_.write(line + "\n"); }
  /// The next line that begins with this word, without it.
  std::string next(const std::string& word) {
    for (;;) {
      const auto line = program_.line();
      if (line == word) return {};
      if (line.starts_with(word + " ")) return line.substr(word.size() + 1);
      if (line.starts_with("error") || line.starts_with("failed")) throw std::runtime_error{line};
    }
  }
  std::string ask(const std::string& line, const std::string& word) {
    tell(line);
    return next(word);
  }
  /// Starts a process; returns its pid.
  int start(const std::string& id, const std::string& policy, const std::string& flags,
            const std::string& command) {
    std::istringstream answer{
        ask("start " + id + " " + policy + " " + flags + " " + command, "started")};
    std::string name;
    int pid = 0;
    answer >> name >> pid;
    return pid;
  }
  void kill_it() {
    program_.signal(SIGKILL);
    program_.wait();
  }
  void quit() {
    ask("quit", "bye");
    program_.wait();
  }

 private:
  program program_;
};

/// An id that no other test has.
inline std::string fresh_id() {
  static std::mt19937_64 random{std::random_device{}()};
  char text[32];
  std::snprintf(text, sizeof text, "proc_%012llx",
                static_cast<unsigned long long>(random() & 0xffffffffffffULL));
  return text;
}

}  // namespace troupe::testing

// A program as a test sees it: started with pipes, its lines read one by one, its end awaited. Every
// wait has a generous limit and throws when it passes.
#pragma once

#include <string>
#include <vector>

namespace troupe::testing {

class program {
 public:
  /// Starts `argv[0]` with the given arguments. Stdin is a pipe; stdout and stderr share another.
  explicit program(const std::vector<std::string>& argv);
  /// Kills it (SIGKILL) if it still runs.
  ~program();
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  int pid() const noexcept { return pid_; }
  void signal(int number);

  void write(const std::string& text);
  void close_stdin();

  /// The next line without its newline; throws at the end of the output.
  std::string line();
  /// Reads lines until one starts with `prefix` and returns it.
  std::string line_with(const std::string& prefix);
  /// Reads to the end of the output.
  std::string rest();

  /// Waits for the end: the exit code, or 128 + signal. Does not read; see `rest`.
  int wait();

 private:
  bool fill();

  int pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int code_ = -1;
  bool ended_ = false;
  std::string buffer_;
};

/// Runs a program to its end and returns its output; throws if its exit code is not 0.
std::string output_of(const std::vector<std::string>& argv);

}  // namespace troupe::testing

// The raw counterparts run in a process of their own, forked from main before there is any thread:
// small, with no children but its own, and idle while the core is measured. So the core, which
// reaps orphans, takes nothing from it, and neither slows the other down.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

namespace troupe::bench {

/// What a raw function is given. Plain bytes: it travels to the raw process as it is.
struct raw_args {
  double a = 0;
  double b = 0;
  char text[512] = {};

  static raw_args make(double a, double b = 0, std::string_view text = {});
};

/// Runs in the raw process; may throw.
using raw_function = std::vector<double> (*)(const raw_args&);

class raw_server {
 public:
  /// Forks. Only while this process has one thread.
  raw_server();
  ~raw_server();
  raw_server(const raw_server&) = delete;
  raw_server& operator=(const raw_server&) = delete;

  /// Runs `function` over there. Throws std::runtime_error if it threw.
  std::vector<double> call(raw_function function, const raw_args& args);

 private:
  int socket_ = -1;
  pid_t pid_ = 0;
};

}  // namespace troupe::bench

#include "troupe/bench/stamp.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "troupe/bench/measure.hpp"

namespace troupe::bench {

namespace {

void print_stamp() {
  char text[32];
  const int size = std::snprintf(text, sizeof text, "%lld\n", static_cast<long long>(now_ns()));
  if (::write(1, text, static_cast<std::size_t>(size)) != size) ::_exit(1);
}

void sleep_ms(const char* text) {
  ::usleep(static_cast<useconds_t>(std::atoi(text)) * 1'000);
}

}  // namespace

std::optional<int> run_as_child(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "__stamp") {
    sleep_ms(argv[2]);
    print_stamp();
    ::_exit(0);  // nothing of ours between the stamp and the end
  }
  if (argc == 4 && std::string_view{argv[1]} == "__ticks") {
    for (int left = std::atoi(argv[2]); left > 0; --left) {
      sleep_ms(argv[3]);
      print_stamp();
    }
    return 0;
  }
  return std::nullopt;
}

}  // namespace troupe::bench

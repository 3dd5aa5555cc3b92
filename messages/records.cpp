#include "troupe/messages/records.hpp"

#include <array>
#include <random>
#include <utility>

namespace troupe {

namespace {

/// Name tables: one array per enum, indexed by the value.
template <class Enum>
struct names;

#define TROUPE_NAMES(type, ...)                                              \
  template <>                                                                \
  struct names<type> {                                                       \
    static constexpr auto table = std::to_array<const char*>({__VA_ARGS__}); \
  };

TROUPE_NAMES(finish_reason, "exited", "killed", "timed_out", "interrupted", "failed_to_start",
             "lost")
TROUPE_NAMES(process_status, "starting", "running", "draining", "finished")
TROUPE_NAMES(start_stage, "none", "resolve", "chdir", "limits", "fork", "exec")
TROUPE_NAMES(output_view, "text", "raw", "screen")
TROUPE_NAMES(wait_status, "exited", "timeout", "matched", "port_open", "interrupted", "yielded")
TROUPE_NAMES(run_status, "finished", "timed_out", "interrupted", "yielded", "failed_to_start")
TROUPE_NAMES(kill_status, "killed", "already_exited", "survivors")
#undef TROUPE_NAMES

template <class Enum>
std::string name_of(Enum x) {
  const auto index = static_cast<std::size_t>(x);
  return index < names<Enum>::table.size() ? names<Enum>::table[index] : "invalid";
}

template <class Enum>
bool parse(std::string_view text, Enum& x) {
  for (std::size_t i = 0; i < names<Enum>::table.size(); ++i) {
    if (text == names<Enum>::table[i]) {
      x = static_cast<Enum>(i);
      return true;
    }
  }
  return false;
}

template <class Enum>
bool convert(std::uint8_t value, Enum& x) {
  if (value >= names<Enum>::table.size()) return false;
  x = static_cast<Enum>(value);
  return true;
}

}  // namespace

#define TROUPE_DEFINE_ENUM(type)                        \
  std::string to_string(type x) {                       \
    return name_of(x);                                  \
  }                                                     \
  bool from_string(compat::string_view text, type& x) { \
    return parse(compat::to_std(text), x);              \
  }                                                     \
  bool from_integer(std::uint8_t value, type& x) {      \
    return convert(value, x);                           \
  }

TROUPE_DEFINE_ENUM(finish_reason)
TROUPE_DEFINE_ENUM(process_status)
TROUPE_DEFINE_ENUM(start_stage)
TROUPE_DEFINE_ENUM(output_view)
TROUPE_DEFINE_ENUM(wait_status)
TROUPE_DEFINE_ENUM(run_status)
TROUPE_DEFINE_ENUM(kill_status)
#undef TROUPE_DEFINE_ENUM

std::string make_process_id() {
  // One engine per thread, seeded from the system: ids must not repeat across restarts.
  thread_local std::mt19937_64 engine = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64{seed};
  }();
  static constexpr char digits[] = "0123456789abcdef";
  std::string id = "proc_";
  auto bits = engine();
  for (int i = 0; i < 12; ++i, bits >>= 4) id += digits[bits & 15];
  return id;
}

}  // namespace troupe

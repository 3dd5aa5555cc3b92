#include "troupe/config/config_file.hpp"

#include <unistd.h>

#include <cstdlib>
#include <istream>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include <caf/actor_system_config.hpp>
#include <caf/config_value.hpp>
#include <caf/expected.hpp>

namespace troupe {

namespace {

[[noreturn]] void fail(const std::string& key, const std::string& reason) {
  throw std::runtime_error{key + ": " + reason};
}

[[noreturn]] void wrong_type(const std::string& key, const char* wanted,
                             const caf::config_value& value) {
  fail(key, std::string{"must be "} + wanted + ", not " + caf::to_string(value));
}

void assign(const std::string& key, const caf::config_value& value, bool& field) {
  const auto* x = caf::get_if<bool>(&value);
  if (x == nullptr) wrong_type(key, "true or false", value);
  field = *x;
}

template <class T>
requires(std::is_unsigned_v<T> &&
         !std::is_same_v<T, bool>) void assign(const std::string& key,
                                               const caf::config_value& value, T& field) {
  const auto* x = caf::get_if<std::int64_t>(&value);
  if (x == nullptr) wrong_type(key, "a whole number", value);
  if (*x < 0) fail(key, "must not be negative");
  if (static_cast<std::uint64_t>(*x) > std::numeric_limits<T>::max()) fail(key, "is too large");
  field = static_cast<T>(*x);
}

void assign(const std::string& key, const caf::config_value& value,
            std::chrono::milliseconds& field) {
  const auto* x = caf::get_if<caf::timespan>(&value);
  if (x == nullptr) wrong_type(key, "a duration such as 500ms, 5s, 2min or 1h", value);
  if (x->count() < 0) fail(key, "must not be negative");
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*x);
  if (ms != *x) fail(key, "must be whole milliseconds");
  field = ms;
}

void assign(const std::string& key, const caf::config_value& value, std::string& field) {
  const auto* x = caf::get_if<std::string>(&value);
  if (x == nullptr) wrong_type(key, "a text in double quotes", value);
  field = *x;
}

void assign(const std::string& key, const caf::config_value& value, report_channel& field) {
  std::string name;
  assign(key, value, name);
  if (name != "side" && name != "in_band") fail(key, R"(must be "side" or "in_band")");
  field = name == "side" ? report_channel::side : report_channel::in_band;
}

const std::vector<caf::config_value>& list_of(const std::string& key,
                                              const caf::config_value& value, const char* wanted) {
  const auto* list = caf::get_if<std::vector<caf::config_value>>(&value);
  if (list == nullptr) wrong_type(key, wanted, value);
  return *list;
}

void assign(const std::string& key, const caf::config_value& value,
            std::vector<std::string>& field) {
  field.clear();
  for (const auto& item : list_of(key, value, R"(a list of texts such as ["A", "B"])")) {
    assign(key, item, field.emplace_back());
  }
}

void assign(const std::string& key, const caf::config_value& value,
            std::vector<environment_options>& field);

/// Sets the fields that `fields` visits; what it does not visit is an unknown key.
template <class Fields>
void assign_all(const std::string& prefix, const caf::settings& values, Fields&& fields) {
  std::set<std::string, std::less<>> known;
  fields([&](const char* key, auto& field) {
    const std::string name{key};
    known.insert(name);
    const auto it = values.find(name);
    if (it != values.end()) assign(prefix + key, it->second, field);
  });
  for (const auto& [key, value] : values) {
    const std::string name{key.data(), key.size()};
    if (!known.contains(name)) fail(prefix + name, "there is no such option");
  }
}

void assign(const std::string& key, const caf::config_value& value,
            std::vector<environment_options>& field) {
  field.clear();
  std::set<std::string> names;
  for (const auto& item : list_of(key, value, "a list of groups in braces")) {
    const auto prefix = key + "[" + std::to_string(field.size()) + "]";
    const auto* group = caf::get_if<caf::settings>(&item);
    if (group == nullptr) wrong_type(prefix, "a group in braces", item);
    auto& row = field.emplace_back();
    assign_all(prefix + ".", *group, [&](auto&& visit) { each_environment_option(row, visit); });
    if (row.name.empty()) fail(prefix + ".name", "must not be empty");
    if (row.shell.empty()) fail(prefix + ".shell", "must not be empty");
    if (!names.insert(row.name).second) fail(prefix + ".name", row.name + " is there twice");
  }
}

void check(const options& o) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (o.ring_bytes == 0 || o.ring_bytes % page != 0) {
    fail("ring_bytes", "must be a multiple of " + std::to_string(page));
  }
  if (o.retained_bytes >= o.ring_bytes) fail("retained_bytes", "must be less than ring_bytes");
  if (o.launcher_threads == 0) fail("launcher_threads", "must be at least 1");
  if (!o.owner_death.empty() && o.owner_death != "keep" && o.owner_death != "end") {
    fail("owner_death", "must be \"keep\" or \"end\", not \"" + o.owner_death + "\"");
  }
  if (o.sudo_password.find('\n') != o.sudo_password.npos) {
    fail("sudo_password", "must be one line");
  }
}

}  // namespace

void read_options(std::istream& in, options& result, caf::settings& caf_options) {
  auto parsed = caf::actor_system_config::parse_config(in);
  if (!parsed) throw std::runtime_error{"not in CAF's syntax: " + caf::to_string(parsed.error())};
  caf::settings values;
  for (auto& [key, value] : *parsed) {
    if (key != "caf") {
      values.emplace(key, std::move(value));
    } else if (const auto* group = caf::get_if<caf::settings>(&value)) {
      caf_options = *group;
    } else {
      wrong_type("caf", "a group in braces", value);
    }
  }
  auto fresh = result;
  assign_all("", values, [&](auto&& visit) { each_option(fresh, visit); });
  check(fresh);
  result = std::move(fresh);
}

std::string default_config_file() {
  std::string dir;
  if (const char* chosen = std::getenv("XDG_CONFIG_HOME"); chosen != nullptr && *chosen == '/') {
    dir = chosen;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    dir = std::string{home} + "/.config";
  } else {
    return {};
  }
  auto path = dir + "/troupe/troupe.conf";
  // A file that is there and cannot be read is an error of whoever opens it.
  return ::access(path.c_str(), F_OK) == 0 ? path : std::string{};
}

void take_secrets(options& result, const std::vector<std::string>& removed) {
  constexpr std::string_view prefix = "TROUPE_SUDO_PASSWORD=";
  for (const auto& entry : removed) {
    if (!entry.starts_with(prefix)) continue;
    result.sudo_password = entry.substr(prefix.size(), entry.find('\n') - prefix.size());
  }
}

}  // namespace troupe

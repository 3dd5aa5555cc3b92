#include "troupe/bench/report.hpp"

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <caf/config.hpp>

namespace troupe::bench {

namespace {

std::string cpu_model() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto at = line.find_first_not_of(" \t", line.find(':') + 1);
    return at == std::string::npos ? std::string{} : line.substr(at);
  }
  return "unknown";
}

std::string caf_version() {
#ifdef CAF_VERSION_MAJOR
  return std::to_string(CAF_VERSION_MAJOR) + "." + std::to_string(CAF_VERSION_MINOR) + "." +
         std::to_string(CAF_VERSION_PATCH);
#else
  return std::to_string(CAF_MAJOR_VERSION) + "." + std::to_string(CAF_MINOR_VERSION) + "." +
         std::to_string(CAF_PATCH_VERSION);
#endif
}

std::string build_type() {
  std::string result;
#ifdef NDEBUG
  result = "Release";
#else
  result = "Debug";
#endif
#ifdef __SANITIZE_ADDRESS__
  result += " asan";
#endif
#ifdef __SANITIZE_THREAD__
  result += " tsan";
#endif
  return result;
}

std::string compiler_name() {
#ifdef __clang__
  return std::string{"clang "} + __clang_version__;
#else
  return std::string{"gcc "} + __VERSION__;
#endif
}

/// About four digits.
std::string number(double value) {
  const auto size = std::fabs(value);
  const int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 0.1 ? 3 : 5;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string goal_text(const target& goal) {
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g", goal.limit);
  switch (goal.what) {
    case target::kind::min_ratio:
      return std::string{"ratio >= "} + limit;
    case target::kind::max_ratio:
      return std::string{"ratio <= "} + limit;
    case target::kind::max_value:
      break;
  }
  return std::string{"<= "} + limit;
}

}  // namespace

std::optional<double> result::ratio() const {
  if (!raw || *raw == 0) return std::nullopt;
  return value / *raw;
}

std::optional<bool> result::reached() const {
  if (!goal) return std::nullopt;
  switch (goal->what) {
    case target::kind::min_ratio:
      return ratio().value_or(0) >= goal->limit;
    case target::kind::max_ratio:
      return ratio() && *ratio() <= goal->limit;
    case target::kind::max_value:
      break;
  }
  return value <= goal->limit;
}

machine this_machine() {
  machine result;
  result.cpu = cpu_model();
  result.cores = std::thread::hardware_concurrency();
  utsname names{};
  if (::uname(&names) == 0) result.kernel = names.release;
  struct sysinfo info {};
  if (::sysinfo(&info) == 0) {
    result.memory_mib = static_cast<double>(info.totalram) * info.mem_unit / (1024 * 1024);
  }
  result.caf = caf_version();
  result.compiler = compiler_name();
  result.build = build_type();
  const auto now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  result.date = text;
  if (::getloadavg(&result.load, 1) != 1) result.load = 0;
  return result;
}

void print_table(std::ostream& out, const machine& where, const std::vector<section>& sections) {
  char line[256];
  out << where.cpu << ", " << where.cores << " cores, " << number(where.memory_mib)
      << " MiB, Linux " << where.kernel << "\nCAF " << where.caf << ", " << where.compiler << ", "
      << where.build << ", " << where.date << ", load " << number(where.load) << "\n\n";
  std::snprintf(line, sizeof line, "%-22s %10s %-6s %10s %8s  %-14s %-7s%s\n", "case", "value",
                "unit", "raw", "ratio", "target", "", "note");
  out << line;
  for (const auto& [name, cases] : sections) {
    for (const auto& one : cases) {
      const auto reached = one.reached();
      std::snprintf(line, sizeof line, "%-22s %10s %-6s %10s %8s  %-14s %-7s%s", one.name.c_str(),
                    number(one.value).c_str(), one.unit.c_str(),
                    one.raw ? number(*one.raw).c_str() : "-",
                    one.ratio() ? number(*one.ratio()).c_str() : "-",
                    one.goal ? goal_text(*one.goal).c_str() : "",
                    !reached ? "" : (*reached ? "ok" : "MISSED"), one.note.c_str());
      std::string text{line};
      text.erase(text.find_last_not_of(' ') + 1);
      out << text << '\n';
    }
  }
}

void print_json(std::ostream& out, const machine& where, const std::vector<section>& sections) {
  boost::json::array rows;
  const auto or_null = [](const std::optional<double>& value) {
    return value ? boost::json::value(*value) : boost::json::value(nullptr);
  };
  for (const auto& [name, cases] : sections) {
    for (const auto& one : cases) {
      rows.push_back(boost::json::object{{"workload", name},
                                         {"case", one.name},
                                         {"value", one.value},
                                         {"unit", one.unit},
                                         {"raw", or_null(one.raw)},
                                         {"ratio", or_null(one.ratio())}});
    }
  }
  const boost::json::object about{{"cpu", where.cpu},       {"cores", where.cores},
                                  {"kernel", where.kernel}, {"memory_mib", where.memory_mib},
                                  {"caf", where.caf},       {"compiler", where.compiler},
                                  {"build", where.build},   {"date", where.date},
                                  {"load", where.load}};
  out << boost::json::serialize(boost::json::object{{"machine", about}, {"results", rows}}) << '\n';
}

}  // namespace troupe::bench

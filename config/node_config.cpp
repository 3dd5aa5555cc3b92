#include "troupe/config/node_config.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <caf/config_value.hpp>
#include <caf/settings.hpp>

#include "troupe/config/config_file.hpp"

namespace troupe {

namespace {

void set_all(node_config& config, const std::string& prefix, const caf::settings& values) {
  for (const auto& [key, value] : values) {
    const auto name = prefix + "." + std::string{key.data(), key.size()};
    if (const auto* group = caf::get_if<caf::settings>(&value)) {
      set_all(config, name, *group);
    } else {
      config.set(name, value);
    }
  }
}

}  // namespace

node_config::node_config() {
  // The stealing policy burns a third of a core at 100 messages a second and wakes up eight times
  // slower than sharing; without a throughput limit one flooded actor holds its worker for a
  // second (both measured).
  set("caf.scheduler.policy", "sharing");
  set("caf.scheduler.max-throughput", defaults::max_throughput);
  // Nothing blocks in a worker, and more of them than there are cores wake each other up in vain: with
  // CAF's least of 4 a start costs a tenth more on 2 cores (docs/performance.md).
  set("caf.scheduler.max-threads",
      std::max<std::size_t>(defaults::least_workers, std::thread::hardware_concurrency()));
  set("caf.logger.console.verbosity", "quiet");
  set("caf.logger.file.verbosity", "quiet");
}

void node_config::read(const std::string& file) {
  const auto path = file.empty() ? default_config_file() : file;
  if (path.empty()) return;
  std::ifstream in{path};
  if (!in) throw std::runtime_error{"cannot read " + path + ": " + std::strerror(errno)};
  caf::settings caf_options;
  try {
    read_options(in, troupe_options, caf_options);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error{path + ": " + error.what()};
  }
  set_all(*this, "caf", caf_options);
}

}  // namespace troupe

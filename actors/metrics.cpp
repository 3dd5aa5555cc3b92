#include "troupe/actors/metrics.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/telemetry/metric_registry.hpp>

namespace troupe {

namespace {

using entry = std::pair<std::string_view, std::string_view>;

/// Sorted by program.
constexpr auto kinds = std::to_array<entry>({
    {"ag", "search"},     {"ansible", "deploy"},   {"apt", "package"},    {"apt-get", "package"},
    {"awk", "text"},      {"bash", "shell"},       {"bun", "node"},       {"cargo", "build"},
    {"cat", "file"},      {"cd", "file"},          {"chmod", "file"},     {"clang", "build"},
    {"clang++", "build"}, {"cmake", "build"},      {"cp", "file"},        {"ctest", "test"},
    {"curl", "network"},  {"cut", "text"},         {"deno", "node"},      {"diff", "text"},
    {"dnf", "package"},   {"docker", "container"}, {"du", "file"},        {"echo", "shell"},
    {"fd", "search"},     {"find", "search"},      {"g++", "build"},      {"gcc", "build"},
    {"gh", "vcs"},        {"git", "vcs"},          {"go", "build"},       {"gradle", "build"},
    {"grep", "search"},   {"head", "text"},        {"helm", "deploy"},    {"hg", "vcs"},
    {"java", "java"},     {"jest", "test"},        {"jq", "text"},        {"kubectl", "deploy"},
    {"ln", "file"},       {"ls", "file"},          {"make", "build"},     {"mkdir", "file"},
    {"mv", "file"},       {"mvn", "build"},        {"ninja", "build"},    {"node", "node"},
    {"npm", "node"},      {"npx", "node"},         {"pip", "package"},    {"pip3", "package"},
    {"pnpm", "node"},     {"podman", "container"}, {"printf", "shell"},   {"pwd", "file"},
    {"pytest", "test"},   {"python", "python"},    {"python3", "python"}, {"rg", "search"},
    {"rm", "file"},       {"rsync", "network"},    {"ruby", "ruby"},      {"rustc", "build"},
    {"scp", "network"},   {"sed", "text"},         {"sh", "shell"},       {"sleep", "shell"},
    {"sort", "text"},     {"ssh", "network"},      {"svn", "vcs"},        {"tail", "text"},
    {"tar", "file"},      {"terraform", "deploy"}, {"test", "shell"},     {"touch", "file"},
    {"tox", "test"},      {"true", "shell"},       {"uv", "python"},      {"wc", "text"},
    {"wget", "network"},  {"yarn", "node"},        {"zsh", "shell"},
});

std::string_view next_word(std::string_view& rest) {
  const auto from = rest.find_first_not_of(" \t\n");
  rest.remove_prefix(from == rest.npos ? rest.size() : from);
  const auto word = rest.substr(0, rest.find_first_of(" \t\n;|&()<>"));
  rest.remove_prefix(word.size());
  return word;
}

compat::string_view label(std::string_view text) {
  return {text.data(), text.size()};
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  return equals != word.npos && equals > 0 &&
         word.substr(0, equals).find_first_of("\"'$/") == word.npos;
}

}  // namespace

std::string_view command_kind(std::string_view command) {
  auto word = next_word(command);
  while (!word.empty() && (is_assignment(word) || word == "sudo" || word == "env" ||
                           word == "command" || word == "exec" || word == "time")) {
    word = next_word(command);
  }
  if (const auto slash = word.rfind('/'); slash != word.npos) word.remove_prefix(slash + 1);
  const auto it = std::lower_bound(kinds.begin(), kinds.end(), word,
                                   [](const entry& a, std::string_view b) { return a.first < b; });
  return it != kinds.end() && it->first == word ? it->second : std::string_view{"other"};
}

metrics::metrics(caf::actor_system& system) : system_(&system) {
  auto& all = system.metrics();
  // Long-running tests share one system; asking twice gives the same counter.
  static constexpr auto bounds = std::to_array<double>(
      {.0005, .001, .002, .005, .01, .02, .05, .1, .25, .5, 1., 2.5, 5., 10.});
  processes_running_ = all.gauge_singleton("troupe", "processes-running", "Processes running now");
  processes_started_ =
      all.counter_singleton("troupe", "processes-started", "Processes started", "1", true);
  output_bytes_ =
      all.counter_singleton("troupe", "output", "What processes printed", "bytes", true);
  output_dropped_bytes_ = all.counter_singleton("troupe", "output-dropped",
                                                "Output that is kept no more", "bytes", true);
  events_delivered_ =
      all.counter_singleton("troupe", "events-delivered", "Events acknowledged", "1", true);
  events_held_back_ = all.counter_singleton("troupe", "events-held-back",
                                            "Matching lines that no event told", "1", true);
  spawn_seconds_ = all.histogram_singleton<double>(
      "troupe", "spawn", bounds, "From the request to the running process", "seconds");
  kill_seconds_ = all.histogram_singleton<double>(
      "troupe", "kill", bounds, "From the kill to the end of everything", "seconds");
}

void metrics::started(caf::timespan took) const {
  processes_running_->inc();
  processes_started_->inc();
  spawn_seconds_->observe(std::chrono::duration<double>(took).count());
}

void metrics::finished(std::uint64_t output_bytes, std::uint64_t dropped_bytes) const {
  processes_running_->dec();
  output_bytes_->inc(static_cast<std::int64_t>(output_bytes));
  output_dropped_bytes_->inc(static_cast<std::int64_t>(dropped_bytes));
}

void metrics::killed(caf::timespan took) const {
  kill_seconds_->observe(std::chrono::duration<double>(took).count());
}

void metrics::outcome(std::string_view backend, std::string_view command,
                      const exit_info& end) const {
  std::string_view how = "ok";
  if (end.reason == finish_reason::timed_out) {
    how = "timeout";
  } else if (end.reason == finish_reason::killed || end.reason == finish_reason::interrupted) {
    how = "killed";
  } else if (end.shell_code() != 0) {
    how = "nonzero";
  }
  const auto kind = command_kind(command);
  system_->metrics()
      .counter_instance(
          "troupe", "terminal-outcome",
          {{"backend", label(backend)}, {"command_kind", label(kind)}, {"outcome", label(how)}},
          "Foreground commands that ended", "1", true)
      ->inc();
}

void metrics::backend_call(std::string_view backend, bool served) const {
  system_->metrics()
      .counter_instance("troupe", "backend-calls",
                        {{"backend", label(backend)}, {"served", label(served ? "ok" : "failed")}},
                        "Starts asked of a backend", "1", true)
      ->inc();
}

void metrics::events_delivered(std::uint64_t count) const {
  events_delivered_->inc(static_cast<std::int64_t>(count));
}

void metrics::events_held_back(std::uint64_t lines) const {
  events_held_back_->inc(static_cast<std::int64_t>(lines));
}

}  // namespace troupe

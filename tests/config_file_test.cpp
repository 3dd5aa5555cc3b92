// troupe.conf: every option can be set, the example says what the defaults are, and mistakes are named.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <caf/actor_system_config.hpp>

#include "troupe/actors/runtime.hpp"
#include "troupe/config/config_file.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

void show(std::ostream& out, const std::string& x) {
  out << '"' << x << '"';
}
void show(std::ostream& out, std::chrono::milliseconds x) {
  out << x.count() << "ms";
}
void show(std::ostream& out, report_channel x) {
  out << (x == report_channel::side ? "side" : "in_band");
}
void show(std::ostream& out, const std::vector<std::string>& x) {
  for (const auto& one : x) show(out, one);
}
void show(std::ostream& out, const std::vector<environment_options>& x) {
  for (const auto& one : x) {
    each_environment_option(one, [&](const char* key, const auto& field) {
      out << key << '=';
      if constexpr (std::is_arithmetic_v<std::decay_t<decltype(field)>>) {
        out << field;
      } else {
        show(out, field);
      }
      out << ' ';
    });
  }
}

std::map<std::string, std::string> values_of(const options& opts) {
  std::map<std::string, std::string> result;
  each_option(opts, [&](const char* key, const auto& field) {
    std::ostringstream out;
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(field)>>) {
      out << field;
    } else {
      show(out, field);
    }
    result[key] = out.str();
  });
  return result;
}

options read(const std::string& text) {
  std::istringstream in{text};
  options opts;
  caf::settings ignored;
  read_options(in, opts, ignored);
  return opts;
}

/// Errors of CAF have a text only once its types are known, as in every program.
const bool types_are_known = (init_types(), true);

std::string mistake(const std::string& text) {
  try {
    read(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

std::string example() {
  std::ifstream in{std::string{TROUPE_SOURCE_DIR} + "/config/troupe.conf"};
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

TEST_CASE("the example has every option, with its default") {
  const auto text = example();
  // Other values first, so that what the example leaves out is seen.
  options opts;
  each_option(opts, [](const char*, auto& field) { field = std::decay_t<decltype(field)>{}; });
  opts.sync_always = opts.adopt_orphans = true;
  opts.state_dir = opts.sudo_password = "x";
  opts.env_pass = {"X"};
  opts.environments.emplace_back();
  std::istringstream in{text};
  caf::settings ignored;
  read_options(in, opts, ignored);
  CHECK(values_of(opts) == values_of(options{}));
  environment_options row;
  each_environment_option(row, [&](const char* key, const auto&) {
    CHECK_THAT(text, ContainsSubstring(std::string{"#   "} + key + " "));
  });
}

TEST_CASE("every kind of option can be set") {
  const auto opts = read(R"(
ring_bytes = 1048576   # a size
redact = false
grace = 1500ms
finished_retention = 2h
watch_strikes = 7
receipts_kept = 5
receipt_retention = 1h
receipts_bytes = 1000
store_backlog_bytes = 2000
state_dir = "/var/lib/troupe"
env_pass = ["A_TOKEN", "B_KEY"]
environments = [
  { name = "work", shared = true, shell = "/bin/sh", cwd = "/srv", snapshot = false,
    snapshot_limit = 5s, warm_shells = 4, env_pass = ["C"], env_block = ["D", "E"], report = "in_band" },
  { name = "local", warm_shells = 0 },
]
)");
  CHECK(opts.ring_bytes == 1'048'576);
  CHECK_FALSE(opts.redact);
  CHECK(opts.grace == 1500ms);
  CHECK(opts.finished_retention == 2h);
  CHECK(opts.watch_strikes == 7);
  CHECK(opts.receipts_kept == 5);
  CHECK(opts.receipt_retention == 1h);
  CHECK(opts.receipts_bytes == 1'000);
  CHECK(opts.store_backlog_bytes == 2'000);
  CHECK(opts.state_dir == "/var/lib/troupe");
  CHECK(opts.env_pass == std::vector<std::string>{"A_TOKEN", "B_KEY"});
  REQUIRE(opts.environments.size() == 2);
  const auto& work = opts.environments[0];
  CHECK(work.name == "work");
  CHECK(work.shared);
  CHECK(work.shell == "/bin/sh");
  CHECK(work.cwd == "/srv");
  CHECK_FALSE(work.snapshot);
  CHECK(work.snapshot_limit == 5s);
  CHECK(work.warm_shells == 4);
  CHECK(work.report == report_channel::in_band);
  CHECK(opts.environments[1].report == report_channel::side);
  CHECK(work.env_pass == std::vector<std::string>{"C"});
  CHECK(work.env_block == std::vector<std::string>{"D", "E"});
  CHECK(opts.environments[1].warm_shells == 0);
  CHECK(opts.settle == options{}.settle);
  CHECK(values_of(read("")) == values_of(options{}));
}

TEST_CASE("mistakes are errors that name the key") {
  CHECK(mistake("gracee = 2s") == "gracee: there is no such option");
  CHECK_THAT(mistake("grace = 2"), ContainsSubstring("grace: must be a duration"));
  CHECK_THAT(mistake("grace = \"2s\""), ContainsSubstring("grace: must be a duration"));
  CHECK(mistake("grace = -2s") == "grace: must not be negative");
  CHECK_THAT(mistake("ring_bytes = 2s"), ContainsSubstring("ring_bytes: must be a whole number"));
  CHECK(mistake("ring_bytes = -1") == "ring_bytes: must not be negative");
  CHECK(mistake("watch_strikes = 4294967296") == "watch_strikes: is too large");
  CHECK_THAT(mistake("redact = 1"), ContainsSubstring("redact: must be true or false"));
  CHECK_THAT(mistake("state_dir = 5"), ContainsSubstring("state_dir: must be a text"));
  CHECK_THAT(mistake("env_pass = \"A\""), ContainsSubstring("env_pass: must be a list"));
  CHECK_THAT(mistake("env_pass = [1]"), ContainsSubstring("env_pass: must be a text"));
  CHECK(mistake("environments = [ { name = \"a\", nam = 1 } ]") ==
        "environments[0].nam: there is no such option");
  CHECK_THAT(mistake("environments = [ { name = \"a\" }, { warm_shells = true } ]"),
             ContainsSubstring("environments[1].warm_shells: must be a whole number"));
  CHECK(mistake("environments = [ { name = \"a\", report = \"both\" } ]") ==
        "environments[0].report: must be \"side\" or \"in_band\"");
  CHECK_THAT(mistake("environments = [ { name = \"a\" }, { name = \"a\" } ]"),
             ContainsSubstring("environments[1].name: a is there twice"));
  CHECK_THAT(mistake("retained_bytes = 524288"), ContainsSubstring("retained_bytes: must be less"));
  CHECK_THAT(mistake("ring_bytes = 300000"), ContainsSubstring("ring_bytes: must be a multiple"));
  CHECK_THAT(mistake("grace = = 2s"), ContainsSubstring("syntax"));
  CHECK_FALSE(mistake("troupe { grace = 2s }").empty());
}

TEST_CASE("the file is the one given, else the one in its usual place, else none") {
  testing::temporary_dir dir;
  const auto usual = dir.path() + "/troupe/troupe.conf";
  std::filesystem::create_directory(dir.path() + "/troupe");
  ::setenv("XDG_CONFIG_HOME", dir.path().c_str(), 1);
  node_config none;
  none.read({});
  CHECK(values_of(none.troupe_options) == values_of(options{}));
  std::ofstream{usual} << "grace = 3s\ncaf { scheduler { max-threads = 3 } }\n";
  node_config found;
  found.read({});
  CHECK(found.troupe_options.grace == 3s);
  CHECK(caf::get_or(found, "caf.scheduler.max-threads", std::int64_t{0}) == 3);
  const auto other = dir.path() + "/other.conf";
  std::ofstream{other} << "grace = 4s\n";
  node_config given;
  given.read(other);
  CHECK(given.troupe_options.grace == 4s);
  CHECK_THROWS_WITH(given.read(dir.path() + "/missing"), ContainsSubstring("/missing"));
  std::ofstream{other} << "grac = 4s\n";
  CHECK_THROWS_WITH(given.read(other), ContainsSubstring("other.conf: grac: "));
  ::unsetenv("XDG_CONFIG_HOME");
}

TEST_CASE("the password for sudo comes from the variable that was removed") {
  options opts;
  take_secrets(opts, {"A=1", "TROUPE_SUDO_PASSWORD=se=cret\n"});
  CHECK(opts.sudo_password == "se=cret");
  take_secrets(opts, {});
  CHECK(opts.sudo_password == "se=cret");
}

// The program and its configuration: where it is read from, what it changes, and what is wrong with it.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

struct outcome {
  std::string output;
  int code = -1;
};

/// Runs `troupe` through a shell, with `variables` before it; stderr goes with stdout.
outcome troupe_with(const std::string& variables, const std::string& arguments) {
  outcome result;
  const auto command = variables + " " TROUPE_BIN_DIR "/troupe " + arguments + " 2>&1 </dev/null";
  auto* pipe = popen(command.c_str(), "re");
  REQUIRE(pipe);
  std::array<char, 65536> bytes;
  while (auto n = fread(bytes.data(), 1, bytes.size(), pipe)) result.output.append(bytes.data(), n);
  const auto status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace

TEST_CASE("a mistake in the configuration ends the program with the file and the key") {
  troupe::testing::temporary_dir dir;
  const auto file = dir.path() + "/my.conf";
  std::ofstream{file} << "grace = 2\n";
  for (const std::string& command : std::vector<std::string>{
           "run --config " + file + " true", "mcp --config " + file,
           "node --listen 127.0.0.1:0 --cert x --key x --ca x --config " + file}) {
    INFO(command);
    const auto result = troupe_with("", command);
    CHECK(result.code == 1);
    CHECK_THAT(result.output, ContainsSubstring(file + ": grace: must be a duration"));
  }
  CHECK(troupe_with("", "run --config " + dir.path() + "/none true").code == 1);
}

TEST_CASE("what the configuration lets pass reaches commands") {
  troupe::testing::temporary_dir dir;
  std::filesystem::create_directory(dir.path() + "/troupe");
  std::ofstream{dir.path() + "/troupe/troupe.conf"} << "env_pass = [\"OPENAI_API_KEY\"]\n";
  const std::string command = "run 'echo \"<$OPENAI_API_KEY>\"'";
  CHECK(troupe_with("XDG_CONFIG_HOME=/nowhere OPENAI_API_KEY=abc", command).output == "<>\n");
  CHECK(troupe_with("XDG_CONFIG_HOME=" + dir.path() + " OPENAI_API_KEY=abc", command).output ==
        "<abc>\n");
}

TEST_CASE("the password for sudo reaches sudo and nothing else") {
  troupe::testing::temporary_dir dir;
  const auto sudo = dir.path() + "/sudo";
  std::ofstream{sudo} << "#!/bin/sh\n[ \"$1 $2\" = '-S -p' ] || exit 9\nread -r line\n"
                         "[ \"$line\" = 'top s3' ] || exit 8\nshift 3\nexec \"$@\"\n";
  std::filesystem::permissions(sudo, std::filesystem::perms::owner_all);
  const auto variables = "XDG_CONFIG_HOME=/nowhere PATH=" + dir.path() +
                         ":/usr/bin:/bin TROUPE_SUDO_PASSWORD='top s3'";
  const auto result = troupe_with(
      variables, "run 'export PATH=" + dir.path() +
                     ":$PATH; sudo echo did; env; tr \"\\0\" \"\\n\" < /proc/$PPID/environ'");
  CHECK_THAT(result.output, ContainsSubstring("did\n"));
  CHECK_THAT(result.output, !ContainsSubstring("top s3"));
  CHECK_THAT(result.output, !ContainsSubstring("SUDO_PASSWORD"));
}

// Which commands leave nothing behind in a shell.
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/text/plain_command.hpp"
#include "troupe/text/quote.hpp"

using namespace troupe::text;

TEST_CASE("lists of programs are plain, and their command words are known") {
  struct row {
    const char* command;
    std::vector<std::string_view> words;
    bool pipeline;
  };
  for (const auto& [command, words, pipeline] : std::vector<row>{
           {"true", {"true"}, false},
           {"  ls -la /tmp\n", {"ls"}, false},
           {"git status && git diff --stat", {"git", "git"}, false},
           {"cargo build 2>&1 | tail -n 5", {"cargo", "tail"}, true},
           {"a || b; c\n\nd;", {"a", "b", "c", "d"}, false},
           {"a &&\n b |\n c", {"a", "b", "c"}, true},
           {"/usr/bin/env x", {"/usr/bin/env"}, false},
           {"../run.sh 'it is'\" $HOME ${X} $?\" \\; a#b", {"../run.sh"}, false},
           {"echo \"a & b; `\"", {}, false},
           {"find . -name '*&*' -exec rm {} \\;", {"find"}, false},
           {"sort <in >>out 2>/dev/null", {"sort"}, false},
           {"x &>all; y >| z; cat <<<word", {"x", "y", "cat"}, false},
           {"ls *.c ~/x [a-z]? a=b !x", {"ls"}, false},
           {"echo \"costs \\$5 and \\\"so\\\" $\"", {"echo"}, false},
           {": done", {":"}, false},
       }) {
    INFO(command);
    const auto found = plain(command);
    REQUIRE(found.has_value() == !words.empty());
    if (!found) continue;
    CHECK(found->words == words);
    CHECK(found->pipeline == pipeline);
  }
}

TEST_CASE("everything else is not") {
  for (const std::string command : {"",
                                    " ",
                                    "\n",
                                    "cd /",
                                    "export A=1",
                                    "A=1",
                                    "A=1 ls",
                                    ". x",
                                    "source x",
                                    "exit 3",
                                    "exec ls",
                                    "eval ls",
                                    "set -e",
                                    "printf -v A x",
                                    "test -v A",
                                    "[ -f x ]",
                                    "[[ -f x ]]",
                                    "type ls",
                                    "if a; then b; fi",
                                    "for x in 1; do a; done",
                                    "while a; do b; done",
                                    "case x in esac",
                                    "! a",
                                    "time a",
                                    "{ a; }",
                                    "(a)",
                                    "a; (b)",
                                    "f() { a; }",
                                    "function f { a; }",
                                    "coproc a",
                                    "a &",
                                    "a & b",
                                    "a |& b",
                                    "a `b`",
                                    "a $(b)",
                                    "a \"$(b)\"",
                                    "a \"`b`\"",
                                    "a <(b)",
                                    "a >(b)",
                                    "a $((X=1))",
                                    "a ${X:=1}",
                                    "a ${!X}",
                                    "a ${X[0]}",
                                    "a $'x'",
                                    "a $\"x\"",
                                    "a $",
                                    "a $1",
                                    "a <<E\nE",
                                    "a <<-E\nE",
                                    "a <>b",
                                    "a {x,y}",
                                    "a {x}>b",
                                    "a {}>b",
                                    "a # b",
                                    "# a",
                                    "a 'b",
                                    "a \"b",
                                    "a \\",
                                    "a \\\nb",
                                    "a &&",
                                    "a ||",
                                    "a |",
                                    "; a",
                                    "a ;; b",
                                    "a ; ; b",
                                    "&& a",
                                    "a \n; b",
                                    "'a' b",
                                    "\\a",
                                    "\"a\" b",
                                    "$a b",
                                    "~/a",
                                    "a*",
                                    "%1",
                                    "5>x",
                                    "2>&1",
                                    ">x",
                                    "a >",
                                    "a > | b",
                                    "a\r",
                                    "caf\xc3\xa9",
                                    "a caf\xc3\xa9",
                                    "alias",
                                    "wait",
                                    "read x",
                                    "let x=1",
                                    "unset A",
                                    "trap x EXIT",
                                    "umask 0",
                                    "ulimit -n 5",
                                    "shopt -s x",
                                    "hash -r",
                                    "enable x",
                                    "a=b\\ c",
                                    "a & & b",
                                    "a;&b",
                                    "declare -x A=1",
                                    "then",
                                    "done",
                                    "{",
                                    "}",
                                    "!"}) {
    INFO(command);
    CHECK_FALSE(plain(command));
  }
}

TEST_CASE("bash agrees: what is plain changes nothing in its shell") {
  const std::vector<std::string> pieces{"true",
                                        "echo",
                                        "ls",
                                        "pwd",
                                        ":",
                                        "false",
                                        "a",
                                        "$X",
                                        "${X}",
                                        "'q r'",
                                        "\"$X y\"",
                                        "|",
                                        "||",
                                        "&&",
                                        ";",
                                        "\n",
                                        "<",
                                        "/dev/null",
                                        ">",
                                        ">>",
                                        "2>&1",
                                        "&>",
                                        "X=1",
                                        "cd",
                                        "/",
                                        "export",
                                        "unset",
                                        "{",
                                        "}",
                                        "{}",
                                        "(",
                                        ")",
                                        "`",
                                        "$(",
                                        "$((X=2))",
                                        "${X:=3}",
                                        "&",
                                        "#",
                                        "\\",
                                        "=",
                                        "[",
                                        "]",
                                        "!",
                                        "~",
                                        "set -e",
                                        "exec",
                                        "f() {",
                                        "\"",
                                        "'",
                                        "<<",
                                        "alias",
                                        "-",
                                        "printf -v X 1",
                                        "*",
                                        "$?"};
  std::mt19937 random{20261130};
  const auto any = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>{0, below - 1}(random);
  };
  std::string directory = (std::filesystem::temp_directory_path() / "plain-XXXXXX").string();
  REQUIRE(::mkdtemp(directory.data()) != nullptr);
  std::string script =
      "export X=before PATH=/usr/bin:/bin\n"
      "state() { export -p; declare -f; alias -p; builtin pwd; set -o; shopt; trap -p; umask; }\n"
      "alias known=true\n";
  std::vector<std::string> commands;
  for (int tries = 0; tries < 200'000 && commands.size() < 400; ++tries) {
    std::string command = pieces[any(6)];
    for (auto more = any(7); more > 0; --more) {
      command += any(5) == 0 ? "" : " ";
      command += pieces[any(pieces.size())];
    }
    if (!plain(command)) continue;
    script +=
        "( before=$(state); builtin eval " + shell_quote(command) +
        " >/dev/null 2>&1 </dev/null; after=$(state); [[ $before == \"$after\" ]] || echo BAD " +
        std::to_string(commands.size()) + " )\n";
    commands.push_back(command);
  }
  REQUIRE(commands.size() == 400);
  script += "echo done\n";
  const auto file = directory + "/script";
  std::ofstream{file} << script;
  const auto run = "cd " + directory + " && mkdir at && cd at && exec timeout 120 bash ../script";
  std::string output;
  auto* pipe = ::popen(run.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char text[256];
  while (std::fgets(text, sizeof text, pipe) != nullptr) output += text;
  CHECK(::pclose(pipe) == 0);
  std::filesystem::remove_all(directory);
  if (const auto bad = output.find("BAD "); bad != output.npos) {
    INFO(commands.at(std::stoul(output.substr(bad + 4))));
    FAIL();
  }
  CHECK(output == "done\n");
}

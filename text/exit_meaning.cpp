// What exit codes and signals mean, see exit_meaning.hpp.
#include "troupe/text/exit_meaning.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

#include "troupe/text/shell_words.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe::text {
namespace {

struct code_row {
  std::string_view programs;  // space-separated
  int code;
  std::string_view meaning;
};

constexpr std::array<code_row, 9> codes = {{
    {"grep egrep fgrep zgrep rg ag ack", 1, "no match was found (not an error)"},
    {"diff colordiff cmp", 1, "the inputs differ (not an error)"},
    {"test [ [[", 1, "the condition is false (not an error)"},
    {"find", 1, "some directories could not be read; the results may still be usable"},
    {"curl", 6, "the host name could not be resolved"},
    {"curl", 7, "the connection was refused or the host could not be reached"},
    {"curl", 22, "the server answered with an HTTP error status (400 or above)"},
    {"curl", 28, "the transfer timed out"},
    {"git", 1, "often normal for git: git diff found differences, for example"},
}};

struct signal_row {
  int number;
  std::string_view name;
  std::string_view meaning;  // of 128 + number; empty if that says nothing
};

constexpr std::array<signal_row, 31> signals = {{
    {SIGHUP, "HUP", ""},
    {SIGINT, "INT", ""},
    {SIGQUIT, "QUIT", "quit from the terminal"},
    {SIGILL, "ILL", "an illegal instruction"},
    {SIGTRAP, "TRAP", ""},
    {SIGABRT, "ABRT", "the program aborted itself, often after a failed assertion"},
    {SIGBUS, "BUS", "a bad memory access"},
    {SIGFPE, "FPE", "an arithmetic error such as division by zero"},
    {SIGKILL, "KILL", "killed by force, often because memory ran out"},
    {SIGUSR1, "USR1", ""},
    {SIGSEGV, "SEGV", "a segmentation fault"},
    {SIGUSR2, "USR2", ""},
    {SIGPIPE, "PIPE", "the reader of its output went away (often normal in a pipeline)"},
    {SIGALRM, "ALRM", ""},
    {SIGTERM, "TERM", "asked to terminate"},
    {SIGSTKFLT, "STKFLT", ""},
    {SIGCHLD, "CHLD", ""},
    {SIGCONT, "CONT", ""},
    {SIGSTOP, "STOP", ""},
    {SIGTSTP, "TSTP", ""},
    {SIGTTIN, "TTIN", ""},
    {SIGTTOU, "TTOU", ""},
    {SIGURG, "URG", ""},
    {SIGXCPU, "XCPU", "its CPU time limit was exceeded"},
    {SIGXFSZ, "XFSZ", "its file size limit was exceeded"},
    {SIGVTALRM, "VTALRM", ""},
    {SIGPROF, "PROF", ""},
    {SIGWINCH, "WINCH", ""},
    {SIGIO, "IO", ""},
    {SIGPWR, "PWR", ""},
    {SIGSYS, "SYS", ""},
}};

bool has_word(std::string_view spaced, std::string_view word) {
  while (!spaced.empty()) {
    const size_t end = std::min(spaced.find(' '), spaced.size());
    if (spaced.substr(0, end) == word) return true;
    spaced.remove_prefix(std::min(end + 1, spaced.size()));
  }
  return false;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

struct hint_row {
  std::string_view needle;  // lower case
  std::string_view hint;
};

constexpr std::array<hint_row, 14> hints = {{
    {"pip: command not found", "pip is not on PATH here: use `python3 -m pip`, or install it."},
    {"python: command not found", "There is no `python` here: try `python3`."},
    {"python: not found", "There is no `python` here: try `python3`."},
    {"command not found",
     "A program of this command is not installed or not on PATH: check the name with `command -v`, "
     "or install it."},
    {"modulenotfounderror",
     "A Python module is missing: install it into the environment that runs this command, with "
     "`python3 -m pip install …`."},
    {"no module named",
     "A Python module is missing: install it into the environment that runs this command, with "
     "`python3 -m pip install …`."},
    {"cannot find module",
     "A Node module is missing: install the dependencies first (`npm install` or its equivalent)."},
    {"err_module_not_found",
     "A Node module is missing: install the dependencies first (`npm install` or its equivalent)."},
    {"conflict (content)", "git found conflicts: resolve the files, `git add` them and go on."},
    {"unknown json field", "A field name is wrong: the message lists the ones that exist."},
    {"rate limit", "A rate limit was hit: wait before the next try."},
    {"permission denied (publickey",
     "The SSH key was not accepted: check which key is offered and whether the server knows it."},
    {"permission denied",
     "The user may not do this: check owner and mode (`ls -l`), or whether it needs other rights."},
    {"already exists", "The target exists already: remove it, choose another name, or reuse it."},
}};

}  // namespace

std::optional<std::string> exit_code_meaning(std::string_view command, int code) {
  if (code == 0) return std::nullopt;
  if (code > 128) {
    for (const signal_row& row : signals) {
      if (row.number != code - 128 || row.meaning.empty()) continue;
      return "exit code " + std::to_string(code) + " usually means " + signal_name(row.number) +
             ": " + std::string(row.meaning);
    }
    return std::nullopt;
  }
  const std::optional<simple_command> decided = deciding_command(command);
  if (!decided || decided->negated) return std::nullopt;
  const std::string_view program = program_name(decided->words[0]);
  for (const code_row& row : codes) {
    if (row.code == code && has_word(row.programs, program)) return std::string(row.meaning);
  }
  return std::nullopt;
}

std::optional<std::string> recovery_hint(std::string_view command, int code,
                                         std::string_view output) {
  if (code == 0) return std::nullopt;
  const std::string start = lower(first_chars(output, 4000));
  for (const hint_row& row : hints) {
    if (start.find(row.needle) != std::string::npos) return std::string(row.hint);
  }
  if (code == 127) return std::string(hints[3].hint);
  if (code == 126) {
    return "The file was found but could not be executed: check its mode (`chmod +x`), its first "
           "line and its architecture.";
  }
  if (code == 137) {
    const std::optional<simple_command> decided = deciding_command(command);
    const std::string who = decided ? "'" + std::string(program_name(decided->words[0])) + "'"
                                    : std::string("The command");
    return who +
           " was killed by SIGKILL, often because memory ran out: look at `dmesg`, or give "
           "it less work at a time.";
  }
  return std::nullopt;
}

std::string signal_name(int signal) {
  for (const signal_row& row : signals) {
    if (row.number == signal) return "SIG" + std::string(row.name);
  }
  if (signal >= SIGRTMIN && signal <= SIGRTMAX) {
    const int offset = signal - SIGRTMIN;
    return offset == 0 ? "SIGRTMIN" : "SIGRTMIN+" + std::to_string(offset);
  }
  return "signal " + std::to_string(signal);
}

std::optional<int> signal_number(std::string_view name) {
  int number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size()) {
    if (number >= 1 && number <= SIGRTMAX) return number;
    return std::nullopt;
  }
  std::string wanted = lower(name);
  if (wanted.substr(0, 3) == "sig") wanted.erase(0, 3);
  if (wanted == "cld") wanted = "chld";
  if (wanted == "poll") wanted = "io";
  if (wanted == "iot") wanted = "abrt";
  for (const signal_row& row : signals) {
    if (lower(row.name) == wanted) return row.number;
  }
  constexpr std::string_view real_time = "rtmin";
  if (wanted.substr(0, real_time.size()) != real_time) return std::nullopt;
  if (wanted.size() == real_time.size()) return SIGRTMIN;
  if (wanted[real_time.size()] != '+') return std::nullopt;
  const char* first = wanted.data() + real_time.size() + 1;
  const char* last = wanted.data() + wanted.size();
  const auto offset = std::from_chars(first, last, number);
  const bool whole = offset.ec == std::errc() && offset.ptr == last && first != last;
  if (!whole || number < 0 || number > SIGRTMAX - SIGRTMIN) return std::nullopt;
  return SIGRTMIN + number;
}

}  // namespace troupe::text

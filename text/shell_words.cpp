// Rules about shell commands, see shell_words.hpp.
#include "troupe/text/shell_words.hpp"

#include <algorithm>
#include <array>

namespace troupe::text {
namespace {

using words = std::vector<shell_word>;

/// A program that runs the rest of its words, and its options that take a value of their own.
struct wrapper {
  std::string_view name;
  std::string_view valued_options;  // space-separated
  size_t operands = 0;              // before the command
};

constexpr std::array<wrapper, 14> wrappers = {{
    {"sudo", "-u -g -h -p -C -T -r -t -D -R -U --user --group --prompt --chdir --host"},
    {"doas", "-u -C"},
    {"env", "-u -C -S --unset --chdir"},
    {"time", "-f -o"},
    {"nohup", ""},
    {"setsid", ""},
    {"command", ""},
    {"builtin", ""},
    {"exec", "-a"},
    {"nice", "-n"},
    {"ionice", "-c -n"},
    {"stdbuf", "-i -o -e"},
    {"timeout", "-k -s --signal --kill-after", 1},
    {"xvfb-run", "-n -s -e -f"},
}};

constexpr std::array<std::string_view, 3> detachers = {"nohup", "disown", "setsid"};
constexpr std::array<std::string_view, 4> package_managers = {"npm", "pnpm", "yarn", "bun"};
constexpr std::array<std::string_view, 4> server_scripts = {"dev", "start", "serve", "watch"};
constexpr std::array<std::string_view, 3> servers = {"nodemon", "uvicorn", "gunicorn"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& set, std::string_view word) {
  return std::find(set.begin(), set.end(), word) != set.end();
}

bool has_word(std::string_view spaced, std::string_view word) {
  while (!spaced.empty()) {
    const size_t end = std::min(spaced.find(' '), spaced.size());
    if (spaced.substr(0, end) == word) return true;
    spaced.remove_prefix(std::min(end + 1, spaced.size()));
  }
  return false;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-';
}

/// Index of the first operand at or after `at`, options (and their values) skipped.
size_t skip_options(const words& w, size_t at, std::string_view valued) {
  while (at < w.size() && is_option(w[at].text)) {
    if (w[at].text == "--") return at + 1;
    at += has_word(valued, w[at].text) ? 2 : 1;
  }
  return std::min(at, w.size());
}

/// A call that only prints something about the program.
bool asks_for_help(const words& w, size_t from) {
  for (size_t i = from + 1; i < w.size(); ++i) {
    if (w[i].text == "--help" || w[i].text == "--version") return true;
  }
  if (w.size() <= from + 1) return false;
  const std::string& last = w.back().text;
  return last == "-h" || last == "-v" || last == "-V";
}

bool is_python(std::string_view program) {
  if (program.substr(0, 6) != "python") return false;
  return program.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

/// Programs that start another one from a package: `npx vite`, `uv run uvicorn`.
size_t skip_package_runner(const words& w, size_t at) {
  const std::string_view program = program_name(w[at].text);
  if (program == "npx" || program == "bunx" || program == "pnpx") {
    return skip_options(w, at + 1, "-p --package");
  }
  const bool runner = program == "uv" || program == "poetry" || program == "pipenv" ||
                      program == "hatch" || program == "pdm";
  if (runner && at + 1 < w.size() && w[at + 1].text == "run") {
    return skip_options(w, at + 2, "--with --env-file --python -p");
  }
  const bool exec = contains(package_managers, program) && at + 1 < w.size() &&
                    (w[at + 1].text == "exec" || w[at + 1].text == "x" || w[at + 1].text == "dlx");
  return exec ? skip_options(w, at + 2, "") : at;
}

std::optional<std::string> compose_up(const words& w, size_t at, std::string name) {
  at = skip_options(w, at, "-f --file -p --project-name --profile --env-file --project-directory");
  if (at >= w.size() || w[at].text != "up") return std::nullopt;
  for (size_t i = at + 1; i < w.size(); ++i) {
    const std::string& o = w[i].text;
    if (o == "-d" || o == "--detach" || o == "--wait" || o == "--no-start") return std::nullopt;
  }
  return name + " up";
}

std::optional<std::string> package_script(const words& w, size_t at, std::string_view manager) {
  constexpr std::string_view valued = "--prefix -C --dir --cwd --filter -F -w --workspace";
  at = skip_options(w, at + 1, valued);
  std::string found(manager);
  if (manager == "yarn" && at + 1 < w.size() && w[at].text == "workspace") {
    at = skip_options(w, at + 2, valued);
  }
  if (at < w.size() && (w[at].text == "run" || w[at].text == "run-script")) {
    found += " run";
    at = skip_options(w, at + 1, valued);
  }
  if (at >= w.size() || !contains(server_scripts, w[at].text)) return std::nullopt;
  return found + " " + w[at].text;
}

/// The long-lived server that the command at `at` starts, if it does.
std::optional<std::string> server(const words& w, size_t at) {
  at = skip_package_runner(w, at);
  if (at >= w.size()) return std::nullopt;
  const std::string_view program = program_name(w[at].text);
  const std::string_view next = at + 1 < w.size() ? std::string_view(w[at + 1].text) : "";
  if (contains(package_managers, program)) return package_script(w, at, program);
  if (program == "docker-compose" || program == "podman-compose") {
    return compose_up(w, at + 1, std::string(program));
  }
  if (program == "docker" || program == "podman") {
    const size_t sub = skip_options(w, at + 1, "--context -c -H --host --config -l --log-level");
    if (sub >= w.size() || w[sub].text != "compose") return std::nullopt;
    return compose_up(w, sub + 1, std::string(program) + " compose");
  }
  if (program == "next") {
    return next == "dev" ? std::optional<std::string>("next dev") : std::nullopt;
  }
  if (program == "vite") {
    const bool bounded = next == "build" || next == "optimize";
    return bounded ? std::nullopt : std::optional<std::string>("vite");
  }
  if (contains(servers, program)) return std::string(program);
  if (!is_python(program)) return std::nullopt;
  for (size_t i = at + 1; i + 1 < w.size() && is_option(w[i].text); ++i) {
    if (w[i].text == "-c") break;
    if (w[i].text != "-m") continue;
    const std::string& module = w[i + 1].text;
    if (module == "http.server" || module == "uvicorn" || module == "gunicorn") {
      return std::string(program) + " -m " + module;
    }
    break;
  }
  return std::nullopt;
}

foreground_refusal detaches(std::string what) {
  return {"The command detaches by itself ('" + what +
              "'), so its output and end would be lost. Send it again without that and with "
              "background=true (and notify=true to hear when it ends).",
          std::move(what)};
}

foreground_refusal serves(std::string what) {
  return {"'" + what +
              "' starts a long-lived server or watcher that does not end by itself. Send it again "
              "with background=true, then wait for its port or for a line of its output.",
          std::move(what)};
}

std::optional<foreground_refusal> refuse(const scanned_command& command) {
  const words& w = command.words;
  std::vector<size_t> wrapped;
  const size_t at = unwrapped(w, &wrapped);
  if (asks_for_help(w, at)) return std::nullopt;
  bool bounded = false;
  for (const size_t i : wrapped) {
    const std::string_view name = program_name(w[i].text);
    if (contains(detachers, name) && !asks_for_help(w, i)) return detaches(std::string(name));
    bounded = bounded || name == "timeout";
  }
  if (at >= w.size()) return std::nullopt;
  const std::string_view name = program_name(w[at].text);
  if (contains(detachers, name)) return detaches(std::string(name));
  if (bounded) return std::nullopt;
  if (std::optional<std::string> found = server(w, at)) return serves(std::move(*found));
  return std::nullopt;
}

}  // namespace

std::string_view program_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

size_t unwrapped(const std::vector<shell_word>& w, std::vector<size_t>* found) {
  size_t at = 0;
  while (at < w.size()) {
    const std::string_view name = program_name(w[at].text);
    const auto* which = std::find_if(wrappers.begin(), wrappers.end(),
                                     [&](const wrapper& x) { return x.name == name; });
    if (which == wrappers.end()) break;
    // `command -v x` asks about x and does not run it.
    const bool asks = name == "command" && at + 1 < w.size() &&
                      (w[at + 1].text == "-v" || w[at + 1].text == "-V");
    if (asks) break;
    if (found) found->push_back(at);
    at = skip_options(w, at + 1, which->valued_options);
    const bool assigns = name == "env" || name == "sudo" || name == "doas";
    while (assigns && at < w.size() && w[at].text.find('=') != std::string::npos) ++at;
    at = std::min(at + which->operands, w.size());
  }
  return at;
}

std::optional<foreground_refusal> refuse_foreground(std::string_view command) {
  const scanned_shell shell = scan_shell(command);
  for (const scanned_command& simple : shell.commands) {
    if (auto refusal = refuse(simple)) return refusal;
  }
  if (!shell.background.empty()) return detaches("&");
  return std::nullopt;
}

std::optional<simple_command> deciding_command(std::string_view command) {
  const scanned_shell shell = scan_shell(command);
  for (auto it = shell.commands.rbegin(); it != shell.commands.rend(); ++it) {
    if (it->substitution > 0) continue;
    const size_t at = unwrapped(it->words);
    if (at >= it->words.size()) return std::nullopt;
    simple_command result;
    result.negated = it->negated;
    for (size_t i = at; i < it->words.size(); ++i) result.words.push_back(it->words[i].text);
    return result;
  }
  return std::nullopt;
}

std::vector<size_t> command_positions(std::string_view command, std::string_view word) {
  std::vector<size_t> positions;
  for (const scanned_command& simple : scan_shell(command).commands) {
    std::vector<size_t> candidates;
    const size_t at = unwrapped(simple.words, &candidates);
    if (at < simple.words.size()) candidates.push_back(at);
    for (const size_t i : candidates) {
      const shell_word& w = simple.words[i];
      if (!w.quoted && program_name(w.text) == word) positions.push_back(w.begin);
    }
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

}  // namespace troupe::text

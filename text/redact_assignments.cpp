// Masking of the values of secret names, and the judgement which commands print an environment. See
// redact.hpp.
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "troupe/text/redact.hpp"
#include "troupe/text/redact_assignments.hpp"
#include "troupe/text/shell_words.hpp"

namespace troupe::text {
namespace {

template <size_t N>
bool contains(const std::array<std::string_view, N>& set, std::string_view word) {
  return std::find(set.begin(), set.end(), word) != set.end();
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Parts of a name, between `_`, `-` and `.`, that make it a secret one.
constexpr std::array<std::string_view, 16> secret_parts = {
    "key",    "apikey", "pass", "passphrase", "pwd",         "pw",   "creds",  "auth",
    "cookie", "dsn",    "pat",  "credential", "credentials", "salt", "secret", "token"};
/// The same anywhere in it, for names such as `clientSecret`.
constexpr std::array<std::string_view, 8> secret_substrings = {
    "password", "passwd", "secret", "apikey", "accesskey", "privatekey", "credential", "authtoken"};

bool is_secret_name(std::string_view original) {
  const std::string name = lower(original);
  if (name == "pwd" || name == "oldpwd" || name == "key" || name == "auth") return false;
  const bool substring = std::any_of(secret_substrings.begin(), secret_substrings.end(),
                                     [&](std::string_view s) { return name.find(s) != name.npos; });
  if (substring) return true;
  constexpr std::string_view token = "token";
  if (name.size() > token.size() && name.compare(name.size() - token.size(), 5, token) == 0) {
    return true;
  }
  const bool socket = name.size() > 5 && name.compare(name.size() - 5, 5, "_sock") == 0;
  std::string_view rest = name;
  while (!rest.empty() && !socket) {
    const size_t end = std::min(rest.find_first_of("_-."), rest.size());
    if (contains(secret_parts, rest.substr(0, end))) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

bool is_harmless(std::string_view value) {
  constexpr std::array<std::string_view, 9> words = {"",     "\"\"", "''",  "true", "false",
                                                     "null", "none", "yes", "no"};
  return contains(words, lower(value)) || value.substr(0, 2) == "${" || value.substr(0, 3) == "***";
}

/// Names and what separates them from their values. The values are read by hand, and only for secret
/// names, so that the cost stays linear.
struct assignment_regexes {
  re2::RE2 assignment{
      R"re(([A-Za-z_][A-Za-z0-9_.-]*)(\\?["']?(?:=|[ \t]*:[ \t]+|[ \t]+=[ \t]+|:)))re",
      re2::RE2::Latin1};
  re2::RE2 netrc{R"re(\b(password|account)([ \t]+))re", re2::RE2::Latin1};
};

const assignment_regexes& regexes() {
  static const assignment_regexes all;
  return all;
}

/// The end of a quoted value that begins behind its opening quote; `npos` if it is not closed.
size_t closing_quote(std::string_view text, size_t begin, char quote) {
  constexpr size_t longest = 16 * 1024;
  const size_t limit = std::min(text.size(), begin + longest);
  for (size_t at = begin; at < limit; ++at) {
    if (text[at] == quote) return at;
    if (text[at] == '\\' && quote == '"') ++at;
  }
  return std::string_view::npos;
}

/// The end of an unquoted value. `NAME=value` at the beginning of a line is what env prints: its value
/// goes to the end of the line, whatever is in it. Elsewhere it ends with the word.
size_t value_end(std::string_view text, size_t name, std::string_view separator, size_t begin) {
  const bool line_start = name == 0 || text[name - 1] == '\n';
  if (line_start && separator == "=") return std::min(text.find('\n', begin), text.size());
  size_t end = std::min(text.find_first_of(" \t\r\n\v\f", begin), text.size());
  while (end > begin && std::string_view(",;}])\"'\\").find(text[end - 1]) != text.npos) --end;
  return end;
}

/// How a value is masked.
enum class value_mask { short_mask, same_length };

std::string mask_values(const std::string& text, const re2::RE2& regex, value_mask how) {
  const re2::StringPiece input(text.data(), text.size());
  std::string out;
  size_t done = 0;  // copied to `out` so far
  size_t from = 0;
  re2::StringPiece group[3];
  while (regex.Match(input, from, input.size(), re2::RE2::UNANCHORED, group, 3)) {
    const std::string_view name(group[1].data(), group[1].size());
    const std::string_view separator(group[2].data(), group[2].size());
    size_t begin = static_cast<size_t>(group[2].data() - text.data()) + separator.size();
    from = begin;
    if (begin >= text.size()) break;
    if (&regex == &regexes().assignment && !is_secret_name(name)) continue;
    size_t end = std::string::npos;
    const size_t quote = text[begin] == '$' ? begin + 1 : begin;
    if (quote < text.size() && (text[quote] == '"' || text[quote] == '\'')) {
      end = closing_quote(text, quote + 1, text[quote]);
      if (end != std::string::npos) begin = quote + 1;
    }
    if (end == std::string::npos) {
      end = value_end(text, static_cast<size_t>(group[1].data() - text.data()), separator, begin);
    }
    const auto value = std::string_view(text).substr(begin, end - begin);
    // Stars over stars are the same again; what only begins with some is no mask of ours.
    const bool stars = how == value_mask::same_length && value.substr(0, 3) == "***";
    if (!stars && is_harmless(value)) continue;
    out.append(text, done, begin - done);
    out.append(how == value_mask::same_length ? end - begin : 3, '*');
    done = end;
    from = end;
  }
  return out.append(text, done, std::string::npos);
}

constexpr std::array<std::string_view, 6> printers = {"env",    "printenv", "set",
                                                      "export", "declare",  "typeset"};
constexpr std::array<std::string_view, 12> readers = {
    "cat", "head", "tail", "bat", "batcat", "less", "more", "nl", "tac", "zcat", "view", "strings"};
constexpr std::array<std::string_view, 6> searchers = {"grep", "egrep", "fgrep",
                                                       "awk",  "sed",   "rg"};
constexpr std::array<std::string_view, 30> secret_files = {
    ".envrc",           ".bashrc",          ".bash_profile", ".bash_login",      ".bash_aliases",
    ".profile",         ".zshrc",           ".zshenv",       ".zprofile",        ".kshrc",
    ".netrc",           "_netrc",           ".pgpass",       ".my.cnf",          ".npmrc",
    ".pypirc",          ".git-credentials", ".htpasswd",     ".dockercfg",       "credentials",
    "credentials.json", "credentials.toml", "secrets.yaml",  "secrets.yml",      "secrets.json",
    "secrets.toml",     "environ",          "kubeconfig",    "terraform.tfvars", ".s3cfg"};

bool is_secret_file(std::string_view path) {
  const std::string_view name = program_name(path);
  if (contains(secret_files, name)) return true;
  const bool sample = name.find("example") != name.npos || name.find("sample") != name.npos ||
                      name.find("template") != name.npos;
  if (sample) return false;
  if (name.substr(0, 4) == ".env") return true;
  if (name.size() > 4 && name.substr(name.size() - 4) == ".env") return true;
  const bool is_config = name == "config" || name == "config.json";
  return is_config && (path.find(".aws/") != path.npos || path.find(".kube/") != path.npos ||
                       path.find(".docker/") != path.npos);
}

bool prints_environment(const scanned_command& command) {
  std::vector<size_t> wrapped;
  const size_t at = unwrapped(command.words, &wrapped);
  for (const size_t i : wrapped) {
    if (program_name(command.words[i].text) == "env") return true;
  }
  if (at >= command.words.size()) return false;
  const std::string_view program = program_name(command.words[at].text);
  if (contains(printers, program)) return true;
  const bool searches = contains(searchers, program);
  if (!searches && !contains(readers, program)) return false;
  const bool redirected = std::any_of(command.inputs.begin(), command.inputs.end(), is_secret_file);
  if (redirected) return true;
  bool pattern = searches;
  for (size_t i = at + 1; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text;
    if (word.size() > 1 && word[0] == '-') {
      // The pattern given as an option leaves only files as operands.
      const bool given = word == "-e" || word == "-f" || word == "--regexp" || word == "--file";
      if (searches && given) {
        pattern = false;
        ++i;
      }
      continue;
    }
    if (pattern) {
      pattern = false;
    } else if (is_secret_file(word)) {
      return true;
    }
  }
  return false;
}

}  // namespace

namespace {

std::string mask_all(std::string text, value_mask how) {
  text = mask_values(text, regexes().assignment, how);
  const bool netrc = text.find("machine ") != std::string::npos;
  return netrc ? mask_values(text, regexes().netrc, how) : text;
}

}  // namespace

std::string redact_assignments(std::string_view text) {
  return mask_all(redact(text), value_mask::short_mask);
}

std::string star_assignments(std::string text) {
  return mask_all(std::move(text), value_mask::same_length);
}

bool prints_environment(std::string_view command) {
  for (const scanned_command& simple : scan_shell(command).commands) {
    if (prints_environment(simple)) return true;
  }
  return false;
}

}  // namespace troupe::text

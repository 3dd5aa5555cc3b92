// A strict recognizer, see plain_command.hpp. Unlike the scanner of shell_scanner.hpp, which has to
// make something of everything, this one gives up at the first byte that it does not know.
#include "troupe/text/plain_command.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe::text {
namespace {

/// The reserved words of bash 5.2 and all its builtins but `:`, echo, false, pwd and true, which change
/// nothing. (`printf` has `-v` and `%n`; `test` evaluates subscripts.)
constexpr std::string_view refused[] = {
    ".",        "alias",     "bg",       "bind",     "break",   "builtin",  "caller", "case",
    "cd",       "command",   "compgen",  "complete", "compopt", "continue", "coproc", "declare",
    "dirs",     "disown",    "do",       "done",     "elif",    "else",     "enable", "esac",
    "eval",     "exec",      "exit",     "export",   "fc",      "fg",       "fi",     "for",
    "function", "getopts",   "hash",     "help",     "history", "if",       "in",     "jobs",
    "kill",     "let",       "local",    "logout",   "mapfile", "popd",     "printf", "pushd",
    "read",     "readarray", "readonly", "return",   "select",  "set",      "shift",  "shopt",
    "source",   "suspend",   "test",     "then",     "time",    "times",    "trap",   "type",
    "typeset",  "ulimit",    "umask",    "unalias",  "unset",   "until",    "wait",   "while"};

bool is_refused(std::string_view word) {
  return std::find(std::begin(refused), std::end(refused), word) != std::end(refused);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Bytes that are themselves in any unquoted word.
bool is_ordinary(char c) {
  return is_letter(c) || is_digit(c) ||
         std::string_view("./,:+@%^-").find(c) != std::string_view::npos;
}

/// Further bytes of arguments. (What else is a blank depends on the locale, from 0x80 on.)
bool is_argument(char c) {
  return is_ordinary(c) || std::string_view("~*?[]=!#").find(c) != std::string_view::npos;
}

class recognizer {
 public:
  explicit recognizer(std::string_view text) : text_(text) {}

  std::optional<plain_command> run() {
    if (list()) return std::move(result_);
    return std::nullopt;
  }

 private:
  bool more() const { return at_ < text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip(std::string_view these) {
    while (more() && these.find(peek()) != these.npos) ++at_;
  }

  // Every function below is false where the text leaves the language.

  bool list() {
    skip(" \t\n");
    while (more()) {
      if (!simple_command()) return false;
      if (!more()) return true;
      const char c = peek();
      const bool twice = peek(1) == c;
      if (c == ';' && twice) return false;
      at_ += twice && c != '\n' ? 2 : 1;
      skip(" \t\n");
      if (c == ';' || c == '\n') continue;
      if ((c == '&' && !twice) || !more()) return false;
      if (c == '|' && !twice) result_.pipeline = true;
    }
    return !result_.words.empty();
  }

  /// Up to an operator or the end.
  bool simple_command() {
    bool named = false;
    for (skip(" \t"); more(); skip(" \t")) {
      const char c = peek();
      if (c == '<' || c == '>' || (c == '&' && peek(1) == '>')) {
        if (!redirection()) return false;
      } else if (c == ';' || c == '&' || c == '|' || c == '\n') {
        break;
      } else if (!std::exchange(named, true)) {
        if (!command_word()) return false;
      } else if (!argument()) {
        return false;
      }
    }
    return named;
  }

  bool command_word() {
    const auto begin = at_;
    while (is_ordinary(peek())) ++at_;
    const auto word = text_.substr(begin, at_ - begin);
    if (word.empty() || !ends_word() || is_refused(word)) return false;
    // `%1` is a job, and digits may be the descriptor of a redirection.
    const bool program = word.find('/') != word.npos || is_letter(word.front()) || word == ":";
    if (program) result_.words.push_back(word);
    return program;
  }

  bool ends_word() const {
    return !more() || std::string_view(" \t\n;&|<>").find(peek()) != std::string_view::npos;
  }

  bool argument() {
    if (peek() == '#') return false;
    while (!ends_word()) {
      if (!part()) return false;
    }
    return true;
  }

  bool part() {
    const char c = peek();
    if (is_argument(c)) {
      ++at_;
      return true;
    }
    switch (c) {
      case '\\':
        if (peek(1) == '\n' || at_ + 1 >= text_.size()) return false;
        at_ += 2;
        return true;
      case '\'': {
        const auto end = text_.find('\'', at_ + 1);
        if (end == text_.npos) return false;
        at_ = end + 1;
        return true;
      }
      case '"':
        return double_quotes();
      case '$':
        return variable();
      case '{':
        // As find and xargs have it; everything else may be an expansion or a redirection.
        if (peek(1) != '}') return false;
        at_ += 2;
        return peek() != '<' && peek() != '>';
      default:
        return false;
    }
  }

  bool double_quotes() {
    for (++at_; more();) {
      switch (peek()) {
        case '"':
          ++at_;
          return true;
        case '`':
          return false;
        case '\\':
          if (at_ + 1 >= text_.size()) return false;
          at_ += 2;
          break;
        case '$':
          if (peek(1) == '"') {
            ++at_;
          } else if (!variable()) {
            return false;
          }
          break;
        default:
          ++at_;
      }
    }
    return false;
  }

  /// `$name`, `${name}`, `$?`.
  bool variable() {
    ++at_;
    if (peek() == '?') {
      ++at_;
      return true;
    }
    const bool braces = peek() == '{';
    if (braces) ++at_;
    if (!is_letter(peek())) return false;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    if (!braces) return true;
    if (peek() != '}') return false;
    ++at_;
    return true;
  }

  bool redirection() {
    static constexpr std::string_view operators[] = {"&>>", "<<<", "&>", ">>", ">&",
                                                     "<&",  ">|",  ">",  "<"};
    const auto rest = text_.substr(at_);
    const auto* found = std::find_if(std::begin(operators), std::end(operators),
                                     [&](std::string_view one) { return rest.starts_with(one); });
    if (found == std::end(operators)) return false;
    at_ += found->size();
    skip(" \t");
    return !ends_word() && argument();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  plain_command result_;
};

}  // namespace

std::optional<plain_command> plain(std::string_view command) {
  return recognizer(command).run();
}

}  // namespace troupe::text

// A scanner for shell commands, see shell_scanner.hpp: recursive descent over the bytes.
#include "troupe/text/shell_scanner.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe::text {
namespace {

constexpr int max_nesting = 200;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool ends_word(char c) {
  return is_blank(c) || std::string_view("\n;&|<>()").find(c) != std::string_view::npos;
}

bool is_name_char(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

template <size_t N>
bool contains(const std::array<std::string_view, N>& set, std::string_view word) {
  return std::find(set.begin(), set.end(), word) != set.end();
}

/// Reserved words behind which a command begins, and those that end a compound command.
constexpr std::array<std::string_view, 8> openers = {"if",    "then",  "elif", "else",
                                                     "while", "until", "do",   "{"};
constexpr std::array<std::string_view, 3> closers = {"fi", "done", "}"};

enum class until { end, parenthesis, backtick, case_item };

class scanner {
 public:
  explicit scanner(std::string_view text) : text_(text) {}

  scanned_shell run() {
    while (at_ < text_.size()) list(until::end);
    return std::move(result_);
  }

 private:
  struct heredoc {
    std::string delimiter;
    bool strip_tabs;
  };

  bool more() const { return at_ < text_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool at(std::string_view s) const { return text_.substr(at_, s.size()) == s; }

  void list(until stop);
  bool separator(until stop, scanned_command& current);
  bool word_or_keyword(until stop, scanned_command& current);
  void finish(scanned_command& current);
  void redirection(scanned_command& current);
  void nested(until stop);
  void case_command();
  void conditional(scanned_command& current);
  void arithmetic();
  shell_word word();
  void word_part(shell_word& out);
  void single_quotes(shell_word& out);
  void double_quotes(shell_word& out);
  void ansi_c_quotes(shell_word& out);
  void dollar(shell_word& out);
  void braces();
  void skip_array();
  void skip_blanks();
  void skip_comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  void read_heredocs();
  static bool is_assignment(const shell_word& w);

  std::string_view text_;
  size_t at_ = 0;
  int nesting_ = 0;
  int substitution_ = 0;
  bool in_backticks_ = false;
  bool case_ended_ = false;
  std::vector<heredoc> heredocs_;
  scanned_shell result_;
};

void scanner::skip_blanks() {
  while (more()) {
    if (is_blank(peek())) {
      ++at_;
    } else if (at("\\\n")) {
      at_ += 2;
    } else {
      return;
    }
  }
}

void scanner::finish(scanned_command& current) {
  if (!current.words.empty() || !current.assignments.empty() || !current.inputs.empty()) {
    result_.commands.push_back(std::move(current));
  }
  current = {};
  current.substitution = substitution_;
}

/// Commands up to the end of the text or to what `stop` says, which is consumed.
void scanner::list(until stop) {
  scanned_command current;
  current.substitution = substitution_;
  for (;;) {
    skip_blanks();
    if (!more()) break;
    const char c = peek();
    if (c == '#') {
      skip_comment();
    } else if (c == '`' && stop == until::backtick) {
      ++at_;
      break;
    } else if (c == ')' && stop == until::parenthesis) {
      ++at_;
      break;
    } else if (c == '<' || c == '>' || at("&>")) {
      redirection(current);
    } else if (std::string_view("\n;&|()").find(c) != std::string_view::npos) {
      if (separator(stop, current)) break;
    } else if (word_or_keyword(stop, current)) {
      break;
    }
  }
  finish(current);
}

/// An operator that ends a command or opens a subshell. True if it also ends the list.
bool scanner::separator(until stop, scanned_command& current) {
  const char c = peek();
  if (c == '(') {
    if (current.words.empty() && at("((")) {
      arithmetic();
    } else if (current.words.size() == 1 && peek(1) == ')') {
      current.words.clear();  // the head of a function definition
      at_ += 2;
    } else {
      finish(current);
      ++at_;
      nested(until::parenthesis);
    }
    return false;
  }
  finish(current);
  if (c == ';' && (at(";;") || at(";&"))) {
    at_ += at(";;&") ? 3 : 2;
    return stop == until::case_item;
  }
  if (c == '&' && !at("&&")) result_.background.push_back(at_);
  at_ += at("&&") || at("||") || at("|&") ? 2 : 1;
  if (c == '\n') read_heredocs();
  return false;
}

bool scanner::is_assignment(const shell_word& w) {
  const size_t equals = w.text.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  std::string_view name = std::string_view(w.text).substr(0, equals);
  if (name.back() == '+') name.remove_suffix(1);
  if (const size_t bracket = name.find('['); bracket != std::string_view::npos) {
    if (name.back() != ']') return false;
    name = name.substr(0, bracket);
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), is_name_char);
}

/// True if the word ends the list (`esac`).
bool scanner::word_or_keyword(until stop, scanned_command& current) {
  const size_t before = at_;
  shell_word w = word();
  if (at_ == before) {
    ++at_;  // a byte that begins nothing
    return false;
  }
  const bool number = !w.quoted && w.text.find_first_not_of("0123456789") == std::string::npos;
  if (number && (peek() == '<' || peek() == '>')) return false;  // descriptor of a redirection
  const bool starts = current.words.empty() && current.assignments.empty();
  if (starts && !w.quoted) {
    if (w.text == "esac" && stop == until::case_item) {
      case_ended_ = true;
      return true;
    }
    if (w.text == "!") {
      current.negated = !current.negated;
      return false;
    }
    if (contains(openers, w.text) || contains(closers, w.text)) return false;
    if (w.text == "case") {
      case_command();
      return false;
    }
    if (w.text == "for" || w.text == "select" || w.text == "function") {
      skip_blanks();
      if (at("((")) {
        arithmetic();
      } else {
        word();
        skip_blanks();
      }
      if (w.text == "function") {
        if (at("()")) at_ += 2;
      } else {
        while (more() && peek() != ';' && peek() != '\n') {
          const size_t here = at_;
          word();
          skip_blanks();
          if (at_ == here) break;
        }
      }
      return false;
    }
    if (w.text == "[[") {
      current.words.push_back(std::move(w));
      conditional(current);
      return false;
    }
  }
  if (current.words.empty() && is_assignment(w)) {
    if (w.text.back() == '=' && peek() == '(') skip_array();
    current.assignments.push_back(std::move(w));
  } else {
    current.words.push_back(std::move(w));
  }
  return false;
}

void scanner::redirection(scanned_command& current) {
  if ((at("<(") || at(">(")) && !at("<((")) {
    at_ += 2;
    ++substitution_;
    nested(until::parenthesis);
    --substitution_;
    return;
  }
  if (at("<<") && !at("<<<")) {
    at_ += 2;
    const bool strip = peek() == '-';
    if (strip) ++at_;
    skip_blanks();
    heredocs_.push_back({word().text, strip});
    return;
  }
  const bool input = peek() == '<' && peek(1) != '<' && peek(1) != '&' && peek(1) != '>';
  while (more() && std::string_view("<>&|").find(peek()) != std::string_view::npos) {
    // `>&` and `&>` end with their second sign: what follows is a word or another operator.
    const bool last = peek(1) != '<' && peek(1) != '>' && !(peek() != '&' && peek(1) == '&') &&
                      !(peek() == '>' && peek(1) == '|');
    ++at_;
    if (last) break;
  }
  skip_blanks();
  if (peek() == '(' || (at("<(") || at(">("))) return;
  const shell_word target = word();
  if (input) current.inputs.push_back(target.text);
}

void scanner::read_heredocs() {
  for (const heredoc& doc : std::exchange(heredocs_, {})) {
    while (more()) {
      const size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (doc.strip_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == doc.delimiter) break;
    }
  }
}

void scanner::nested(until stop) {
  if (nesting_ >= max_nesting) {
    at_ = text_.size();
    return;
  }
  ++nesting_;
  list(stop);
  --nesting_;
}

void scanner::case_command() {
  skip_blanks();
  word();
  auto skip_lines = [this] {
    for (skip_blanks(); more() && (peek() == '\n' || peek() == '#'); skip_blanks()) {
      if (peek() == '#') {
        skip_comment();
      } else {
        ++at_;
      }
    }
  };
  skip_lines();
  word();  // in
  while (more()) {
    skip_lines();
    if (peek() == '(') ++at_;
    const size_t start = at_;
    if (word().text == "esac" && text_.substr(start, 4) == "esac") return;
    while (more() && peek() != ')') {
      const size_t here = at_;
      word();
      if (at_ == here) ++at_;
    }
    if (more()) ++at_;
    case_ended_ = false;
    nested(until::case_item);
    if (std::exchange(case_ended_, false)) return;
  }
}

/// The inside of `[[ … ]]`: words only, operators are just words here.
void scanner::conditional(scanned_command& current) {
  while (more()) {
    skip_blanks();
    const size_t here = at_;
    shell_word w = word();
    if (at_ == here) {
      if (!more()) return;
      w.text = peek();
      ++at_;
    }
    const bool last = !w.quoted && w.text == "]]";
    current.words.push_back(std::move(w));
    if (last) return;
  }
}

/// `(( … ))` and what stands between the parentheses of `$(( … ))`.
void scanner::arithmetic() {
  int depth = 0;
  while (more()) {
    const char c = peek();
    if (at("$(") || c == '`' || c == '\'' || c == '"' || c == '\\') {
      if (at("$((")) {
        ++at_;
        continue;
      }
      shell_word ignored;
      word_part(ignored);
      continue;
    }
    ++at_;
    if (c == '(') ++depth;
    if (c == ')' && --depth == 0) return;
  }
}

void scanner::skip_array() {
  ++at_;
  while (more() && peek() != ')') {
    const size_t here = at_;
    skip_blanks();
    if (peek() == '#') skip_comment();
    word();
    if (at_ == here) ++at_;
  }
  if (more()) ++at_;
}

shell_word scanner::word() {
  shell_word w;
  w.begin = at_;
  while (more() && !ends_word(peek())) {
    if (peek() == '`' && in_backticks_) break;
    word_part(w);
  }
  return w;
}

void scanner::word_part(shell_word& out) {
  switch (peek()) {
    case '\\':
      out.quoted = true;
      if (peek(1) != '\n') out.text.append(text_.substr(at_ + 1, 1));
      at_ = std::min(at_ + 2, text_.size());
      break;
    case '\'':
      single_quotes(out);
      break;
    case '"':
      double_quotes(out);
      break;
    case '$':
      dollar(out);
      break;
    case '`': {
      const size_t begin = at_;
      ++at_;
      const bool outer = std::exchange(in_backticks_, true);
      ++substitution_;
      nested(until::backtick);
      --substitution_;
      in_backticks_ = outer;
      out.text.append(text_.substr(begin, at_ - begin));
      break;
    }
    default:
      out.text.push_back(peek());
      ++at_;
  }
}

void scanner::single_quotes(shell_word& out) {
  out.quoted = true;
  const size_t end = std::min(text_.find('\'', at_ + 1), text_.size());
  out.text.append(text_.substr(at_ + 1, end - at_ - 1));
  at_ = std::min(end + 1, text_.size());
}

void scanner::double_quotes(shell_word& out) {
  out.quoted = true;
  ++at_;
  while (more() && peek() != '"') {
    if (peek() == '\\') {
      const char next = peek(1);
      const bool special = std::string_view("$`\"\\").find(next) != std::string_view::npos;
      if (!special && next != '\n') out.text.push_back('\\');
      if (next != '\n') out.text.append(text_.substr(at_ + 1, 1));
      at_ = std::min(at_ + 2, text_.size());
    } else if (peek() == '$' && peek(1) != '\'' && peek(1) != '"') {
      dollar(out);
    } else if (peek() == '`') {
      if (in_backticks_) return;
      word_part(out);
    } else {
      out.text.push_back(peek());
      ++at_;
    }
  }
  if (more()) ++at_;
}

void scanner::ansi_c_quotes(shell_word& out) {
  out.quoted = true;
  at_ += 2;
  while (more() && peek() != '\'') {
    if (peek() == '\\') ++at_;
    out.text.append(text_.substr(at_, 1));
    at_ = std::min(at_ + 1, text_.size());
  }
  if (more()) ++at_;
}

void scanner::dollar(shell_word& out) {
  if (at("$'")) return ansi_c_quotes(out);
  const size_t begin = at_;
  ++at_;
  if (at("((")) {
    arithmetic();
  } else if (at("(")) {
    ++at_;
    const bool outer = std::exchange(in_backticks_, false);
    ++substitution_;
    nested(until::parenthesis);
    --substitution_;
    in_backticks_ = outer;
  } else if (at("{")) {
    braces();
  }
  out.text.append(text_.substr(begin, at_ - begin));
}

/// `{ … }` of a parameter expansion.
void scanner::braces() {
  ++at_;
  if (nesting_ >= max_nesting) {
    at_ = text_.size();
    return;
  }
  ++nesting_;
  while (more() && peek() != '}') {
    if (in_backticks_ && peek() == '`') break;
    shell_word ignored;
    word_part(ignored);
  }
  if (more() && peek() == '}') ++at_;
  --nesting_;
}

}  // namespace

scanned_shell scan_shell(std::string_view command) {
  return scanner(command).run();
}

}  // namespace troupe::text

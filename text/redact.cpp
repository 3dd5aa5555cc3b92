// Masking of secrets, see redact.hpp. All literals of the table are searched at once: each is known
// by its rarest pair of bytes, and a table over all pairs says at every position which literals may
// stand there. Only where one really does, its regular expression is tried, anchored at it.
#include "troupe/text/redact.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>

#include "troupe/text/redact_assignments.hpp"
#include "troupe/text/redact_patterns.hpp"

namespace troupe::text {
namespace {

constexpr size_t hint_from = 24;  // shortest token that keeps a hint
constexpr std::string_view mask = "***";

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// How often a byte is found in ordinary text, roughly.
int frequency(char c) {
  if (std::string_view("-_.:/").find(c) != std::string_view::npos) return 2;
  if (is_digit(c) || (c >= 'A' && c <= 'Z')) return 2;
  if (std::string_view("jqxzvkw").find(c) != std::string_view::npos) return 1;
  return 5;
}

struct compiled_row {
  redaction_pattern row;
  std::shared_ptr<re2::RE2> regex;
  size_t offset;  // of its rarest pair in the literal
};

/// One possible match: the secret inside the text.
struct finding {
  size_t begin;
  size_t end;     // of the whole match
  size_t secret;  // begin of what is masked
  size_t secret_end;
  mask_style style;
};

class matcher {
 public:
  matcher() {
    for (const redaction_pattern& row : redaction_patterns()) add(row);
    build_table();
  }

  /// The next secret at or after `from`; nothing if there is none.
  std::optional<finding> next(std::string_view text, size_t from, size_t floor) const;

 private:
  void add(const redaction_pattern& row);
  void build_table();
  std::optional<finding> try_row(const compiled_row& row, std::string_view text, size_t at,
                                 size_t floor) const;

  static size_t pair(const char* p) {
    return static_cast<size_t>(static_cast<unsigned char>(p[0])) |
           static_cast<size_t>(static_cast<unsigned char>(p[1])) << 8;
  }
  size_t next_pair(std::string_view text, size_t from) const;

  std::vector<compiled_row> rows_;
  // Per pair of bytes: 0 or 1 + the index of its candidates in `lists_`.
  std::array<uint8_t, 65536> table_{};
  std::vector<std::vector<uint16_t>> lists_;
};

void matcher::add(const redaction_pattern& row) {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  std::shared_ptr<re2::RE2> regex;
  for (const compiled_row& other : rows_) {
    if (other.row.regex == row.regex) regex = other.regex;
  }
  if (!regex) {
    const re2::StringPiece pattern(row.regex.data(), row.regex.size());
    regex = std::make_shared<re2::RE2>(pattern, options);
  }
  size_t best = 0;
  int best_cost = 1000;
  for (size_t at = 0; at + 2 <= row.literal.size(); ++at) {
    const int cost = frequency(row.literal[at]) * frequency(row.literal[at + 1]);
    if (cost < best_cost) {
      best = at;
      best_cost = cost;
    }
  }
  rows_.push_back({row, regex, best});
}

void matcher::build_table() {
  for (size_t i = 0; i < rows_.size(); ++i) {
    uint8_t& entry = table_[pair(rows_[i].row.literal.data() + rows_[i].offset)];
    if (entry == 0) {
      lists_.emplace_back();
      assert(lists_.size() < 256);
      entry = static_cast<uint8_t>(lists_.size());
    }
    lists_[entry - 1u].push_back(static_cast<uint16_t>(i));
  }
}

/// The next position of a pair that some literal has; the size of the text if there is none.
size_t matcher::next_pair(std::string_view text, size_t from) const {
  const char* p = text.data();
  const size_t size = text.size();
  for (; from + 9 <= size; from += 8) {
    const char* q = p + from;
    const int any = table_[pair(q)] | table_[pair(q + 1)] | table_[pair(q + 2)] |
                    table_[pair(q + 3)] | table_[pair(q + 4)] | table_[pair(q + 5)] |
                    table_[pair(q + 6)] | table_[pair(q + 7)];
    if (any != 0) break;
  }
  for (; from + 2 <= size; ++from) {
    if (table_[pair(p + from)] != 0) return from;
  }
  return size;
}

std::optional<finding> matcher::next(std::string_view text, size_t from, size_t floor) const {
  for (;; ++from) {
    from = next_pair(text, from);
    if (from == text.size()) return std::nullopt;
    for (const uint16_t i : lists_[table_[pair(text.data() + from)] - 1u]) {
      const compiled_row& row = rows_[i];
      if (from < floor + row.offset) continue;
      const size_t at = from - row.offset;
      if (text.compare(at, row.row.literal.size(), row.row.literal) != 0) continue;
      if (auto found = try_row(row, text, at, floor)) return found;
    }
  }
}

/// True if a token at `at` would only be the end of a longer word. A letter that belongs to an escape
/// such as `\n` in a quoted string does not count.
bool continues_word(std::string_view text, size_t at, size_t floor) {
  if (at <= floor || !is_word(text[at - 1])) return false;
  const char before = text[at - 1];
  const bool escape = before == 'n' || before == 't' || before == 'r';
  return !(escape && at >= floor + 2 && text[at - 2] == '\\');
}

std::optional<finding> matcher::try_row(const compiled_row& row, std::string_view text, size_t at,
                                        size_t floor) const {
  size_t begin = at;
  if (row.row.digits_before > 0) {
    while (begin > floor && is_digit(text[begin - 1])) --begin;
    if (at - begin < static_cast<size_t>(row.row.digits_before)) return std::nullopt;
  }
  if (row.row.at_word && continues_word(text, begin, floor)) return std::nullopt;
  const std::string_view slice = text.substr(at, row.row.limit);
  const re2::StringPiece input(slice.data(), slice.size());
  re2::StringPiece groups[2];
  const bool grouped = row.row.style == mask_style::captured;
  if (!row.regex->Match(input, 0, input.size(), re2::RE2::ANCHOR_START, groups, grouped ? 2 : 1)) {
    return std::nullopt;
  }
  const size_t end = at + groups[0].size();
  if (!grouped) return finding{begin, end, begin, end, row.row.style};
  const size_t secret = static_cast<size_t>(groups[1].data() - text.data());
  return finding{begin, end, secret, secret + groups[1].size(), row.row.style};
}

/// A placeholder of a template, `{password}`, `${PASSWORD}` or `$PASSWORD`, is not a secret.
bool is_placeholder(std::string_view secret) {
  if (!secret.empty() && secret[0] == '$') {
    secret.remove_prefix(1);
    auto in_name = [](char c) { return c == '_' || (c >= 'A' && c <= 'Z'); };
    if (!secret.empty() && std::all_of(secret.begin(), secret.end(), in_name)) return true;
  }
  if (secret.size() < 2 || secret.front() != '{' || secret.back() != '}') return false;
  return secret.find_first_of("{}", 1) == secret.size() - 1;
}

bool keeps_hint(std::string_view secret, mask_style style) {
  return style == mask_style::token && secret.size() >= hint_from;
}

bool stays(std::string_view secret, mask_style style) {
  return style == mask_style::captured && is_placeholder(secret);
}

void append_masked(std::string& out, std::string_view secret, mask_style style) {
  if (keeps_hint(secret, style)) {
    out.append(secret.substr(0, 6)).append("...").append(secret.substr(secret.size() - 4));
  } else if (stays(secret, style)) {
    out.append(secret);
  } else {
    out.append(mask);
  }
}

void append_stars(std::string& out, std::string_view secret, mask_style style) {
  if (keeps_hint(secret, style)) {
    out.append(secret.substr(0, 6)).append(secret.size() - 10, '*');
    out.append(secret.substr(secret.size() - 4));
  } else if (stays(secret, style)) {
    out.append(secret);
  } else {
    out.append(secret.size(), '*');
  }
}

const matcher& the_matcher() {
  static const matcher instance;
  return instance;
}

}  // namespace

namespace {

template <class Append>
std::string replace_secrets(std::string_view text, Append append) {
  const matcher& m = the_matcher();
  std::string out;
  size_t done = 0;
  while (const std::optional<finding> hit = m.next(text, done, done)) {
    if (out.empty()) out.reserve(text.size());
    out.append(text.substr(done, hit->secret - done));
    append(out, text.substr(hit->secret, hit->secret_end - hit->secret), hit->style);
    done = hit->secret_end;
  }
  return out.append(text.substr(done));
}

}  // namespace

std::string redact(std::string_view text) {
  return replace_secrets(text, append_masked);
}

std::string redact_same_length(std::string_view text, bool assignments) {
  auto masked = replace_secrets(text, append_stars);
  return assignments ? star_assignments(std::move(masked)) : masked;
}

std::string redactor::redact(std::string_view text) const {
  return enabled_ ? text::redact(text) : std::string(text);
}

std::string redactor::redact_output(std::string_view command, std::string_view text) const {
  if (!enabled_) return std::string(text);
  return prints_environment(command) ? redact_assignments(text) : text::redact(text);
}

std::vector<std::string_view> redaction_kinds() {
  std::vector<std::string_view> kinds;
  for (const redaction_pattern& row : redaction_patterns()) {
    if (std::find(kinds.begin(), kinds.end(), row.kind) == kinds.end()) kinds.push_back(row.kind);
  }
  return kinds;
}

}  // namespace troupe::text

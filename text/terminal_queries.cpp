// Answers to terminal status queries, see terminal_queries.hpp.
#include "troupe/text/terminal_queries.hpp"

#include <algorithm>
#include <array>

namespace troupe::text {
namespace {

constexpr char esc = '\x1b';
constexpr size_t max_mode_digits = 10;

enum class match { none, prefix, whole };

constexpr std::array<std::string_view, 5> fixed = {"\x1b[5n", "\x1b[6n", "\x1b[18t", "\x1b[c",
                                                   "\x1b[0c"};
constexpr std::array<std::string_view, 4> colour = {"\x1b]10;?\x07", "\x1b]11;?\x07",
                                                    "\x1b]10;?\x1b\\", "\x1b]11;?\x1b\\"};

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

/// `ESC [ ? digits $ p`
match mode_request(std::string_view bytes) {
  constexpr std::string_view start = "\x1b[?";
  if (bytes.size() <= start.size()) return begins(start, bytes) ? match::prefix : match::none;
  if (!begins(bytes, start)) return match::none;
  bytes.remove_prefix(start.size());
  const size_t digits = std::min(bytes.find_first_not_of("0123456789"), bytes.size());
  if (digits == 0 || digits > max_mode_digits) return match::none;
  bytes.remove_prefix(digits);
  if (bytes == "$p") return match::whole;
  return bytes.empty() || bytes == "$" ? match::prefix : match::none;
}

match recognise(std::string_view bytes) {
  match best = mode_request(bytes);
  auto consider = [&](std::string_view query) {
    if (query == bytes) best = match::whole;
    if (best == match::none && begins(query, bytes)) best = match::prefix;
  };
  for (const std::string_view query : fixed) consider(query);
  for (const std::string_view query : colour) consider(query);
  return best;
}

std::string answer(std::string_view query, int rows, int cols) {
  if (query == "\x1b[5n") return "\x1b[0n";
  if (query == "\x1b[6n") return "\x1b[1;1R";
  if (query == "\x1b[18t") {
    return "\x1b[8;" + std::to_string(rows) + ";" + std::to_string(cols) + "t";
  }
  if (query.back() == 'c') return "\x1b[?62;22c";
  if (query.back() == 'p') return std::string(query.substr(0, query.size() - 2)) + ";0$y";
  const std::string_view end = query.substr(query.find('?') + 1);
  const bool foreground = begins(query, "\x1b]10");
  std::string text = foreground ? "\x1b]10;rgb:ffff/ffff/ffff" : "\x1b]11;rgb:0000/0000/0000";
  return text.append(end);
}

}  // namespace

void query_responder::resize(int rows, int cols) {
  rows_ = rows;
  cols_ = cols;
}

void query_responder::feed(std::string_view in, std::string& out, std::string& answers) {
  while (!in.empty()) {
    if (held_.empty()) {
      const size_t escape = in.find(esc);
      out.append(in.substr(0, escape));
      if (escape == std::string_view::npos) return;
      held_.push_back(esc);
      in.remove_prefix(escape + 1);
      continue;
    }
    held_.push_back(in[0]);
    const match found = recognise(held_);
    if (found == match::none) {
      // The new byte does not belong to it. An ESC before it may have looked like the beginning of a
      // string terminator: it then begins a sequence of its own, so it is looked at again, too.
      held_.pop_back();
      const bool ends_in_escape = held_.size() > 1 && held_.back() == esc;
      if (ends_in_escape) held_.pop_back();
      out.append(held_);
      held_.clear();
      if (ends_in_escape) held_.push_back(esc);
      continue;
    }
    in.remove_prefix(1);
    if (found == match::whole) {
      answers.append(answer(held_, rows_, cols_));
      held_.clear();
    }
  }
}

void query_responder::finish(std::string& out) {
  out.append(held_);
  held_.clear();
}

}  // namespace troupe::text

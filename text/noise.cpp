// Removal of shell noise, see noise.hpp.
#include "troupe/text/noise.hpp"

#include <algorithm>
#include <array>

namespace troupe::text {
namespace {

constexpr std::array<std::string_view, 11> shells = {
    "ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "rbash", "sh", "yash", "zsh"};
constexpr std::string_view tcsetattr = "tcsetattr: Inappropriate ioctl for device";
constexpr std::array<std::string_view, 3> messages = {
    "no job control in this shell", "cannot set terminal process group", tcsetattr};
constexpr std::array<std::string_view, 5> places = {"", "-", "/bin/", "/usr/bin/",
                                                    "/usr/local/bin/"};

enum class likeness { noise, prefix, other };

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Compares the beginning of `rest` with `text`, as far as both go.
likeness compare(std::string_view rest, std::string_view text) {
  const size_t n = std::min(rest.size(), text.size());
  if (rest.substr(0, n) != text.substr(0, n)) return likeness::other;
  return rest.size() >= text.size() ? likeness::noise : likeness::prefix;
}

/// Removes an optional part from the front of `rest`: `pattern`, where `#` stands for digits.
/// Says `prefix` if `rest` ended inside of it, and leaves `rest` alone if it is something else.
likeness skip_optional(std::string_view& rest, std::string_view pattern) {
  size_t at = 0;
  for (const char c : pattern) {
    if (c == '#') {
      const size_t first = at;
      while (at < rest.size() && is_digit(rest[at])) ++at;
      if (at == rest.size()) return likeness::prefix;
      if (at == first) return likeness::other;
    } else {
      if (at == rest.size()) return likeness::prefix;
      if (rest[at] != c) return likeness::other;
      ++at;
    }
  }
  rest.remove_prefix(at);
  return likeness::noise;
}

likeness message(std::string_view rest) {
  for (const std::string_view part : {"line #: ", "[#: # (#)] "}) {
    const bool may_be = !rest.empty() && rest[0] == part[0];
    if (may_be && skip_optional(rest, part) == likeness::prefix) return likeness::prefix;
  }
  likeness best = likeness::other;
  for (const std::string_view text : messages) {
    const likeness found = compare(rest, text);
    if (found == likeness::noise) return found;
    if (found == likeness::prefix) best = found;
  }
  return best;
}

/// Compares the name before the colon, or what there is of it, with all names a shell may have.
likeness shell_name(std::string_view name, bool complete) {
  for (const std::string_view place : places) {
    const likeness there = compare(name, place);
    if (there == likeness::prefix && !complete) return likeness::prefix;
    if (there != likeness::noise) continue;
    const std::string_view base = name.substr(place.size());
    for (const std::string_view shell : shells) {
      if (base == shell) return likeness::noise;
      if (!complete && compare(base, shell) == likeness::prefix) return likeness::prefix;
    }
  }
  return likeness::other;
}

/// What a line, or the beginning of one (without line feed), is.
likeness judge(std::string_view line) {
  const likeness bare = compare(line, tcsetattr);
  if (bare != likeness::other) return bare;
  const size_t colon = line.find(':');
  const bool named = colon != std::string_view::npos;
  const likeness name = shell_name(line.substr(0, colon), named);
  if (!named) return name == likeness::other ? name : likeness::prefix;
  if (name != likeness::noise) return likeness::other;
  std::string_view rest = line.substr(colon + 1);
  if (rest.empty()) return likeness::prefix;
  if (rest[0] != ' ') return likeness::other;
  rest.remove_prefix(1);
  return message(rest);
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

}  // namespace

void noise_filter::feed(std::string_view in, std::string& out) {
  while (!in.empty()) {
    if (state_ == state::passing) {
      out.append(in);
      return;
    }
    const char c = in[0];
    if (state_ == state::dropping) {
      const size_t end = in.find('\n');
      if (end == std::string_view::npos) return;
      in.remove_prefix(end + 1);
      state_ = state::line_start;
      continue;
    }
    const bool fresh = state_ == state::blank || held_.empty();
    if (fresh && (c == '\n' || is_blank(c))) {
      out.push_back(c);
      in.remove_prefix(1);
      state_ = c == '\n' ? state::line_start : state::blank;
      continue;
    }
    likeness now = likeness::other;
    if (state_ == state::line_start && c != '\n') {
      held_.push_back(c);
      in.remove_prefix(1);
      now = judge(held_);
    }
    if (now == likeness::prefix) continue;
    if (now == likeness::noise) {
      state_ = state::dropping;
    } else {
      out.append(held_);
      state_ = state::passing;
    }
    held_.clear();
  }
}

void noise_filter::finish(std::string& out) {
  out.append(held_);
  held_.clear();
  state_ = state::line_start;
}

size_t noise_prefix(std::string_view start_of_output) {
  size_t noise = 0;
  size_t at = 0;
  while (at < start_of_output.size()) {
    const size_t end = start_of_output.find('\n', at);
    const size_t next = end == std::string_view::npos ? start_of_output.size() : end + 1;
    const std::string_view line = start_of_output.substr(at, std::min(next - at, size_t{4096}));
    if (!std::all_of(line.begin(), line.end(), [](char c) { return is_blank(c) || c == '\n'; })) {
      if (judge(line.substr(0, line.find('\n'))) != likeness::noise) break;
      noise = next;
    }
    at = next;
  }
  return noise;
}

}  // namespace troupe::text

// Removal of terminal control sequences, see ansi.hpp. Text runs are found with memchr; everything
// else is one small state machine that looks at a byte at a time.
#include "troupe/text/ansi.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::text {
namespace {

constexpr unsigned char bel = 0x07;
constexpr unsigned char can = 0x18;
constexpr unsigned char sub = 0x1a;
constexpr unsigned char esc = 0x1b;
constexpr unsigned char del = 0x7f;
constexpr unsigned char c1_lead = 0xc2;  // first UTF-8 byte of U+0080..U+00BF
constexpr unsigned char c1_csi = 0x9b;
constexpr unsigned char c1_st = 0x9c;
constexpr unsigned char c1_osc = 0x9d;

bool is_c1_tail(unsigned char c) {
  return c >= 0x80 && c <= 0x9f;
}

size_t find(std::string_view in, size_t from, unsigned char c) {
  if (from >= in.size()) return in.size();
  const void* hit = std::memchr(in.data() + from, c, in.size() - from);
  return hit ? static_cast<size_t>(static_cast<const char*>(hit) - in.data()) : in.size();
}

/// The end of a plain CSI sequence at `escape`, by far the most common one; 0 if it is another one or
/// not whole, which is left to the state machine.
size_t whole_csi(std::string_view in, size_t escape) {
  size_t at = escape + 1;
  if (at == in.size() || in[at] != '[') return 0;
  for (++at; at < in.size(); ++at) {
    const auto c = static_cast<unsigned char>(in[at]);
    if (c >= 0x40 && c < del) return at + 1;
    if (c < 0x20 || c >= 0x40) return 0;
  }
  return 0;
}

}  // namespace

void ansi_stripper::feed(std::string_view in, std::string& out) {
  size_t at = 0;
  while (at < in.size()) {
    if (state_ == state::ground) {
      at = ground(in, at, out);
    } else if (state_ == state::osc || state_ == state::string) {
      at = string_run(in, at, out);
    } else if (step(static_cast<unsigned char>(in[at]), out)) {
      ++at;
    }
  }
}

/// Copies text up to the next control; returns the position behind the byte that changed the state.
size_t ansi_stripper::ground(std::string_view in, size_t at, std::string& out) {
  const size_t escape = find(in, at, esc);
  const std::string_view text = in.substr(0, escape);
  while (at < escape) {
    size_t lead = at;
    for (;; ++lead) {
      lead = find(text, lead, c1_lead);
      if (lead + 1 >= escape || is_c1_tail(static_cast<unsigned char>(text[lead + 1]))) break;
    }
    out.append(text.substr(at, lead - at));
    if (lead == escape) break;
    if (lead + 1 == escape) {
      if (escape == in.size()) {
        state_ = state::ground_c2;
        return escape;
      }
      out.push_back(text[lead]);
      break;
    }
    const auto c = static_cast<unsigned char>(text[lead + 1]);
    at = lead + 2;
    if (c == c1_csi || c == c1_osc) {
      state_ = c == c1_csi ? state::csi : state::osc;
      return at;
    }
  }
  if (escape == in.size()) return escape;
  if (const size_t end = whole_csi(in, escape); end > 0) return end;
  state_ = state::escape;
  return escape + 1;
}

/// One byte outside of text. Returns false if the byte must be looked at again in the new state.
bool ansi_stripper::step(unsigned char c, std::string& out) {
  switch (state_) {
    case state::ground_c2:
      state_ = state::ground;
      if (!is_c1_tail(c)) {
        out.push_back(static_cast<char>(c1_lead));
        return false;
      }
      if (c == c1_csi) state_ = state::csi;
      if (c == c1_osc) state_ = state::osc;
      return true;
    case state::osc:
    case state::string:
      return in_string(c, out);
    case state::osc_c2:
    case state::string_c2:
      return after_string_c2(c, out);
    case state::string_esc:
      if (c == '\\') {
        end_string();
        return true;
      }
      abort_string(out);
      state_ = state::escape;
      return false;
    default:
      break;
  }
  if (c == esc) {
    state_ = state::escape;
  } else if (c == can || c == sub) {
    state_ = state::ground;
  } else if (c >= 0x80) {
    state_ = state::ground;
    return false;
  } else if (c < 0x20) {
    out.push_back(static_cast<char>(c));
  } else if (c == del) {
    // Ignored inside a sequence.
  } else if (state_ == state::csi) {
    if (c >= 0x40) state_ = state::ground;
  } else if (state_ == state::escape) {
    after_escape(c);
  } else if (c >= 0x30) {
    state_ = state::ground;
  }
  return true;
}

void ansi_stripper::after_escape(unsigned char c) {
  switch (c) {
    case '[':
      state_ = state::csi;
      break;
    case ']':
      state_ = state::osc;
      break;
    case 'P':
    case 'X':
    case '^':
    case '_':
      state_ = state::string;
      break;
    default:
      state_ = c < 0x30 ? state::escape_inter : state::ground;
  }
}

/// The bulk of a string: holds everything up to the next byte that means something in it.
size_t ansi_stripper::string_run(std::string_view in, size_t at, std::string& out) {
  const size_t limit = std::min(in.size(), at + (max_string - held_.size()));
  size_t end = at;
  auto is_plain = [](char ch) {
    const auto c = static_cast<unsigned char>(ch);
    return c >= 0x20 ? c != c1_lead : c != esc && c != can && c != sub && c != bel;
  };
  while (end < limit && is_plain(in[end])) ++end;
  held_.append(in.substr(at, end - at));
  if (end == in.size()) return end;
  return end + (step(static_cast<unsigned char>(in[end]), out) ? 1 : 0);
}

/// A byte in a string that may mean something there. A string without line feed is dropped however
/// it ends, so its ESC begins an escape in any case; `ESC \` then is the two-byte one.
bool ansi_stripper::in_string(unsigned char c, std::string& out) {
  if (c == esc) {
    const bool lines = held_.find('\n') != std::string::npos;
    state_ = lines ? state::string_esc : state::escape;
    if (!lines) held_.clear();
  } else if (c == can || c == sub) {
    abort_string(out);
  } else if (c == bel && state_ == state::osc) {
    end_string();
  } else if (c == c1_lead) {
    state_ = state_ == state::osc ? state::osc_c2 : state::string_c2;
  } else if (held_.size() < max_string) {
    held_.push_back(static_cast<char>(c));
  } else {
    reveal_string(out);
    return false;
  }
  return true;
}

bool ansi_stripper::after_string_c2(unsigned char c, std::string& out) {
  if (c == c1_st) {
    end_string();
    return true;
  }
  if (is_c1_tail(c)) {
    abort_string(out);
    state_ = state::ground_c2;
    return false;
  }
  held_.push_back(static_cast<char>(c1_lead));
  if (held_.size() > max_string) {
    reveal_string(out);
  } else {
    state_ = state_ == state::osc_c2 ? state::osc : state::string;
  }
  return false;
}

void ansi_stripper::end_string() {
  held_.clear();
  state_ = state::ground;
}

void ansi_stripper::abort_string(std::string& out) {
  held_.erase(0, std::min(held_.find('\n'), held_.size()));
  reveal_string(out);
}

/// The held text holds neither ESC nor a C1 control, both end a string, so it needs no second look.
void ansi_stripper::reveal_string(std::string& out) {
  out.append(held_);
  end_string();
}

void ansi_stripper::finish(std::string& out) {
  const bool open_c2 = state_ == state::osc_c2 || state_ == state::string_c2;
  out.append(held_);
  if (open_c2 || state_ == state::ground_c2) out.push_back(static_cast<char>(c1_lead));
  held_.clear();
  state_ = state::ground;
}

std::string strip_ansi(std::string_view in) {
  std::string out;
  out.reserve(in.size());
  ansi_stripper stripper;
  stripper.feed(in, out);
  stripper.finish(out);
  return out;
}

}  // namespace troupe::text

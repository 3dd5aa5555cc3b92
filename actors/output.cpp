#include "troupe/actors/output.hpp"

#include <algorithm>

#include <re2/re2.h>

#include "troupe/messages/errors.hpp"
#include "troupe/text/ansi.hpp"
#include "troupe/text/lines.hpp"
#include "troupe/text/noise.hpp"
#include "troupe/text/redact.hpp"
#include "troupe/text/screen.hpp"
#include "troupe/text/utf8.hpp"
#include "troupe/text/view.hpp"

namespace troupe {

namespace {

/// Bytes before a tail that are looked at as well, so that a control sequence or a secret that
/// began before the tail is seen whole.
constexpr std::uint64_t context_bytes = 4096;

/// Longest unfinished control sequence at the end of a read that is left for the next one.
constexpr std::size_t held_sequence_bytes = 4096;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// Length of the prefix of `bytes` that ends neither inside a character nor inside a control
/// sequence, unless the sequence is too long to wait for.
std::size_t complete_prefix(std::string_view bytes) {
  std::size_t length = bytes.size() - text::incomplete_tail(bytes);
  const std::size_t lowest = length > held_sequence_bytes ? length - held_sequence_bytes : 0;
  std::string scratch;
  // The last sequence may have an escape of its own inside (ST is one), so a few are tried.
  std::size_t end = length;
  for (int tries = 0; tries < 8; ++tries) {
    const auto escape = bytes.substr(0, end).rfind('\x1b');
    if (escape == std::string_view::npos || escape < lowest) break;
    text::ansi_stripper stripper;
    scratch.clear();
    stripper.feed(bytes.substr(escape, length - escape), scratch);
    if (!stripper.inside_sequence()) break;
    end = escape;
  }
  return end == length ? length : end;
}

}  // namespace

std::string redacted(std::string text, redaction how) {
  switch (how) {
    case redaction::off:
      return text;
    case redaction::tokens:
      return text::redact(text);
    case redaction::assignments:
      return text::redact_assignments(text);
  }
  return text;
}

std::uint64_t process_output::begin() const {
  if (lease_) return lease_->get().begin();
  return kept_from_;
}

std::uint64_t process_output::end() const {
  if (lease_) return lease_->get().end();
  return kept_from_ + kept_.size();
}

void process_output::go_on_at(std::uint64_t position) {
  seen_ = std::clamp(position, begin(), end());
}

void process_output::restore(std::string bytes, std::uint64_t from) {
  lease_.reset();
  kept_ = std::move(bytes);
  kept_from_ = from;
  seen_ = end();
}

void process_output::lose_until(std::uint64_t total) {
  if (lease_ || total <= end()) return;
  restore({}, total);
}

void process_output::note(ring_note what, std::uint64_t value) const {
  if (!lease_) return;
  lease_->get().header().notes[static_cast<std::size_t>(what)].store(value,
                                                                     std::memory_order_relaxed);
}

process_output::range process_output::take_new() {
  if (!lease_) return {seen_, seen_};
  const auto& ring = lease_->get();
  ring.take_wake();
  const range fresh{seen_, ring.end()};
  seen_ = fresh.to;
  return fresh;
}

bool process_output::trim(std::uint64_t hold) {
  if (!lease_) return false;
  const auto& ring = lease_->get();
  if (seen_ <= retained_) return false;
  auto low = std::min(seen_ - retained_, hold);
  if (low <= ring.begin()) return false;
  // What is kept begins with a whole character.
  for (const auto piece : ring.slices(low, std::min(low + 3, seen_))) {
    for (const char c : piece) {
      if (!is_continuation(c)) return ring.release(low);
      ++low;
    }
  }
  return ring.release(low);
}

void process_output::settle(std::uint64_t hold) {
  if (!lease_) return;
  take_new();
  trim(hold);
  const auto& ring = lease_->get();
  kept_from_ = ring.begin();
  kept_ = ring.copy(ring.begin(), ring.end());
  lease_.reset();
}

void process_output::forget_before(std::uint64_t position) {
  if (lease_ || position <= kept_from_) return;
  auto cut = static_cast<std::size_t>(std::min(position, end()) - kept_from_);
  while (cut < kept_.size() && is_continuation(kept_[cut])) ++cut;
  kept_.erase(0, cut);
  kept_.shrink_to_fit();
  kept_from_ += cut;
}

std::array<std::string_view, 2> process_output::slices(std::uint64_t from, std::uint64_t to) const {
  if (lease_) return lease_->get().slices(from, to);
  from = std::clamp(from, begin(), end());
  to = std::clamp(to, from, end());
  return {std::string_view{kept_}.substr(static_cast<std::size_t>(from - kept_from_),
                                         static_cast<std::size_t>(to - from)),
          std::string_view{}};
}

std::string process_output::bytes(std::uint64_t from, std::uint64_t to) const {
  std::string result;
  const auto pieces = slices(from, to);
  result.reserve(pieces[0].size() + pieces[1].size());
  result += pieces[0];
  result += pieces[1];
  return result;
}

std::uint64_t process_output::skip_noise() const {
  if (!pipe_mode_ || begin() > 0) return begin();
  return text::noise_prefix(bytes(0, std::min<std::uint64_t>(end(), context_bytes)));
}

std::uint64_t process_output::char_start(std::uint64_t position) const {
  const auto low = std::max(begin(), position > 3 ? position - 3 : 0);
  const auto high = std::min(end(), position + 1);
  if (position <= low || position >= high) return position;
  const auto window = bytes(low, high);
  auto at = static_cast<std::size_t>(position - low);
  while (at > 0 && is_continuation(window[at])) --at;
  // Not a character after all: leave the cursor where it is.
  if (is_continuation(window[at])) return position;
  return low + at;
}

std::string process_output::text_of(std::uint64_t from, std::uint64_t to, bool final) const {
  const auto pieces = slices(from, to);
  if (pieces[1].empty()) return text::text_view(pieces[0], final);
  return text::text_view(bytes(from, to), final);
}

std::string process_output::whole(bool final) const {
  return redacted(text_of(skip_noise(), end(), final), redaction_);
}

text::tail_cut process_output::tail(std::size_t chars, bool final) const {
  return text::tail(whole(final), chars);
}

std::string process_output::preview(std::size_t chars, bool final) const {
  const auto low = skip_noise();
  const auto high = end();
  // Enough for text without escapes; more where escapes took the room.
  for (std::uint64_t window = 4 * chars + context_bytes;; window *= 4) {
    const bool everything = high - low <= window;
    const auto from = everything ? low : char_start(high - window);
    auto text = text_of(from, high, final);
    if (!everything && text::count_chars(text) < chars + 256) continue;
    return std::string{text::last_chars(redacted(std::move(text), redaction_), chars)};
  }
}

output_chunk process_output::read(std::uint64_t cursor, output_view view, std::size_t max_bytes,
                                  bool final) const {
  output_chunk chunk;
  chunk.total_bytes = end();
  chunk.dropped_bytes = begin();
  cursor = std::min(cursor, end());
  if (cursor < begin()) {
    chunk.gap = begin() - cursor;
    cursor = begin();
  }
  if (view == output_view::raw) {
    chunk.data = bytes(cursor, std::min<std::uint64_t>(end(), cursor + max_bytes));
    chunk.cursor = cursor + chunk.data.size();
  } else {
    cursor = char_start(std::max(cursor, cursor == begin() ? skip_noise() : cursor));
    const auto stop = std::min<std::uint64_t>(end(), cursor + max_bytes);
    const auto raw = bytes(cursor, stop);
    const bool last = final && stop == end();
    const auto length = last ? raw.size() : complete_prefix(raw);
    chunk.data =
        redacted(text::text_view(std::string_view{raw}.substr(0, length), true), redaction_);
    chunk.cursor = cursor + length;
  }
  chunk.finished = final && chunk.cursor == end();
  return chunk;
}

output_chunk process_output::chunk_of(std::string raw, std::uint64_t cursor,
                                      output_view view) const {
  output_chunk chunk;
  chunk.total_bytes = end();
  chunk.dropped_bytes = begin();
  if (view == output_view::raw) {
    chunk.cursor = cursor + raw.size();
    chunk.data = std::move(raw);
    return chunk;
  }
  auto length = complete_prefix(raw);
  if (length == 0) length = raw.size();
  chunk.data = redacted(text::text_view(std::string_view{raw}.substr(0, length), true), redaction_);
  chunk.cursor = cursor + length;
  return chunk;
}

std::string process_output::screen(int rows, int cols) const {
  text::screen screen{rows, cols};
  for (const auto piece : slices(begin(), end())) screen.feed(piece);
  return redacted(screen.render(), redaction_);
}

caf::expected<log_result> process_output::screen_log(int rows, int cols) const {
  log_result result;
  result.output = screen(rows, cols);
  result.total_lines = text::split_lines(result.output).size();
  result.shown_lines = result.total_lines;
  result.reached_end = true;
  result.dropped_bytes = begin();
  return result;
}

caf::expected<log_result> process_output::log(const log_options& options, std::size_t max_bytes,
                                              bool final) const {
  log_result result;
  result.dropped_bytes = begin();
  const auto text = options.view == output_view::raw ? bytes(begin(), end()) : whole(final);
  const auto lines = text::split_lines(text);
  result.total_lines = lines.size();
  if (!options.search.empty()) {
    re2::RE2::Options quiet;
    quiet.set_log_errors(false);
    const re2::RE2 pattern{options.search, quiet};
    if (!pattern.ok()) {
      return make_error(errc::bad_argument, "search: not a regular expression: " + pattern.error());
    }
    std::size_t size = 0;
    const auto first = options.offset.value_or(0);
    for (std::size_t i = static_cast<std::size_t>(std::min<std::uint64_t>(first, lines.size()));
         i < lines.size(); ++i) {
      if (!re2::RE2::PartialMatch(re2::StringPiece{lines[i].data(), lines[i].size()}, pattern)) {
        continue;
      }
      if (result.matches.size() >= options.limit || size + lines[i].size() > max_bytes) {
        result.cut = true;
        break;
      }
      size += lines[i].size();
      result.matches.push_back({i, std::string{lines[i]}});
    }
    result.shown_lines = result.matches.size();
    return result;
  }
  const std::uint64_t limit = options.limit;
  std::uint64_t first = 0;
  if (options.offset) {
    first = std::min<std::uint64_t>(*options.offset, lines.size());
  } else {
    first = lines.size() > limit ? lines.size() - limit : 0;
  }
  auto last = std::min<std::uint64_t>(lines.size(), first + std::min(limit, lines.size() - first));
  // The byte cap keeps the end of a tail and the beginning of everything else.
  std::size_t size = 0;
  if (options.offset) {
    std::uint64_t at = first;
    for (; at < last; ++at) {
      size += lines[static_cast<std::size_t>(at)].size() + 1;
      if (size > max_bytes && at > first) break;
    }
    result.cut = at < last;
    last = at;
  } else {
    std::uint64_t at = last;
    for (; at > first; --at) {
      size += lines[static_cast<std::size_t>(at - 1)].size() + 1;
      if (size > max_bytes && at < last) break;
    }
    result.cut = at > first;
    first = at;
  }
  for (auto at = first; at < last; ++at) {
    if (at > first) result.output += '\n';
    result.output += lines[static_cast<std::size_t>(at)];
  }
  // One line alone may be longer than the cap: then its end counts.
  if (result.output.size() > max_bytes && options.view != output_view::raw) {
    const auto cut = text::boundary_at_or_after(result.output, result.output.size() - max_bytes);
    result.output.erase(0, cut);
    result.cut = true;
  }
  result.first_line = first;
  result.shown_lines = last - first;
  result.reached_end = last == lines.size();
  return result;
}

}  // namespace troupe

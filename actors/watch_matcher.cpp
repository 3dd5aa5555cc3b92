#include "troupe/actors/watch_matcher.hpp"

#include <utility>

#include <re2/re2.h>

#include "troupe/config/defaults.hpp"
#include "troupe/messages/errors.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe {

namespace {

constexpr std::size_t overlap_bytes = 1'024;

}  // namespace

watch_patterns::watch_patterns() = default;
watch_patterns::~watch_patterns() = default;

caf::expected<std::shared_ptr<const watch_patterns>> watch_patterns::make(
    const std::vector<std::string>& patterns, bool plain) {
  if (patterns.size() > defaults::watch_patterns_max) {
    return make_error(
        errc::bad_argument,
        "watch_patterns: more than " + std::to_string(defaults::watch_patterns_max) + " patterns");
  }
  re2::RE2::Options how;
  how.set_log_errors(false);
  how.set_literal(plain);
  std::shared_ptr<watch_patterns> result{new watch_patterns};
  for (const auto& text : patterns) {
    if (text.empty()) {
      return make_error(errc::bad_argument,
                        "watch_patterns: an empty pattern would match every line");
    }
    auto pattern = std::make_unique<re2::RE2>(text, how);
    if (!pattern->ok()) {
      return make_error(errc::bad_argument, "watch_patterns: not a regular expression: " +
                                                pattern->error() + " in '" + text + "'");
    }
    result->texts_.push_back(text);
    result->patterns_.push_back(std::move(pattern));
  }
  return std::shared_ptr<const watch_patterns>{std::move(result)};
}

const std::string* watch_patterns::match(std::string_view line) const {
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (re2::RE2::PartialMatch(re2::StringPiece{line.data(), line.size()}, *patterns_[i])) {
      return &texts_[i];
    }
  }
  return nullptr;
}

watch_matcher::watch_matcher(std::shared_ptr<const watch_patterns> patterns)
    : patterns_(std::move(patterns)), lines_(defaults::watch_window) {}

void watch_matcher::feed(std::string_view bytes) {
  lines_.feed(view_.next(bytes), [this](const text::line_view& line) { on_line(line); });
}

void watch_matcher::finish() {
  scratch_.clear();
  view_.finish(scratch_);
  lines_.feed(scratch_, [this](const text::line_view& line) { on_line(line); });
  lines_.finish([this](const text::line_view& line) { on_line(line); });
}

void watch_matcher::on_line(const text::line_view& line) {
  if (!line.continuation) line_matched_ = false;
  if (line_matched_) return;
  // What began at the end of the last piece of a long line is seen together with its rest.
  const std::string* pattern = nullptr;
  if (line.continuation) {
    overlap_ += line.text;
    pattern = patterns_->match(overlap_);
  } else {
    pattern = patterns_->match(line.text);
  }
  overlap_.clear();
  if (pattern == nullptr) {
    if (!line.complete) {
      const auto from = line.text.size() > overlap_bytes ? line.text.size() - overlap_bytes : 0;
      overlap_ = line.text.substr(text::boundary_at_or_after(line.text, from));
    }
    return;
  }
  line_matched_ = true;
  if (batch_.matched++ == 0) batch_.pattern = *pattern;
  if (batch_.shown >= defaults::watch_lines) return;
  const auto room = defaults::watch_chars - chars_;
  const auto shown = text::first_chars(line.text, room);
  // A line that does not fit is held back, unless it is the only one.
  if (shown.size() < line.text.size() && batch_.shown > 0) return;
  if (batch_.shown > 0) {
    if (text::count_chars(shown) + 1 > room) return;
    batch_.lines += '\n';
    ++chars_;
  }
  batch_.lines += shown;
  chars_ += text::count_chars(shown);
  ++batch_.shown;
}

watch_batch watch_matcher::take() {
  chars_ = 0;
  return std::exchange(batch_, {});
}

}  // namespace troupe

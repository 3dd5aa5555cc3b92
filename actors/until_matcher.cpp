#include "troupe/actors/until_matcher.hpp"

#include <re2/re2.h>

#include "troupe/messages/errors.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe {

until_matcher::until_matcher() = default;
until_matcher::~until_matcher() = default;

caf::expected<std::unique_ptr<until_matcher>> until_matcher::make(std::string_view field,
                                                                  const std::string& pattern) {
  re2::RE2::Options quiet;
  quiet.set_log_errors(false);
  std::unique_ptr<until_matcher> matcher{new until_matcher};
  matcher->pattern_ = std::make_unique<re2::RE2>(pattern, quiet);
  if (!matcher->pattern_->ok()) {
    return make_error(errc::bad_argument, std::string{field} + ": not a regular expression: " +
                                              matcher->pattern_->error());
  }
  return matcher;
}

bool until_matcher::matches(std::string_view line) const {
  return re2::RE2::PartialMatch(re2::StringPiece{line.data(), line.size()}, *pattern_);
}

std::optional<std::string> until_matcher::feed(std::string_view bytes) {
  std::string fresh;
  view_.feed(bytes, fresh);
  std::string_view rest = fresh;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    line_ += rest.substr(0, end);
    if (line_.size() > 2 * window) {
      line_.erase(0, text::boundary_at_or_after(line_, line_.size() - window));
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    if (matches(line_)) return std::move(line_);
    line_.clear();
  }
  if (!line_.empty() && matches(line_)) return line_;
  return std::nullopt;
}

}  // namespace troupe

// Watch patterns on the output of one process: finds matching lines as the output comes and collects
// them into bounded batches. Plain classes, used by the process actor, so that no output has to be
// copied into messages.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <caf/expected.hpp>

#include "troupe/messages/events.hpp"
#include "troupe/text/lines.hpp"
#include "troupe/text/view.hpp"

namespace re2 {
class RE2;
}

namespace troupe {

/// Compiled patterns. Immutable, thread-safe.
class watch_patterns {
 public:
  /// The error names the pattern and the reason. `plain`: text instead of regular expressions.
  static caf::expected<std::shared_ptr<const watch_patterns>> make(
      const std::vector<std::string>& patterns, bool plain);
  ~watch_patterns();

  /// The first pattern that the line matches.
  const std::string* match(std::string_view line) const;

 private:
  watch_patterns();

  std::vector<std::string> texts_;
  std::vector<std::unique_ptr<re2::RE2>> patterns_;
};

class watch_matcher {
 public:
  explicit watch_matcher(std::shared_ptr<const watch_patterns> patterns);

  /// The next output. Complete lines are matched; a very long one piece by piece, and counted once.
  void feed(std::string_view bytes);
  /// The end of the output: a last line without line feed counts as one.
  void finish();

  bool has_batch() const noexcept { return batch_.matched > 0; }
  /// What was found since the last call: the first 20 lines of it and how many there were.
  watch_batch take();

 private:
  void on_line(const text::line_view& line);

  std::shared_ptr<const watch_patterns> patterns_;
  text::stream_view view_;
  text::line_splitter lines_;
  std::string scratch_;
  std::string overlap_;
  bool line_matched_ = false;
  watch_batch batch_;
  std::size_t chars_ = 0;
};

}  // namespace troupe

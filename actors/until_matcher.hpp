// Looks for a regular expression in output as it comes, line by line, the unfinished last line
// included (a prompt has no line feed). Bounded: of a very long line only the last window counts.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <caf/expected.hpp>

#include "troupe/text/view.hpp"

namespace re2 {
class RE2;
}

namespace troupe {

class until_matcher {
 public:
  /// Bytes of an unfinished line that are looked at again with the next output.
  static constexpr std::size_t window = 8 * 1024;

  /// The error says why `pattern` is not a regular expression; `field` names it.
  static caf::expected<std::unique_ptr<until_matcher>> make(std::string_view field,
                                                            const std::string& pattern);
  ~until_matcher();

  /// The first line of the output so far that matches, once there is one.
  std::optional<std::string> feed(std::string_view bytes);

 private:
  until_matcher();
  bool matches(std::string_view line) const;

  std::unique_ptr<re2::RE2> pattern_;
  text::stream_view view_;
  std::string line_;
};

}  // namespace troupe

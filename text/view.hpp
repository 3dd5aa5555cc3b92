// From process output to readable text: decoding, then removal of control sequences, in one step.
// Used by poll, log, events and receipts. Decoding comes first, so that a sequence is judged by
// characters, as on a terminal, and no invalid bytes can join to form a control or a character once
// what stood between them is gone. Guarantees: the result is always valid UTF-8 and does not depend
// on how the input was split.
#pragma once

#include <string>
#include <string_view>

#include "troupe/text/ansi.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe::text {

/// Incremental text view of one stream. Not thread-safe.
class stream_view {
 public:
  /// Appends the text of the next bytes to `out`, as far as it is certain.
  void feed(std::string_view bytes, std::string& out);

  /// The text of the next bytes, as far as it is certain, without a copy where they are text as they
  /// come. Refers to `bytes` or to this view, until the next call.
  std::string_view next(std::string_view bytes);

  /// Ends the stream: an unfinished character becomes U+FFFD, an unfinished string loses its
  /// introducer. The view is then ready for a new stream.
  void finish(std::string& out);

 private:
  utf8_decoder decoder_;
  ansi_stripper stripper_;
  std::string decoded_;
  std::string text_;
};

/// The text of a slice of output. `final`: nothing follows the slice, so its loose ends are shown as
/// by `stream_view::finish`; otherwise they are left out.
std::string text_view(std::string_view bytes, bool final);

}  // namespace troupe::text

// Removal of the noise a shell makes when it starts without a terminal. Used for pipe-mode output.
// Guarantees: only whole noise lines at the very start are removed, real output is never delayed
// unless its beginning could still become noise, and the result does not depend on the split.
//
// The rule: a noise line is `NAME: REST` (or `tcsetattr: …`), where NAME is a known shell, perhaps
// with a leading dash or in /bin, /usr/bin or /usr/local/bin, and REST, behind an optional `line N: ` and an optional
// `[pid: n (n)] `, begins with
//   no job control in this shell | cannot set terminal process group |
//   tcsetattr: Inappropriate ioctl for device
// A partial line is held only while it is a prefix of such a line. Blank lines are kept and do not
// end the start of the output; the first line that is neither blank nor noise does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::text {

/// Incremental filter over the output of one process. Not thread-safe.
class noise_filter {
 public:
  /// Filters the next bytes and appends what remains to `out`.
  void feed(std::string_view in, std::string& out);

  /// Ends the stream: a held prefix that did not become noise is appended.
  void finish(std::string& out);

  /// True once the filter passes everything on.
  bool passing() const noexcept { return state_ == state::passing; }

 private:
  enum class state { line_start, blank, dropping, passing };

  state state_ = state::line_start;
  std::string held_;  // beginning of a line that may still become noise
};

/// Number of bytes at the start of an output that are noise: through the line feed of the last noise
/// line, or to the end if the last line is certainly noise but unfinished. For views over a buffer
/// that holds the output from its first byte. Blank lines between noise lines count as noise here.
size_t noise_prefix(std::string_view start_of_output);

}  // namespace troupe::text

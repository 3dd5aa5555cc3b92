// Answers to the status queries that terminal programs wait on. Used on the output of a PTY that has
// no terminal behind it: the queries are removed from the output and answered on its input.
// Guarantees: also queries that are split across reads are found; everything else passes unchanged
// and in order; at most 32 bytes are held.
#pragma once

#include <string>
#include <string_view>

namespace troupe::text {

/// A state machine over the output of one PTY. Recognised:
///
/// | query                      | answer                                              |
/// |----------------------------|-----------------------------------------------------|
/// | `ESC [ 5 n`                | `ESC [ 0 n`                                         |
/// | `ESC [ 6 n`                | `ESC [ 1 ; 1 R`                                     |
/// | `ESC [ 18 t`               | `ESC [ 8 ; rows ; cols t`                           |
/// | `ESC [ ? digits $ p`       | `ESC [ ? digits ; 0 $ y` (1 to 10 digits)           |
/// | `ESC [ c`, `ESC [ 0 c`     | `ESC [ ? 62 ; 22 c`                                 |
/// | `ESC ] 10 ; ?` BEL or ST   | `ESC ] 10 ; rgb:ffff/ffff/ffff` and the same end    |
/// | `ESC ] 11 ; ?` BEL or ST   | `ESC ] 11 ; rgb:0000/0000/0000` and the same end    |
///
/// A fresh ESC ends a pending sequence, which then passes, and begins a new one. Not thread-safe.
class query_responder {
 public:
  /// The size of the terminal, told to programs that ask for it.
  explicit query_responder(int rows = 30, int cols = 120) : rows_(rows), cols_(cols) {}

  void resize(int rows, int cols);

  /// Filters the next bytes of output: appends what is not a query to `out` and the answers, in the
  /// order of their queries, to `answers`.
  void feed(std::string_view in, std::string& out, std::string& answers);

  /// End of output: a held partial sequence is output after all.
  void finish(std::string& out);

  /// True if a partial sequence is held.
  bool holding() const noexcept { return !held_.empty(); }

 private:
  int rows_;
  int cols_;
  std::string held_;
};

}  // namespace troupe::text

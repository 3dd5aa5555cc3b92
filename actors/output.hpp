// The consumer's end of the output of one process: positions, what is kept, and every view of it.
// A plain class without actors or descriptors; used by the process actor only. While the process
// runs the bytes stay in the ring; `settle` takes over what is kept and gives the ring back.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <caf/expected.hpp>

#include "troupe/backends/ring.hpp"
#include "troupe/messages/records.hpp"
#include "troupe/text/truncate.hpp"

namespace troupe {

/// What is masked in text views (behaviour 5).
enum class redaction : std::uint8_t {
  off,
  tokens,       ///< what is recognisable as a secret by its shape
  assignments,  ///< also NAME=value secrets: the command prints an environment or a secret file
};

/// Masks secrets in valid UTF-8 text.
std::string redacted(std::string text, redaction how);

/// What the consumer notes in the ring for the one that comes after it (`ring_header::notes`).
enum class ring_note : std::uint8_t {
  watched,     ///< every line that ends before this position was looked at, and told if it matched
  watch_hits,  ///< matches told
  watch_over,  ///< 1: watching has ended
  heartbeat,   ///< everything before this position was told by heartbeats
  cause,       ///< 1 + `finish_reason` of the first cause of the end
};

class process_output {
 public:
  /// `retained`: bytes kept for views. `pipe_mode`: drop the noise of shells without a terminal from
  /// the beginning of text views.
  process_output(std::size_t retained, bool pipe_mode, redaction how)
      : retained_(retained), pipe_mode_(pipe_mode), redaction_(how) {}

  void attach(std::shared_ptr<backends::arena::lease> lease) { lease_ = std::move(lease); }
  /// The next `take_new` begins here, or at what is still kept (after a restart of the node).
  void go_on_at(std::uint64_t position);
  /// What is left of an output that has ended: `bytes` begin at `from`.
  void restore(std::string bytes, std::uint64_t from);

  /// The output went on to `total`, but what follows what is kept is gone; nothing is kept then.
  void lose_until(std::uint64_t total);

  /// Remembers a number in the ring, where it outlives the node.
  void note(ring_note what, std::uint64_t value) const;

  struct range {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };

  /// Takes the wake-up; the bytes that came since the last call. They can be read until `trim`.
  range take_new();
  /// Gives back what is neither new nor retained, but nothing from `hold` on. True when the producer
  /// must be resumed.
  bool trim(std::uint64_t hold = UINT64_MAX);
  /// After the last byte: moves what is kept out of the ring and gives the ring back.
  void settle(std::uint64_t hold = UINT64_MAX);

  /// After `settle`: keeps nothing before this.
  void forget_before(std::uint64_t position);

  std::uint64_t begin() const;  ///< first byte kept = number of bytes dropped
  std::uint64_t end() const;    ///< number of bytes ever printed
  /// Number of bytes that `take_new` has given out.
  std::uint64_t seen() const { return seen_; }
  redaction how() const { return redaction_; }

  /// Bytes [from, to), clamped to what is kept, as at most two pieces.
  std::array<std::string_view, 2> slices(std::uint64_t from, std::uint64_t to) const;
  std::string bytes(std::uint64_t from, std::uint64_t to) const;

  /// The last `chars` characters as text, with the number of kept characters before them. `final`:
  /// nothing follows any more.
  text::tail_cut tail(std::size_t chars, bool final) const;
  /// Like `tail` without counting what is cut; looks only at as much as it needs.
  std::string preview(std::size_t chars, bool final) const;
  /// Everything kept, as text.
  std::string whole(bool final) const;
  /// What came after `cursor`, at most about `max_bytes` of it, in whole characters and whole
  /// control sequences.
  output_chunk read(std::uint64_t cursor, output_view view, std::size_t max_bytes,
                    bool final) const;
  /// The same for bytes that were kept elsewhere: `raw` begins at `cursor`, and more follows.
  output_chunk chunk_of(std::string raw, std::uint64_t cursor, output_view view) const;
  /// The screen of a terminal of this size after everything kept.
  std::string screen(int rows, int cols) const;
  /// The screen as lines.
  caf::expected<log_result> screen_log(int rows, int cols) const;
  /// Lines of everything kept. The error names the field.
  caf::expected<log_result> log(const log_options& options, std::size_t max_bytes,
                                bool final) const;

 private:
  std::string text_of(std::uint64_t from, std::uint64_t to, bool final) const;
  std::uint64_t skip_noise() const;
  std::uint64_t char_start(std::uint64_t position) const;

  std::size_t retained_;
  bool pipe_mode_;
  redaction redaction_;
  std::shared_ptr<backends::arena::lease> lease_;
  std::uint64_t seen_ = 0;
  std::string kept_;             // after settle
  std::uint64_t kept_from_ = 0;  // after settle
};

}  // namespace troupe

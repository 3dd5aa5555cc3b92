// Removal of terminal control sequences (ECMA-48) from a byte stream. Used by every view that leaves
// as text, before a tail is cut. Guarantees: the result does not depend on how the input was split,
// text without escapes comes out byte-identical, and the state is bounded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::text {

/// Incremental stripper. Input may be any bytes, decoded or not. Removed are:
///  - CSI sequences, `ESC [` or U+009B, with private, colon and intermediate bytes;
///  - OSC strings, `ESC ]` or U+009D, ended by BEL, `ESC \` or U+009C;
///  - DCS, SOS, PM and APC strings (`ESC P X ^ _`), ended by `ESC \` or U+009C;
///  - escapes with intermediate bytes (`ESC ( B`) and of two bytes (`ESC c`);
///  - every other C1 control U+0080..U+009F in its UTF-8 form. A lone byte 0x80..0x9f is not UTF-8
///    and is left alone: the decoder makes it U+FFFD.
///
/// As on a terminal, CAN, SUB, ESC and C1 controls abort a sequence, other C0 controls inside one
/// are kept and the sequence goes on, and a byte that cannot belong to it ends it and is looked at
/// again. Of an aborted string everything up to its first line feed is dropped; the rest was text
/// behind a string that was never ended, and reappears. A string that is still open at `finish`, or
/// longer than `max_string`, loses only its introducer. Any other unfinished sequence is dropped.
///
/// One stream per object; not thread-safe.
class ansi_stripper {
 public:
  /// Longest string (bytes) that is held back while its end is awaited.
  static constexpr size_t max_string = 64 * 1024;

  /// Strips the next bytes of the stream and appends what remains to `out`.
  void feed(std::string_view in, std::string& out);

  /// Whether `feed` would let all of `ascii` through and be where it was.
  bool passes(std::string_view ascii) const noexcept {
    return state_ == state::ground && ascii.find('\x1b') == ascii.npos;
  }

  /// Ends the stream. The stripper is then ready for a new one.
  void finish(std::string& out);

  /// True in the middle of a sequence, that is, if bytes are held back or being dropped.
  bool inside_sequence() const noexcept { return state_ != state::ground; }

 private:
  enum class state {
    ground,
    ground_c2,     // after byte C2 in text: C1 control or Latin-1 character
    escape,        // after ESC
    escape_inter,  // ESC and intermediate bytes
    csi,
    osc,     // string ended by BEL too
    string,  // DCS, SOS, PM, APC
    osc_c2,  // after byte C2 in a string
    string_c2,
    string_esc,  // after ESC in a string of more than one line
  };

  size_t ground(std::string_view in, size_t at, std::string& out);
  bool step(unsigned char c, std::string& out);
  void after_escape(unsigned char c);
  bool in_string(unsigned char c, std::string& out);
  bool after_string_c2(unsigned char c, std::string& out);
  void end_string();
  void abort_string(std::string& out);
  void reveal_string(std::string& out);
  size_t string_run(std::string_view in, size_t at, std::string& out);

  state state_ = state::ground;
  std::string held_;  // text of the open string
};

/// The whole of `in` stripped as one stream.
std::string strip_ansi(std::string_view in);

}  // namespace troupe::text

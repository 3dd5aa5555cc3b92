// The one error enum of Troupe. Every `caf::error` that leaves one of our actors carries a code of
// this enum and a text that says what was being done, to what, and why it failed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <caf/default_enum_inspect.hpp>
#include <caf/error.hpp>
#include <caf/is_error_code_enum.hpp>

#include "troupe/messages/caf_compat.hpp"

namespace troupe {

/// Error codes. Append only: the numbers travel between nodes of different versions.
enum class errc : std::uint8_t {
  /// No error; never sent.
  none = 0,
  /// No process (or environment) of this name is visible to the caller.
  not_found = 1,
  /// An argument is wrong; the text names the field and the reason.
  bad_argument = 2,
  /// A limit is reached; the text carries the number.
  limit_reached = 3,
  /// The node is shutting down and starts nothing any more.
  shutting_down = 4,
  /// The operation does not apply to the state of the process (for example: no stdin).
  bad_state = 5,
  /// A queue is full; try again when the process has read some of it.
  would_block = 6,
  /// The process has already finished.
  already_exited = 7,
  /// A backend could not be reached; nothing was run.
  unreachable = 8,
  /// The turn of the caller was interrupted before or while the request was served.
  interrupted = 9,
  /// Something of ours failed; the text says what. Always a bug or a dead machine.
  internal = 10,
};

std::string to_string(errc code);
bool from_string(compat::string_view text, errc& code);
bool from_integer(std::uint8_t value, errc& code);

template <class Inspector>
bool inspect(Inspector& f, errc& code) {
  return caf::default_enum_inspect(f, code);
}

/// Builds an error of our category with a text for people.
caf::error make_error(errc code, std::string text);

/// The text given to `make_error`, or CAF's own rendering for foreign errors. For people only.
std::string error_text(const caf::error& err);

/// The code of one of our errors, `errc::internal` for foreign ones, `errc::none` for no error.
errc error_code_of(const caf::error& err);

}  // namespace troupe

CAF_ERROR_CODE_ENUM(troupe::errc)

// Quoting for POSIX shells. Used by the command wrapper of environments. Pure and thread-safe; the
// input may be any bytes but NUL, which no shell word can hold.
#pragma once

#include <string>
#include <string_view>

namespace troupe::text {

/// `text` as one shell word that stands for exactly these bytes: single quotes, with `'\''` for a
/// single quote inside. Always quoted; the empty text is `''`.
std::string shell_quote(std::string_view text);

/// A path for `cd --`: a leading `~` or `~/` is left for the shell there to expand, everything else
/// is quoted. `~/x y` gives `~/'x y'`; `~user` is an ordinary name. `-`, which would mean the
/// previous directory even behind `--`, becomes `'./-'`.
std::string quote_path(std::string_view path);

}  // namespace troupe::text

// Quoting for POSIX shells, see quote.hpp.
#include "troupe/text/quote.hpp"

namespace troupe::text {

std::string shell_quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out.push_back('\'');
  while (true) {
    const size_t quote = text.find('\'');
    out.append(text.substr(0, quote));
    if (quote == std::string_view::npos) break;
    out.append("'\\''");
    text.remove_prefix(quote + 1);
  }
  out.push_back('\'');
  return out;
}

std::string quote_path(std::string_view path) {
  if (path == "-") return "'./-'";
  if (path == "~" || path == "~/") return std::string(path);
  if (path.substr(0, 2) == "~/") return "~/" + shell_quote(path.substr(2));
  return shell_quote(path);
}

}  // namespace troupe::text

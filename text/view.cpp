// Text views of process output, see view.hpp.
#include "troupe/text/view.hpp"

#include <algorithm>

namespace troupe::text {

namespace {

/// What is looked at several times is taken in blocks, so that it is still in the cache.
constexpr size_t block = 64 * 1024;

}  // namespace

void stream_view::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const size_t take = std::min(bytes.size(), block);
    decoded_.clear();
    decoder_.feed(bytes.substr(0, take), decoded_);
    stripper_.feed(decoded_, out);
    bytes.remove_prefix(take);
  }
}

std::string_view stream_view::next(std::string_view bytes) {
  if (decoder_.pending() == 0 && is_ascii(bytes) && stripper_.passes(bytes)) return bytes;
  text_.clear();
  feed(bytes, text_);
  return text_;
}

void stream_view::finish(std::string& out) {
  decoded_.clear();
  decoder_.finish(decoded_);
  stripper_.feed(decoded_, out);
  stripper_.finish(out);
}

std::string text_view(std::string_view bytes, bool final) {
  std::string out;
  out.reserve(bytes.size());
  stream_view view;
  view.feed(bytes, out);
  if (final) view.finish(out);
  return out;
}

}  // namespace troupe::text

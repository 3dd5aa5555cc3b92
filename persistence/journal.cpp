#include "troupe/persistence/journal.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "troupe/persistence/crc32c.hpp"

namespace troupe::persistence {

namespace {

constexpr std::string_view mark{"\xFF\xFE\x54\x52", 4};
constexpr std::uint8_t format_version = 1;
constexpr std::size_t head_crc_at = 20;
constexpr std::string_view suffix = ".log";

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 255);
}

std::uint64_t get(std::string_view bytes, std::size_t at, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  }
  return value;
}

/// Does a head with a correct checksum begin here?
bool head_at(std::string_view bytes) {
  return bytes.size() >= journal_head_bytes && bytes.starts_with(mark) &&
         crc32c(bytes.substr(0, head_crc_at)) == get(bytes, head_crc_at, 4);
}

/// Where the next record may begin, at `from` or after it.
std::size_t next_head(std::string_view bytes, std::size_t from) {
  for (auto at = bytes.find(mark, from); at != bytes.npos; at = bytes.find(mark, at + 1)) {
    if (head_at(bytes.substr(at))) return at;
  }
  return bytes.size();
}

bool segment_number(std::string_view name, std::uint64_t& number) {
  if (name.size() != 16 + suffix.size() || !name.ends_with(suffix)) return false;
  const auto result = std::from_chars(name.data(), name.data() + 16, number, 16);
  return result.ec == std::errc{} && result.ptr == name.data() + 16;
}

}  // namespace

std::string encode_record(const journal_record& record) {
  std::string out;
  out.reserve(journal_head_bytes + record.payload.size());
  out += mark;
  put(out, format_version, 1);
  put(out, record.kind, 1);
  put(out, 0, 2);
  put(out, record.payload.size(), 4);
  put(out, record.number, 8);
  put(out, crc32c(out), 4);
  put(out, crc32c(record.payload), 4);
  out += record.payload;
  return out;
}

std::vector<journal_loss> decode_records(std::string_view bytes,
                                         const std::function<void(journal_record)>& on_record) {
  std::vector<journal_loss> losses;
  std::size_t at = 0;
  const auto lose = [&](const char* reason) {
    const auto next = next_head(bytes, at + 1);
    if (!losses.empty() && losses.back().offset + losses.back().bytes == at) {
      losses.back().bytes += next - at;
    } else {
      losses.push_back({{}, at, next - at, reason});
    }
    at = next;
  };
  while (at < bytes.size()) {
    const auto rest = bytes.substr(at);
    if (!head_at(rest)) {
      lose(rest.size() < journal_head_bytes ? "a record cut short" : "a damaged head");
      continue;
    }
    const auto length = static_cast<std::size_t>(get(rest, 8, 4));
    if (rest[4] != format_version || length > journal_payload_max) {
      lose("a record of an unknown version");
      continue;
    }
    if (rest.size() < journal_head_bytes + length) {
      lose("a record cut short");
      continue;
    }
    const auto payload = rest.substr(journal_head_bytes, length);
    if (crc32c(payload) != get(rest, 24, 4)) {
      lose("a damaged payload");
      continue;
    }
    on_record({static_cast<std::uint8_t>(rest[5]), get(rest, 12, 8), std::string{payload}});
    at += journal_head_bytes + length;
  }
  return losses;
}

journal::journal(file_system& files, std::string dir, std::uint64_t segment_bytes)
    : files_(files), dir_(std::move(dir)), segment_bytes_(segment_bytes) {}

std::string journal::path_of(std::uint64_t number) const {
  char digits[17] = "0000000000000000";
  char text[16];
  const auto end = std::to_chars(text, text + sizeof text, number, 16).ptr;
  std::copy(text, end, digits + 16 - (end - text));
  return dir_ + "/" + digits + std::string{suffix};
}

std::error_code journal::open(const std::function<void(journal_record)>& on_record) {
  if (auto ec = files_.make_directories(dir_)) return ec;
  std::error_code ec;
  const auto names = files_.list(dir_, ec);
  if (ec) return ec;
  for (const auto& name : names) {
    segment part;
    if (!segment_number(name, part.number)) continue;
    std::error_code unreadable;
    const auto bytes = files_.read_all(dir_ + "/" + name, unreadable);
    part.bytes = bytes.size();
    for (auto& loss : decode_records(bytes, [&](journal_record record) {
           part.highest = std::max(part.highest, record.number);
           on_record(std::move(record));
         })) {
      loss.segment = name;
      losses_.push_back(std::move(loss));
    }
    if (unreadable) {
      // Nobody knows what is in it, so it is never dead.
      part.highest = UINT64_MAX;
      losses_.push_back(
          {name, bytes.size(), 0, describe("read the rest of", dir_ + "/" + name, unreadable)});
    }
    next_segment_ = std::max(next_segment_, part.number + 1);
    segments_.push_back(part);
  }
  return {};
}

std::error_code journal::begin_segment() {
  std::error_code ec;
  auto file = files_.open_append(path_of(next_segment_), ec);
  if (ec) return ec;
  current_ = std::move(file);
  segments_.push_back({next_segment_++, 0, 0});
  new_names_ = true;
  return {};
}

std::error_code journal::append(const journal_record& record) {
  if (record.payload.size() > journal_payload_max) {
    return std::make_error_code(std::errc::message_size);
  }
  if (current_ && segments_.back().bytes >= segment_bytes_) current_ = nullptr;
  if (!current_) {
    if (auto ec = begin_segment()) return ec;
  }
  const auto bytes = encode_record(record);
  if (unsynced_.empty() || unsynced_.back() != current_) unsynced_.push_back(current_);
  auto& part = segments_.back();
  part.bytes += bytes.size();
  // A torn record is in nobody's way: readers go on at the next mark.
  if (auto ec = current_->append(bytes)) return ec;
  part.highest = std::max(part.highest, record.number);
  return {};
}

void journal::drop_below(std::uint64_t number) {
  while (!segments_.empty() && segments_.front().highest < number) {
    if (current_ && segments_.size() == 1) return;  // still being written
    if (files_.unlink(path_of(segments_.front().number))) return;
    segments_.pop_front();
    new_names_ = true;
  }
}

std::vector<std::shared_ptr<appendable>> journal::take_unsynced() {
  return std::exchange(unsynced_, {});
}

void journal::give_back(std::vector<std::shared_ptr<appendable>> files, bool new_names) {
  // In front of what was written since: the last one is the one that is being written.
  for (auto& file : unsynced_) {
    if (files.empty() || files.back() != file) files.push_back(std::move(file));
  }
  unsynced_ = std::move(files);
  new_names_ = new_names_ || new_names;
}

bool journal::take_new_names() noexcept {
  return std::exchange(new_names_, false);
}

}  // namespace troupe::persistence

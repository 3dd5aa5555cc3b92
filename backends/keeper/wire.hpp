// Bytes of the keeper's protocol: a record lists its fields once (`visit_fields`), and is written and
// read by that list. Numbers are in the machine's own order, since both ends run on it. What is read
// is not trusted: a record that is too short, too long or holds a value that cannot be is refused.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troupe::backends::keeper {

class wire_writer {
 public:
  /// Appends to `out`.
  explicit wire_writer(std::string& out) noexcept : bytes_(out) {}

  template <class T>
  requires std::integral<T>
  void operator()(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof raw);
    bytes_.append(raw, sizeof raw);
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(T value) { (*this)(static_cast<std::underlying_type_t<T>>(value)); }
  void operator()(std::chrono::milliseconds value) {
    (*this)(static_cast<std::int64_t>(value.count()));
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
  }
  template <class T>
  void operator()(const std::vector<T>& list) {
    (*this)(static_cast<std::uint32_t>(list.size()));
    for (const auto& one : list) {
      (*this)(one);
    }
  }
  template <class T, std::size_t N>
  void operator()(const std::array<T, N>& list) {
    for (const auto& one : list) {
      (*this)(one);
    }
  }
  template <class T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) {
      (*this)(*value);
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void operator()(const T& record) { visit_fields(*this, const_cast<T&>(record)); }

 private:
  std::string& bytes_;
};

class wire_reader {
 public:
  explicit wire_reader(std::string_view bytes) noexcept : rest_(bytes) {}

  /// All was as it should be, and nothing is left.
  bool complete() const noexcept { return ok_ && rest_.empty(); }

  template <class T>
  requires std::integral<T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      (*this)(byte);
      ok_ = ok_ && byte <= 1;
      value = byte == 1;
    } else if (take(sizeof(T))) {
      std::memcpy(&value, taken_.data(), sizeof(T));
    }
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(T& value) {
    std::underlying_type_t<T> raw = 0;
    (*this)(raw);
    ok_ = ok_ && raw <= static_cast<std::underlying_type_t<T>>(last_of(T{}));
    value = static_cast<T>(raw);
  }
  void operator()(std::chrono::milliseconds& value) {
    std::int64_t count = 0;
    (*this)(count);
    ok_ = ok_ && count >= 0 && count <= longest_ms;
    value = std::chrono::milliseconds{count};
  }
  void operator()(std::string& text) {
    std::uint32_t size = 0;
    (*this)(size);
    if (take(size)) {
      text = taken_;
    }
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    std::uint32_t size = 0;
    (*this)(size);
    ok_ = ok_ && size <= rest_.size();  // every element takes at least one byte
    for (std::uint32_t i = 0; ok_ && i < size; ++i) {
      (*this)(list.emplace_back());
    }
  }
  template <class T, std::size_t N>
  void operator()(std::array<T, N>& list) {
    for (auto& one : list) {
      (*this)(one);
    }
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool there = false;
    (*this)(there);
    if (ok_ && there) {
      (*this)(value.emplace());
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void operator()(T& record) { visit_fields(*this, record); }

 private:
  static constexpr std::int64_t longest_ms = 1'000LL * 60 * 60 * 24 * 365;

  bool take(std::size_t n) {
    ok_ = ok_ && n <= rest_.size();
    if (ok_) {
      taken_ = rest_.substr(0, n);
      rest_.remove_prefix(n);
    }
    return ok_;
  }

  std::string_view rest_;
  std::string_view taken_;
  bool ok_ = true;
};

template <class Record>
std::string encode(const Record& record) {
  std::string bytes;
  bytes.reserve(256);  // most records are shorter
  wire_writer out(bytes);
  out(record);
  return bytes;
}

/// Nothing if `bytes` are not exactly one such record.
template <class Record>
std::optional<Record> decode(std::string_view bytes) {
  wire_reader in(bytes);
  Record record;
  in(record);
  return in.complete() ? std::optional<Record>(std::move(record)) : std::nullopt;
}

}  // namespace troupe::backends::keeper

// The disk of a bad day. It can take a number of bytes and then fail with the last write torn; let any
// operation fail, one or all from there on; be read-only; and lose its power, which takes back what was not
// synced. Also counts. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "troupe/persistence/file.hpp"

namespace troupe::testing {

class faulty_files final : public persistence::file_system {
 public:
  /// Bytes that can still be appended, and what the next one fails with.
  std::atomic<std::size_t> room{SIZE_MAX};
  std::atomic<int> code{ENOSPC};
  std::atomic<int> syncs{0};
  std::atomic<int> appends{0};

  /// Operations so far, and those that fail with `code`: [fail_from, fail_to).
  std::atomic<std::uint64_t> operations{0};
  std::atomic<std::uint64_t> fail_from{UINT64_MAX};
  std::atomic<std::uint64_t> fail_to{UINT64_MAX};
  /// An append that fails has written a half.
  std::atomic<bool> torn{false};
  /// A sync that fails.
  std::atomic<bool> syncs_fail{false};
  /// Whatever changes something fails with EROFS.
  std::atomic<bool> read_only{false};
  /// Syncs reach the disk of this machine; otherwise they only count.
  std::atomic<bool> real_syncs{true};
  /// Remember what `power_loss` takes back.
  std::atomic<bool> remember{false};

  std::unique_ptr<persistence::appendable> open_append(const std::string& path,
                                                       std::error_code& ec) override {
    if ((ec = change())) return nullptr;
    return wrapped(path, real().open_append(path, ec));
  }
  std::unique_ptr<persistence::appendable> create_new(const std::string& path,
                                                      std::error_code& ec) override {
    if ((ec = change())) return nullptr;
    auto inner = real().create_new(path, ec);
    if (inner && remember) undo_later(path, [path] { std::filesystem::remove(path); });
    return wrapped(path, std::move(inner));
  }
  std::error_code overwrite(const std::string& path, std::string_view bytes, bool sync) override {
    if (auto ec = change()) return ec;
    if (sync) ++syncs;
    const auto before = remember ? content(path) : std::nullopt;
    const auto ec = real().overwrite(path, bytes, sync && real_syncs);
    if (!ec && before) undo_later(path, [path, before] { restore(path, before); });
    return ec;
  }
  std::vector<persistence::file_entry> regular_files(const std::string& dir,
                                                     std::error_code& ec) override {
    if ((ec = fault())) return {};
    return real().regular_files(dir, ec);
  }
  std::error_code make_private_directory(const std::string& dir) override {
    if (auto ec = change()) return ec;
    return real().make_private_directory(dir);
  }
  std::string read_all(const std::string& path, std::error_code& ec) override {
    if ((ec = fault())) return {};
    return real().read_all(path, ec);
  }
  std::string read_file(const std::string& path, std::uint64_t limit,
                        std::error_code& ec) override {
    if ((ec = fault())) return {};
    return real().read_file(path, limit, ec);
  }
  std::string read_range(const std::string& path, std::uint64_t offset, std::uint64_t size,
                         std::uint64_t& file_bytes, std::error_code& ec) override {
    if ((ec = fault())) return {};
    return real().read_range(path, offset, size, file_bytes, ec);
  }
  std::error_code sync_file(const std::string& path) override {
    ++syncs;
    if (auto ec = sync_fault()) return ec;
    const auto ec = real_syncs ? real().sync_file(path) : exists(path);
    if (!ec) synced(path);
    return ec;
  }
  std::error_code rename(const std::string& from, const std::string& to) override {
    if (auto ec = change()) return ec;
    const auto before = remember ? content(to) : std::nullopt;
    const auto ec = real().rename(from, to);
    if (!ec && remember) renamed(from, to, before);
    return ec;
  }
  std::error_code rename_new(const std::string& from, const std::string& to) override {
    if (auto ec = change()) return ec;
    const auto ec = real().rename_new(from, to);
    if (!ec && remember) renamed(from, to, std::nullopt);
    return ec;
  }
  std::error_code unlink(const std::string& path) override {
    if (auto ec = change()) return ec;
    const auto before = remember ? content(path) : std::nullopt;
    const auto ec = real().unlink(path);
    if (!ec && before) undo_later(path, [path, before] { restore(path, before); });
    return ec;
  }
  std::vector<std::string> list(const std::string& dir, std::error_code& ec) override {
    if ((ec = fault())) return {};
    return real().list(dir, ec);
  }
  std::error_code make_directories(const std::string& dir) override {
    if (auto ec = change()) return ec;
    return real().make_directories(dir);
  }
  std::error_code sync_directory(const std::string& dir) override {
    if (auto ec = sync_fault()) return ec;
    const std::lock_guard lock{mutex_};
    std::erase_if(undo_, [&](const auto& one) { return one.first == dir; });
    return real_syncs ? real().sync_directory(dir) : std::error_code{};
  }
  std::unique_ptr<persistence::file_lock> try_lock(const std::string& path,
                                                   std::error_code& ec) override {
    if ((ec = change())) return nullptr;
    return real().try_lock(path, ec);
  }

  /// Files lose half of what was not synced; names go back to where they were.
  void power_loss() {
    const std::lock_guard lock{mutex_};
    for (const auto& path : unsynced_) {
      std::error_code gone;
      const auto size = std::filesystem::file_size(path, gone);
      if (!gone) std::filesystem::resize_file(path, size / 2);
    }
    for (auto it = undo_.rbegin(); it != undo_.rend(); ++it) it->second();
    unsynced_.clear();
    undo_.clear();
  }

 private:
  static persistence::file_system& real() { return persistence::real_files(); }

  std::error_code failure() const { return {code, std::generic_category()}; }
  std::error_code fault() {
    const auto n = operations++;
    return n >= fail_from && n < fail_to ? failure() : std::error_code{};
  }
  std::error_code change() {
    if (auto ec = fault()) return ec;
    return read_only ? std::error_code{EROFS, std::generic_category()} : std::error_code{};
  }
  std::error_code sync_fault() {
    if (auto ec = fault()) return ec;
    return syncs_fail ? failure() : std::error_code{};
  }
  static std::error_code exists(const std::string& path) {
    return std::filesystem::exists(path) ? std::error_code{}
                                         : std::error_code{ENOENT, std::generic_category()};
  }

  static std::optional<std::string> content(const std::string& path) {
    std::ifstream in{path, std::ios::binary};
    if (!in) return std::nullopt;
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  }
  static void restore(const std::string& path, const std::optional<std::string>& before) {
    std::filesystem::remove(path);
    if (before) std::ofstream{path, std::ios::binary} << *before;
  }

  void undo_later(const std::string& path, std::function<void()> what) {
    const std::lock_guard lock{mutex_};
    undo_.emplace_back(std::filesystem::path{path}.parent_path().string(), std::move(what));
  }
  void renamed(const std::string& from, const std::string& to,
               const std::optional<std::string>& before) {
    undo_later(to, [to, before] { restore(to, before); });
    const std::lock_guard lock{mutex_};
    if (unsynced_.erase(from) != 0) unsynced_.insert(to);
  }
  void written(const std::string& path) {
    const std::lock_guard lock{mutex_};
    unsynced_.insert(path);
  }
  void synced(const std::string& path) {
    const std::lock_guard lock{mutex_};
    unsynced_.erase(path);
  }

  class file final : public persistence::appendable {
   public:
    file(faulty_files& owner, std::string path, std::unique_ptr<persistence::appendable> inner)
        : owner_(owner), path_(std::move(path)), inner_(std::move(inner)) {}
    std::error_code append(std::string_view bytes) override {
      ++owner_.appends;
      auto failed = owner_.change();
      auto fits = failed ? (owner_.torn ? bytes.size() / 2 : 0) : bytes.size();
      fits = std::min(owner_.room.load(), fits);
      if (auto ec = inner_->append(bytes.substr(0, fits))) return ec;
      if (owner_.remember) owner_.written(path_);
      if (owner_.room != SIZE_MAX) owner_.room -= fits;
      if (fits == bytes.size()) return failed;
      return failed ? failed : owner_.failure();
    }
    std::error_code sync() override {
      ++owner_.syncs;
      if (auto ec = owner_.sync_fault()) return ec;
      owner_.synced(path_);
      return owner_.real_syncs ? inner_->sync() : std::error_code{};
    }

   private:
    faulty_files& owner_;
    std::string path_;
    std::unique_ptr<persistence::appendable> inner_;
  };

  std::unique_ptr<persistence::appendable> wrapped(const std::string& path,
                                                   std::unique_ptr<persistence::appendable> inner) {
    if (!inner) return nullptr;
    return std::make_unique<file>(*this, path, std::move(inner));
  }

  std::mutex mutex_;
  std::vector<std::pair<std::string, std::function<void()>>> undo_;
  std::set<std::string> unsynced_;
};

}  // namespace troupe::testing

// The disk of a bad day: takes a number of bytes, then fails; the last write is torn. Also counts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/persistence/file.hpp"

namespace troupe::testing {

class faulty_files final : public persistence::file_system {
 public:
  std::atomic<std::size_t> room{SIZE_MAX};
  std::atomic<int> code{ENOSPC};
  std::atomic<int> syncs{0};
  std::atomic<int> appends{0};

  std::unique_ptr<persistence::appendable> open_append(const std::string& path,
                                                       std::error_code& ec) override {
    auto inner = real().open_append(path, ec);
    if (!inner) return nullptr;
    return std::make_unique<file>(*this, std::move(inner));
  }
  std::unique_ptr<persistence::appendable> create_new(const std::string& path,
                                                      std::error_code& ec) override {
    auto inner = real().create_new(path, ec);
    if (!inner) return nullptr;
    return std::make_unique<file>(*this, std::move(inner));
  }
  std::vector<persistence::file_entry> regular_files(const std::string& dir,
                                                     std::error_code& ec) override {
    return real().regular_files(dir, ec);
  }
  std::error_code make_private_directory(const std::string& dir) override {
    return real().make_private_directory(dir);
  }
  std::string read_all(const std::string& path, std::error_code& ec) override {
    return real().read_all(path, ec);
  }
  std::error_code rename(const std::string& from, const std::string& to) override {
    return real().rename(from, to);
  }
  std::error_code unlink(const std::string& path) override { return real().unlink(path); }
  std::vector<std::string> list(const std::string& dir, std::error_code& ec) override {
    return real().list(dir, ec);
  }
  std::error_code make_directories(const std::string& dir) override {
    return real().make_directories(dir);
  }
  std::error_code sync_directory(const std::string& dir) override {
    return real().sync_directory(dir);
  }
  std::unique_ptr<persistence::file_lock> try_lock(const std::string& path,
                                                   std::error_code& ec) override {
    return real().try_lock(path, ec);
  }

 private:
  static persistence::file_system& real() { return persistence::real_files(); }

  class file final : public persistence::appendable {
   public:
    file(faulty_files& owner, std::unique_ptr<persistence::appendable> inner)
        : owner_(owner), inner_(std::move(inner)) {}
    std::error_code append(std::string_view bytes) override {
      ++owner_.appends;
      const auto fits = std::min(owner_.room.load(), bytes.size());
      if (auto ec = inner_->append(bytes.substr(0, fits))) return ec;
      if (owner_.room != SIZE_MAX) owner_.room -= fits;
      if (fits == bytes.size()) return {};
      return {owner_.code, std::generic_category()};
    }
    std::error_code sync() override {
      ++owner_.syncs;
      return inner_->sync();
    }

   private:
    faulty_files& owner_;
    std::unique_ptr<persistence::appendable> inner_;
  };
};

}  // namespace troupe::testing

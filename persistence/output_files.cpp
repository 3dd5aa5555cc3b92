#include "troupe/persistence/output_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "troupe/text/redact.hpp"
#include "troupe/text/truncate.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe::persistence {

namespace {

/// A line longer than this is masked in parts.
constexpr std::size_t longest_line = 64 * 1024;

constexpr std::string_view suffix = ".log";

bool may_be_in_secret(char c) {
  const auto u = static_cast<unsigned char>(c);
  return (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u >= 0x80 ||
         std::string_view{"_-+/=.~:@%"}.find(c) != std::string_view::npos;
}

bool is_output_name(std::string_view name) {
  return name.starts_with("proc_") && name.ends_with(suffix);
}

}  // namespace

std::size_t maskable_prefix(std::string_view text) {
  const auto least = text.size() - std::min(text.size(), longest_line);
  const auto line = text.substr(least).rfind('\n');
  std::size_t end = line == text.npos ? 0 : least + line + 1;
  if (text.size() - end > longest_line) {
    // Too long to wait for: up to the last character that no token contains, or all of it.
    auto at = text.size();
    while (at > text.size() - longest_line && may_be_in_secret(text[at - 1])) --at;
    end = at > text.size() - longest_line ? at : text.size();
  }
  // What begins earlier is not waited for.
  const auto head = text.substr(0, end).substr(std::min(least, end));
  const auto begin = head.rfind("-----BEGIN ");
  const bool open = begin != head.npos && head.find("-----END ", begin) == head.npos;
  return open ? end - head.size() + begin : end;
}

std::error_code output_file::write(std::string_view text) {
  if (full_) return {};
  held_ += text;
  const auto length = maskable_prefix(held_);
  if (length == 0) return {};
  const auto ec = put(std::string_view{held_}.substr(0, length));
  held_.erase(0, length);
  return ec;
}

std::error_code output_file::finish() {
  if (full_) return {};
  return put(std::exchange(held_, {}));
}

std::error_code output_file::put(std::string_view text) {
  const auto masked = form_ == output_form::raw ? text::redact_same_length(text, assignments_)
                      : assignments_            ? text::redact_assignments(text)
                                                : text::redact(text);
  const auto room = limit_ - written_;
  if (masked.size() <= room) {
    written_ += masked.size();
    return file_->append(masked);
  }
  full_ = true;
  const auto fits = form_ == output_form::raw
                        ? static_cast<std::size_t>(room)
                        : text::boundary_at_or_before(masked, static_cast<std::size_t>(room));
  auto ec = file_->append(std::string_view{masked}.substr(0, fits));
  written_ += fits;
  if (ec) return ec;
  return file_->append("\n... [OUTPUT FILE CUT - only the first " + text::with_thousands(limit_) +
                       " bytes are kept] ...\n");
}

std::unique_ptr<output_file> output_directory::create(const std::string& id, output_form form,
                                                      bool assignments, std::string& problem) {
  if (auto ec = files_.make_private_directory(path_)) {
    problem = describe("keep output in", path_, ec);
    return nullptr;
  }
  std::error_code ec;
  // The name may be taken by a process of an earlier life: ids are chosen by hosts as well.
  for (int n = 0; n < 16; ++n) {
    const auto path =
        path_ + "/" + id + (n == 0 ? std::string{} : "-" + std::to_string(n)) + std::string{suffix};
    if (auto file = files_.create_new(path, ec)) {
      return std::make_unique<output_file>(std::move(file), path, limits_.file_bytes, form,
                                           assignments);
    }
    if (ec.value() != EEXIST) break;
  }
  problem = describe("create", path_ + "/" + id + std::string{suffix}, ec);
  return nullptr;
}

std::unique_ptr<output_file> output_directory::reopen(const std::string& path, bool assignments,
                                                      std::string& problem) {
  std::error_code ec = std::make_error_code(std::errc::no_such_file_or_directory);
  const auto slash = path.rfind('/');
  if (slash == path.npos || path.substr(0, slash) != path_ ||
      !is_output_name(path.substr(slash + 1))) {
    problem = path + " is not in " + path_;
    return nullptr;
  }
  std::uint64_t size = 0;
  files_.read_range(path, 0, 0, size, ec);  // also refuses what is no regular file
  auto file = ec ? nullptr : files_.open_append(path, ec);
  if (!file) {
    problem = describe("go on with", path, ec);
    return nullptr;
  }
  return std::make_unique<output_file>(std::move(file), path, limits_.file_bytes, output_form::raw,
                                       assignments, size);
}

void output_directory::prune(std::chrono::system_clock::time_point now,
                             const std::vector<std::string>& busy) {
  std::error_code ec;
  auto files = files_.regular_files(path_, ec);
  std::erase_if(files, [&](const file_entry& file) {
    return !is_output_name(file.name) ||
           std::find(busy.begin(), busy.end(), path_ + "/" + file.name) != busy.end();
  });
  std::sort(files.begin(), files.end(),
            [](const file_entry& a, const file_entry& b) { return a.changed > b.changed; });
  std::uint64_t total = 0;
  for (const auto& file : files) {
    total += file.bytes;
    if (total > limits_.total_bytes || now - file.changed > limits_.retention) {
      files_.unlink(path_ + "/" + file.name);
    }
  }
}

std::string temporary_output_path() {
  const char* chosen = std::getenv("TMPDIR");
  const std::string base = chosen != nullptr && *chosen == '/' ? chosen : "/tmp";
  return base + "/troupe-output-" + std::to_string(::geteuid());
}

}  // namespace troupe::persistence

// See left.hpp.
#include "troupe/backends/keeper/left.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "troupe/backends/keeper/protocol.hpp"
#include "troupe/backends/local/spawn.hpp"

namespace troupe::backends::keeper {

using local::unique_fd;

namespace {

constexpr std::string_view magic = "troupe left 1\n";
constexpr std::size_t largest = 1 << 20;

std::uint64_t checksum(std::string_view bytes) {  // FNV-1a
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char c : bytes) {
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return sum;
}

std::string read_whole(int dir, const char* name) {
  const unique_fd file(::openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::string text;
  char part[4096];
  ssize_t n = 0;
  while (file && text.size() < largest && (n = ::read(file.get(), part, sizeof part)) > 0) {
    text.append(part, static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

template <class Visitor>
void visit_fields(Visitor& v, left_record& r) {
  auto& c = r.child;
  v(c.marker), v(c.pid), v(c.start_ticks), v(c.pty), v(c.has_stdin), v(c.owner_ended);
  v(r.exit), v(c.total_bytes);
  v(c.spool_path), v(c.spool_from), v(c.spool_bytes), v(c.tail_bytes), v(r.dropped), v(c.notes);
  v(c.holders);
}

std::string write_left(const left_record& record) {
  std::string text(magic);
  wire_writer out(text);
  out(record);
  out(checksum(std::string_view(text).substr(magic.size())));
  return text;
}

std::optional<left_record> read_left(std::string_view text) {
  std::uint64_t sum = 0;
  if (!text.starts_with(magic) || text.size() < magic.size() + sizeof sum) {
    return std::nullopt;
  }
  const auto body = text.substr(magic.size(), text.size() - magic.size() - sizeof sum);
  std::memcpy(&sum, body.data() + body.size(), sizeof sum);
  return sum == checksum(body) ? decode<left_record>(body) : std::nullopt;
}

std::vector<left_file> read_all_left(int dir, std::string& problem) {
  std::vector<left_file> out;
  const int folder = ::openat(dir, left_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (folder < 0) {
    if (errno != ENOENT) {
      problem =
          local::errno_name(errno) + " while opening the folder of records left by the keeper";
    }
    return out;
  }
  DIR* listing = ::fdopendir(folder);
  while (const auto* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (name[0] == '.' || name.ends_with(".damaged")) {  // hidden: half written
      continue;
    }
    if (auto record = read_left(read_whole(folder, name.c_str()))) {
      out.push_back({name, std::move(*record)});
      continue;
    }
    ::renameat(folder, name.c_str(), folder, (name + ".damaged").c_str());
    problem.append(problem.empty() ? "damaged record left by the keeper, set aside: " : ", ")
        .append(name);
  }
  ::closedir(listing);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

bool is_file_name(std::string_view marker) {
  return !marker.empty() && marker.size() <= 128 && marker[0] != '.' &&
         std::all_of(marker.begin(), marker.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '_' || c == '-' || c == '.';
         });
}

}  // namespace troupe::backends::keeper

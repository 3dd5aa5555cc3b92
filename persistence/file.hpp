// The edge between persistence and the file system: what is needed of it, and nothing more. Everything
// in this module goes through it, so that tests can make it fail (no space, I/O error, torn write).
// Errors are errno values as std::error_code; nothing here throws. Calls may block on a disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace troupe::persistence {

/// A file that is open for appending. `append` by one thread at a time; `sync` may be called from
/// another thread meanwhile.
class appendable {
 public:
  virtual ~appendable() = default;
  /// Hands all of `bytes` to the kernel. After an error some of them may have been written.
  virtual std::error_code append(std::string_view bytes) = 0;
  /// Returns when the disk has what was appended so far.
  virtual std::error_code sync() = 0;
};

/// A lock that other processes see; given back when it is destroyed or its process dies.
class file_lock {
 public:
  virtual ~file_lock() = default;
};

/// What is known of a file without opening it.
struct file_entry {
  std::string name;
  std::uint64_t bytes = 0;
  std::chrono::system_clock::time_point changed;
};

class file_system {
 public:
  virtual ~file_system() = default;
  /// Creates the file with mode 0600 if it does not exist. Null on errors.
  virtual std::unique_ptr<appendable> open_append(const std::string& path, std::error_code& ec) = 0;
  /// Creates a file with mode 0600 that was not there: EEXIST if the name is taken, by whatever. Neither
  /// the file nor its directory may be a symbolic link. Null on errors.
  virtual std::unique_ptr<appendable> create_new(const std::string& path, std::error_code& ec) = 0;
  /// Puts `bytes` in place of what a regular file of ours has that only this name leads to; `sync`:
  /// returns when the disk has them. Links are not followed. The default does not know how (ENOTSUP).
  virtual std::error_code overwrite(const std::string& path, std::string_view bytes, bool sync);
  virtual std::string read_all(const std::string& path, std::error_code& ec) = 0;
  /// A regular file of at most `limit` bytes. Neither it nor its directory may be a symbolic link
  /// (ELOOP, ENOTDIR); EFBIG: it is larger; EINVAL: it is something else.
  virtual std::string read_file(const std::string& path, std::uint64_t limit,
                                std::error_code& ec) = 0;
  /// Part of a regular file, under the same conditions: at most `size` bytes from `offset` on, fewer
  /// at its end. `file_bytes` becomes its size.
  virtual std::string read_range(const std::string& path, std::uint64_t offset, std::uint64_t size,
                                 std::uint64_t& file_bytes, std::error_code& ec) = 0;
  /// Returns when the disk has the content of a file that was written before. ENOENT: it is gone.
  virtual std::error_code sync_file(const std::string& path) = 0;
  /// Replaces `to` if it exists.
  virtual std::error_code rename(const std::string& from, const std::string& to) = 0;
  /// EEXIST if `to` exists.
  virtual std::error_code rename_new(const std::string& from, const std::string& to) = 0;
  virtual std::error_code unlink(const std::string& path) = 0;
  /// Names in a directory, without `.` and `..`, sorted.
  virtual std::vector<std::string> list(const std::string& dir, std::error_code& ec) = 0;
  /// The regular files in a directory, in no order. Symbolic links are not followed.
  virtual std::vector<file_entry> regular_files(const std::string& dir, std::error_code& ec) = 0;
  /// As `make_directories`, and refuses (EPERM) a directory that is a symbolic link, belongs to
  /// somebody else or is open to others.
  virtual std::error_code make_private_directory(const std::string& dir) = 0;
  /// Creates a directory and its parents with mode 0700; no error if it exists.
  virtual std::error_code make_directories(const std::string& dir) = 0;
  /// Makes creations, renames and removals in `dir` permanent.
  virtual std::error_code sync_directory(const std::string& dir) = 0;
  /// Null with an empty `ec`: somebody else holds it.
  virtual std::unique_ptr<file_lock> try_lock(const std::string& path, std::error_code& ec) = 0;
};

/// The file system of this machine. Thread-safe.
file_system& real_files();

/// Writes `bytes` to `<path>.tmp`, syncs if asked to, and renames: readers see the old file or the new
/// one. A temporary file that a death in between left there is replaced. After an error the old file is
/// what it was.
std::error_code replace_file(file_system& files, const std::string& path, std::string_view bytes,
                             bool sync);

/// "ENOSPC: cannot write /x/y: No space left on device", for people.
std::string describe(std::string_view what, const std::string& path, std::error_code ec);

}  // namespace troupe::persistence

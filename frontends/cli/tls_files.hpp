// The certificate, key and authority of a node: checked before anything listens, and kept as they
// were at that moment. CAF opens the files again for every connection and cannot live with one that
// has become unreadable or half-written since; so it is given sealed copies in memory. A node whose
// files were replaced takes the new ones with its next start.
#pragma once

#include <string>

namespace troupe::cli {

struct tls_paths {
  std::string cert;
  std::string key;
  std::string ca;
};

/// Sealed copies of the three files. Keeps them for as long as it lives.
class tls_files {
 public:
  /// Reads and checks: all are there and readable, PEM, the key belongs to the certificate and the
  /// certificate is a valid one of the authority. Throws std::runtime_error that names the option,
  /// the file and the reason.
  explicit tls_files(const tls_paths& paths);
  ~tls_files();
  tls_files(const tls_files&) = delete;
  tls_files& operator=(const tls_files&) = delete;

  /// Paths of the copies; valid in this process only.
  const tls_paths& copies() const noexcept { return copies_; }

 private:
  void add(const char* option, const std::string& path, std::string& copy);
  void close_all() noexcept;

  int fds_[3] = {-1, -1, -1};
  int count_ = 0;
  tls_paths copies_;
};

/// Keeps connections of this process from ending each other. CAF 0.18 leaves the OpenSSL errors of a
/// connection that failed in the queue of the thread that all connections share, where the next read
/// of a healthy one finds them and takes them for its own. Call once, before the actor system.
void isolate_tls_connections();

}  // namespace troupe::cli

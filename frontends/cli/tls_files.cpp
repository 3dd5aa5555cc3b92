#include "troupe/frontends/cli/tls_files.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace troupe::cli {

namespace {

/// Far above any chain of certificates; a device or a wrong path is not read to its end.
constexpr std::size_t max_file_bytes = 4 << 20;

template <auto Free>
struct free_with {
  template <class T>
  void operator()(T* x) const noexcept {
    Free(x);
  }
};
using context_ptr = std::unique_ptr<SSL_CTX, free_with<SSL_CTX_free>>;
using verify_ptr = std::unique_ptr<X509_STORE_CTX, free_with<X509_STORE_CTX_free>>;

[[noreturn]] void fail(const char* option, const std::string& path, std::string_view why) {
  std::string message{option};
  message.append(" '").append(path).append("': ").append(why);
  throw std::runtime_error{message};
}

[[noreturn]] void fail_errno(const char* option, const std::string& path, std::string_view what) {
  const int error = errno;
  std::string why{what};
  why.append(": ").append(strerrorname_np(error)).append(": ").append(strerrordesc_np(error));
  fail(option, path, why);
}

/// The reason of the last OpenSSL error; empties the queue.
std::string ssl_reason() {
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "not usable" : reason;
}

std::string read_file(const char* option, const std::string& path) {
  if (path.empty()) throw std::runtime_error{std::string{option} + " is missing"};
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail_errno(option, path, "cannot open");
  std::string content;
  char buffer[16384];
  ssize_t got = 0;
  while (content.size() <= max_file_bytes && (got = ::read(fd, buffer, sizeof buffer)) > 0) {
    content.append(buffer, static_cast<std::size_t>(got));
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  if (got < 0) fail_errno(option, path, "cannot read");
  if (content.size() > max_file_bytes) fail(option, path, "too large for a PEM file");
  if (content.empty()) fail(option, path, "empty");
  return content;
}

void check(const tls_paths& shown, const tls_paths& copies) {
  ERR_clear_error();
  context_ptr context{SSL_CTX_new(TLS_method())};
  if (!context) throw std::runtime_error{"cannot set up TLS: " + ssl_reason()};
  // Without this an encrypted key would ask the terminal for its passphrase.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_certificate_chain_file(context.get(), copies.cert.c_str()) != 1) {
    fail("--cert", shown.cert, "no PEM certificate (" + ssl_reason() + ")");
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), copies.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    // A key of the certificate's own kind is compared with it while it is loaded.
    const bool mismatch = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH ||
                          ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_TYPE_MISMATCH;
    const auto reason = ssl_reason();
    if (mismatch) fail("--key", shown.key, "does not belong to --cert '" + shown.cert + "'");
    fail("--key", shown.key, "no unencrypted PEM key (" + reason + ")");
  }
  if (SSL_CTX_check_private_key(context.get()) != 1) {
    ERR_clear_error();
    fail("--key", shown.key, "does not belong to --cert '" + shown.cert + "'");
  }
  if (SSL_CTX_load_verify_locations(context.get(), copies.ca.c_str(), nullptr) != 1) {
    fail("--ca", shown.ca, "no PEM certificates (" + ssl_reason() + ")");
  }
  verify_ptr verify{X509_STORE_CTX_new()};
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context.get(), &chain);
  if (!verify || X509_STORE_CTX_init(verify.get(), SSL_CTX_get_cert_store(context.get()),
                                     SSL_CTX_get0_certificate(context.get()), chain) != 1) {
    throw std::runtime_error{"cannot set up TLS: " + ssl_reason()};
  }
  if (X509_verify_cert(verify.get()) != 1) {
    const int code = X509_STORE_CTX_get_error(verify.get());
    ERR_clear_error();
    fail("--cert", shown.cert,
         "not valid under --ca '" + shown.ca + "': " + X509_verify_cert_error_string(code));
  }
}

// -- one error queue for all connections ---------------------------------------------------------

/// Called around every access to the socket of a connection; before one, the errors in the queue
/// belong to other connections.
long before_io(BIO*, int operation, const char*, std::size_t, int, long, int result, std::size_t*) {
  if (operation == BIO_CB_READ || operation == BIO_CB_WRITE) ERR_clear_error();
  return result;
}

void on_handshake(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  if (auto* bio = SSL_get_rbio(ssl)) BIO_set_callback_ex(bio, before_io);
  if (auto* bio = SSL_get_wbio(ssl)) BIO_set_callback_ex(bio, before_io);
}

void on_new_connection(void* parent, void*, CRYPTO_EX_DATA*, int, long, void*) {
  SSL_set_info_callback(static_cast<SSL*>(parent), on_handshake);
}

}  // namespace

tls_files::tls_files(const tls_paths& paths) {
  try {
    add("--cert", paths.cert, copies_.cert);
    add("--key", paths.key, copies_.key);
    add("--ca", paths.ca, copies_.ca);
    check(paths, copies_);
  } catch (...) {
    close_all();
    throw;
  }
}

tls_files::~tls_files() {
  close_all();
}

void tls_files::add(const char* option, const std::string& path, std::string& copy) {
  auto content = read_file(option, path);
  const int fd = ::memfd_create("troupe-tls", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) fail_errno(option, path, "cannot keep a copy");
  fds_[count_++] = fd;
  const auto written = ::write(fd, content.data(), content.size());
  const int error = errno;
  const bool complete = written == static_cast<ssize_t>(content.size());
  OPENSSL_cleanse(content.data(), content.size());
  errno = error;
  if (!complete || ::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    fail_errno(option, path, "cannot keep a copy");
  }
  copy = "/proc/self/fd/" + std::to_string(fd);
}

void tls_files::close_all() noexcept {
  while (count_ > 0) ::close(fds_[--count_]);
}

void isolate_tls_connections() {
  static const int index =
      CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nullptr, on_new_connection, nullptr, nullptr);
  if (index < 0) throw std::runtime_error{"cannot set up TLS: " + ssl_reason()};
}

}  // namespace troupe::cli

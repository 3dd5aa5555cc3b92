// The address a server binds to, as people write it: `127.0.0.1:4711`, `[::1]:0`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::cli {

struct listen_address {
  /// Numeric IPv4 or IPv6 address, without brackets.
  std::string host;
  /// 0: the system chooses one.
  std::uint16_t port = 0;

  bool is_v6() const noexcept { return host.find(':') != std::string::npos; }
  /// As it is written, with another port.
  std::string with_port(std::uint16_t other) const;
};

/// Throws std::runtime_error with a text for people. Names are refused: a name can mean several
/// addresses, and a server that listens on one nobody meant is worse than none.
listen_address parse_listen_address(std::string_view text);

/// Binds a socket to the address and closes it again, since CAF does not say why it cannot. Throws
/// std::runtime_error that names the address and the errno.
void check_can_bind(const listen_address& address);

}  // namespace troupe::cli

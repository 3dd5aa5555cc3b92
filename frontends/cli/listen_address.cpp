#include "troupe/frontends/cli/listen_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace troupe::cli {

namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  std::string message = "--listen '";
  message.append(text).append("': ").append(why);
  throw std::runtime_error{message};
}

bool is_numeric(int family, const std::string& host) {
  in6_addr address;  // large enough for both families
  return inet_pton(family, host.c_str(), &address) == 1;
}

}  // namespace

std::string listen_address::with_port(std::uint16_t other) const {
  const auto number = std::to_string(other);
  return is_v6() ? "[" + host + "]:" + number : host + ":" + number;
}

listen_address parse_listen_address(std::string_view text) {
  constexpr auto shape = "expected ADDRESS:PORT, for example 127.0.0.1:4711 or [::1]:4711";
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) refuse(text, shape);
  auto host = text.substr(0, colon);
  const auto port = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  listen_address result;
  result.host = std::string{host};
  if (!is_numeric(bracketed ? AF_INET6 : AF_INET, result.host)) {
    if (!bracketed && is_numeric(AF_INET6, result.host)) refuse(text, shape);
    refuse(text, "not a numeric IPv4 address or an IPv6 address in brackets");
  }
  const auto* end = port.data() + port.size();
  const auto [rest, status] = std::from_chars(port.data(), end, result.port);
  if (status != std::errc{} || rest != end) refuse(text, "the port is not a number up to 65535");
  return result;
}

void check_can_bind(const listen_address& address) {
  const auto fail = [&](const char* what) {
    const int error = errno;
    std::string why = what;
    why.append(": ").append(strerrorname_np(error)).append(": ").append(strerrordesc_np(error));
    refuse(address.with_port(address.port), why);
  };
  const int family = address.is_v6() ? AF_INET6 : AF_INET;
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("cannot open a socket");
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(address.port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(address.port);
  int bound = -1;
  if (address.is_v6()) {
    inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr);
    bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  } else {
    inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr);
    bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  if (bound != 0) fail("cannot listen");
}

}  // namespace troupe::cli

// `troupe node` and hosts in other processes (node_host.cpp): real programs, real TLS. The authority,
// the certificates and one of a foreign authority are made here, with the openssl program.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/program.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

namespace {

namespace fs = std::filesystem;
using troupe::testing::output_of;
using troupe::testing::program;

/// A directory with certificates, made once for all cases and removed at the end.
class certificates {
 public:
  certificates() {
    std::string shape = (fs::temp_directory_path() / "troupe-node-XXXXXX").string();
    if (::mkdtemp(shape.data()) == nullptr) throw std::runtime_error{"mkdtemp"};
    dir_ = shape;
    authority("ca");
    authority("foreign-ca");
    leaf("node", "ca");
    leaf("host", "ca");
    leaf("foreign", "foreign-ca");
  }
  ~certificates() {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  certificates(const certificates&) = delete;
  certificates& operator=(const certificates&) = delete;

  std::string path(const std::string& name) const { return (dir_ / name).string(); }

 private:
  void request(const std::string& name, const std::vector<std::string>& more) const {
    std::vector<std::string> argv{"openssl",          "req",
                                  "-newkey",          "ec",
                                  "-pkeyopt",         "ec_paramgen_curve:prime256v1",
                                  "-nodes",           "-subj",
                                  "/CN=" + name,      "-keyout",
                                  path(name + ".key")};
    argv.insert(argv.end(), more.begin(), more.end());
    output_of(argv);
  }
  void authority(const std::string& name) const {
    request(name, {"-x509", "-days", "2", "-out", path(name + ".pem")});
  }
  void leaf(const std::string& name, const std::string& by) const {
    request(name, {"-out", path(name + ".csr")});
    output_of({"openssl", "x509", "-req", "-days", "2", "-in", path(name + ".csr"), "-CA",
               path(by + ".pem"), "-CAkey", path(by + ".key"), "-CAcreateserial", "-out",
               path(name + ".pem")});
  }

  fs::path dir_;
};

const certificates& files() {
  static const certificates made;
  return made;
}

std::vector<std::string> node_command(const std::string& listen, const std::string& cert,
                                      const std::string& key, const std::string& ca) {
  return {TROUPE_BIN_DIR "/troupe", "node",  "--listen",        listen, "--cert",
          files().path(cert),       "--key", files().path(key), "--ca", files().path(ca),
          "--owner-death",          "end"};
}

/// A node on a port of its own.
class node {
 public:
  explicit node(const std::string& address = "127.0.0.1")
      : address_{address},
        home_{memory_.path()},
        program_{node_command(address + ":0", "node.pem", "node.key", "ca.pem")} {
    const auto ready = program_.line_with("listening on ");
    port_ = ready.substr(ready.rfind(':') + 1);
  }

  const std::string& port() const { return port_; }
  program& process() { return program_; }

  std::vector<std::string> host(const std::string& command, const std::string& cert = "host",
                                const std::string& ca = "ca.pem") const {
    auto bare = address_;
    std::erase_if(bare, [](char c) { return c == '[' || c == ']'; });
    return {TROUPE_NODE_HOST,
            bare,
            port_,
            cert.empty() ? "" : files().path(cert + ".pem"),
            cert.empty() ? "" : files().path(cert + ".key"),
            ca.empty() ? "" : files().path(ca),
            command};
  }

  /// Ends it as its service manager would.
  int end(int number = SIGTERM) {
    program_.signal(number);
    return program_.wait();
  }

 private:
  /// Sets TROUPE_HOME for the program; nothing of an earlier node is to be found.
  struct own_home {
    explicit own_home(const std::string& dir) { ::setenv("TROUPE_HOME", dir.c_str(), 1); }
  };

  std::string address_;
  troupe::testing::temporary_dir memory_;
  own_home home_;
  program program_;
  std::string port_;
};

/// What a node says about wrong arguments before it listens.
std::string refusal(const std::vector<std::string>& argv) {
  program refused{argv};
  const auto said = refused.rest();
  CHECK(refused.wait() == 1);
  return said;
}

/// A plain TCP connection to the node, which is no host.
class stranger {
 public:
  explicit stranger(const std::string& port)
      : fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
      throw std::runtime_error{"cannot connect"};
    }
  }
  ~stranger() { ::close(fd_); }
  stranger(const stranger&) = delete;
  stranger& operator=(const stranger&) = delete;

  void say(const std::string& text) {
    CHECK(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) > 0);
  }
  /// True if the node ends the connection.
  bool is_dropped() {
    char chunk[4096];
    while (true) {
      pollfd wait{fd_, POLLIN, 0};
      if (::poll(&wait, 1, 60'000) <= 0) return false;
      if (::recv(fd_, chunk, sizeof chunk, 0) <= 0) return true;
    }
  }

 private:
  int fd_;
};

bool is_alive(int pid) {
  return ::kill(pid, 0) == 0;
}

}  // namespace

TEST_CASE("a host in another process starts, reads, answers, waits, runs and kills") {
  node serving;
  program host{serving.host("live")};
  CHECK(host.line() == "started and followed");
  CHECK(host.line() == "answered and waited");
  CHECK(host.line() == "ran in the foreground");
  CHECK(host.line() == "listed and killed");
  CHECK(host.rest().empty());
  CHECK(host.wait() == 0);
  CHECK(serving.end() == 0);
}

TEST_CASE("a node on an IPv6 address serves hosts") {
  std::optional<node> serving;
  try {
    serving.emplace("[::1]");
  } catch (const std::exception& error) {
    if (std::string{error.what()}.find("EADDRNOTAVAIL") != std::string::npos) {
      SKIP("no IPv6 on this machine");
    }
    throw;
  }
  output_of(serving->host("live"));
  CHECK(serving->end() == 0);
}

TEST_CASE("a foreground command of one host is interrupted by another connection") {
  node serving;
  program holding{serving.host("hold")};
  CHECK(holding.line() == "holding");
  CHECK(output_of(serving.host("interrupt")) == "ended 1\n");
  CHECK(holding.line().starts_with("interrupted up"));
  holding.rest();
  CHECK(holding.wait() == 0);
  CHECK(serving.end() == 0);
}

TEST_CASE("hosts without a certificate of the authority are refused and disturb nobody") {
  node serving;
  program healthy{serving.host("repeat")};
  CHECK(healthy.line() == "ready");
  const auto still_served = [&](const std::string& word) {
    healthy.write(word + "\n");
    CHECK(healthy.line() == word);
  };
  still_served("before");
  const struct {
    const char* what;
    const char* cert;
    const char* ca;
  } hosts[] = {
      {"a foreign certificate, the right authority", "foreign", "ca.pem"},
      {"a foreign certificate and authority", "foreign", "foreign-ca.pem"},
      {"the right certificate, but it trusts another authority", "host", "foreign-ca.pem"},
      {"no TLS identity at all", "", ""},
  };
  for (const auto& each : hosts) {
    INFO(each.what);
    program refused{serving.host("live", each.cert, each.ca)};
    CHECK_THAT(refused.rest(), Catch::Matchers::ContainsSubstring("refused: "));
    CHECK(refused.wait() == 3);
    still_served("after");
  }
  healthy.close_stdin();
  healthy.rest();
  CHECK(healthy.wait() == 0);
  CHECK(serving.end() == 0);
}

TEST_CASE("connections that speak no TLS are dropped and disturb nobody") {
  node serving;
  program healthy{serving.host("repeat")};
  CHECK(healthy.line() == "ready");
  const std::string noise[] = {
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      std::string("\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x05", 16) + std::string(64, '\0'),
      std::string(4096, '\xff'),
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(600, 'x'),
  };
  for (const auto& each : noise) {
    stranger loud{serving.port()};
    loud.say(each);
    CHECK(loud.is_dropped());
    healthy.write("still\n");
    CHECK(healthy.line() == "still");
  }
  {
    std::vector<std::unique_ptr<stranger>> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<stranger>(serving.port()));
    healthy.write("beside silence\n");
    CHECK(healthy.line() == "beside silence");
    output_of(serving.host("live"));
  }
  healthy.close_stdin();
  healthy.rest();
  CHECK(healthy.wait() == 0);
  CHECK(serving.end() == 0);
}

TEST_CASE("a host that leaves or dies does not disturb the others") {
  node serving;
  program healthy{serving.host("repeat")};
  CHECK(healthy.line() == "ready");
  for (int i = 0; i < 5; ++i) {
    program other{serving.host("repeat")};
    CHECK(other.line() == "ready");
    other.write("x\n");
    CHECK(other.line() == "x");
    other.signal(i % 2 == 0 ? SIGKILL : SIGTERM);
    other.wait();
    healthy.write("alone\n");
    CHECK(healthy.line() == "alone");
    healthy.write("again\n");
    CHECK(healthy.line() == "again");
  }
  healthy.close_stdin();
  healthy.rest();
  CHECK(healthy.wait() == 0);
  CHECK(serving.end() == 0);
}

TEST_CASE("what the registry's own family says is not published") {
  node serving;
  CHECK(output_of(serving.host("intrude")) == "refused\n");
  CHECK(serving.end() == 0);
}

TEST_CASE("a node ends what it started, on every signal that ends programs") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    node serving;
    const auto pid = std::stoi(output_of(serving.host("leave")));
    CHECK(is_alive(pid));
    program connected{serving.host("repeat")};
    CHECK(connected.line() == "ready");
    CHECK(serving.end(number) == 0);
    CHECK_FALSE(is_alive(pid));
    CHECK_THROWS(stranger{serving.port()});
  }
}

TEST_CASE("a node can listen again at once where one has just ended") {
  std::string port;
  {
    node first;
    port = first.port();
    output_of(first.host("live"));
    CHECK(first.end() == 0);
  }
  program second{node_command("127.0.0.1:" + port, "node.pem", "node.key", "ca.pem")};
  CHECK(second.line() == "listening on 127.0.0.1:" + port);
}

TEST_CASE("files that were replaced or removed later do not end a node") {
  const auto copy = [](const char* from, const char* to) {
    fs::copy_file(files().path(from), files().path(to), fs::copy_options::overwrite_existing);
  };
  copy("node.pem", "later.pem");
  copy("node.key", "later.key");
  program later{node_command("127.0.0.1:0", "later.pem", "later.key", "ca.pem")};
  const auto ready = later.line_with("listening on ");
  fs::remove(files().path("later.key"));
  std::ofstream{files().path("later.pem")} << "half a certif";
  output_of({TROUPE_NODE_HOST, "127.0.0.1", ready.substr(ready.rfind(':') + 1),
             files().path("host.pem"), files().path("host.key"), files().path("ca.pem"), "live"});
  later.signal(SIGTERM);
  CHECK(later.wait() == 0);
}

TEST_CASE("a node says what is wrong with its files and listens to nobody") {
  using Catch::Matchers::ContainsSubstring;
  const auto with = [](const char* cert, const char* key, const char* ca) {
    return refusal(node_command("127.0.0.1:0", cert, key, ca));
  };
  const auto quoted = [](const char* name) { return "'" + files().path(name) + "'"; };
  std::ofstream{files().path("text")} << "no certificate\n";
  std::ofstream{files().path("empty")};
  CHECK_THAT(with("none.pem", "node.key", "ca.pem"),
             ContainsSubstring("--cert " + quoted("none.pem") + ": cannot open: ENOENT"));
  CHECK_THAT(with("node.pem", "none.key", "ca.pem"),
             ContainsSubstring("--key " + quoted("none.key") + ": cannot open: ENOENT"));
  CHECK_THAT(with("node.pem", "node.key", "none.pem"),
             ContainsSubstring("--ca " + quoted("none.pem") + ": cannot open: ENOENT"));
  CHECK_THAT(with(".", "node.key", "ca.pem"), ContainsSubstring("cannot read: EISDIR"));
  CHECK_THAT(with("empty", "node.key", "ca.pem"), ContainsSubstring("empty"));
  CHECK_THAT(with("text", "node.key", "ca.pem"), ContainsSubstring("no PEM certificate"));
  CHECK_THAT(with("node.pem", "text", "ca.pem"), ContainsSubstring("no unencrypted PEM key"));
  CHECK_THAT(with("node.pem", "node.key", "text"), ContainsSubstring("no PEM certificates"));
  CHECK_THAT(with("node.pem", "host.key", "ca.pem"),
             ContainsSubstring("does not belong to --cert"));
  CHECK_THAT(with("node.pem", "node.key", "foreign-ca.pem"),
             ContainsSubstring("not valid under --ca " + quoted("foreign-ca.pem")));
  output_of({"openssl", "ec", "-in", files().path("node.key"), "-aes256", "-passout", "pass:secret",
             "-out", files().path("locked.key")});
  CHECK_THAT(with("node.pem", "locked.key", "ca.pem"), ContainsSubstring("no unencrypted PEM key"));
}

TEST_CASE("a node says what is wrong with its address") {
  using Catch::Matchers::ContainsSubstring;
  const auto on = [](const std::string& listen) {
    return refusal(node_command(listen, "node.pem", "node.key", "ca.pem"));
  };
  for (const auto* shape : {"4711", ":4711", "127.0.0.1", "::1:4711"}) {
    CHECK_THAT(on(shape), ContainsSubstring("expected ADDRESS:PORT"));
  }
  for (const auto* name : {"localhost:0", "127.0.0.256:0", "[127.0.0.1]:0", "[::g]:0"}) {
    CHECK_THAT(on(name), ContainsSubstring("not a numeric"));
  }
  for (const auto* port : {"127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80x"}) {
    CHECK_THAT(on(port), ContainsSubstring("the port is not a number up to 65535"));
  }
  CHECK_THAT(on("192.0.2.1:0"), ContainsSubstring("EADDRNOTAVAIL"));
  node first;
  CHECK_THAT(on("127.0.0.1:" + first.port()), ContainsSubstring("EADDRINUSE"));
}

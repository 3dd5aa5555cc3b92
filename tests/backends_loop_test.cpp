// The io loop: timers, order of tasks, waiting for a port.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/backend_fixture.hpp"

using namespace troupe::backends;
using namespace troupe::testing;

TEST_CASE("tasks of one thread keep their order and run on the loop") {
  io_loop loop;
  std::vector<int> seen;
  std::promise<bool> done;
  for (int i = 0; i < 1000; ++i) {
    loop.post([&seen, i] { seen.push_back(i); });
  }
  loop.post([&] { done.set_value(loop.on_loop()); });
  CHECK(done.get_future().get());
  CHECK_FALSE(loop.on_loop());
  REQUIRE(seen.size() == 1000);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
}

TEST_CASE("timers fire in order; a cancelled one never does") {
  io_loop loop;
  std::promise<void> done;
  std::vector<int> seen;
  bool late = false;
  const auto doomed = loop.after(20ms, [&] { late = true; });
  loop.after(40ms, [&] { seen.push_back(2), done.set_value(); });
  loop.after(10ms, [&] { seen.push_back(1); });
  loop.cancel(doomed);
  loop.cancel(4711);
  done.get_future().wait();
  CHECK(seen == std::vector<int>{1, 2});
  CHECK_FALSE(late);
}

TEST_CASE("fifty thousand pending timers") {
  std::atomic<int> fired{0};
  {
    io_loop loop;
    std::vector<io_loop::timer_id> ids;
    for (int i = 0; i < 50'000; ++i) {
      ids.push_back(loop.after(1h, [&] { ++fired; }));
    }
    for (const auto id : ids) {
      loop.cancel(id);
    }
    std::promise<void> done;
    loop.post([&] { done.set_value(); });
    done.get_future().wait();
  }
  CHECK(fired == 0);
}

TEST_CASE("a port is reported when it begins to accept, or at the deadline") {
  io_loop loop;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  const auto port = ntohs(address.sin_port);

  std::promise<bool> missed;
  loop.probe_port(port, steady::now() + 60ms, [&](bool ok) { missed.set_value(ok); });
  CHECK_FALSE(missed.get_future().get());

  std::promise<bool> accepted;
  std::atomic<bool> early{true};
  loop.probe_port(port, steady::now() + 30s, [&](bool ok) { accepted.set_value(ok && !early); });
  loop.after(50ms, [&] {
    early = false;
    ::listen(socket, 1);
  });
  CHECK(accepted.get_future().get());

  std::atomic<bool> told{false};
  const auto id = loop.probe_port(1, steady::now() + 30s, [&](bool) { told = true; });
  loop.cancel(id);
  std::promise<void> done;
  loop.post([&] { done.set_value(); });
  done.get_future().wait();
  CHECK_FALSE(told);
  ::close(socket);
}

// What only a keeper can do: children that outlive their node, and a node that outlives its keeper.
// A node that dies is a program of its own here, ended with SIGKILL.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <fstream>
#include <future>
#include <iterator>

#include "troupe/backends/keeper/left.hpp"
#include "troupe/backends/keeper/protocol.hpp"
#include "troupe/backends/local/spawn.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/backend_fixture.hpp"

using namespace troupe::backends;
using namespace troupe::testing;

namespace {

keeper_options lasting(const keeper_dir& dir) {
  auto options = keeper_in(dir);
  options.owner_grace = 30s;
  return options;
}

recovery recover(node& n) {
  auto told = std::make_shared<std::promise<recovery>>();
  auto result = told->get_future();
  n.backend.recover([told](recovery r) { told->set_value(std::move(r)); });
  REQUIRE(result.wait_for(patience) == std::future_status::ready);
  return result.get();
}

// Runs `life` in a process of its own until it calls `ready`, then kills that process.
void short_life(const std::function<void(const std::function<void()>& ready)>& life) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const auto pid = ::fork();
  if (pid == 0) {
    life([&] {
      (void)!::write(ends[1], "x", 1);
      for (;;) {
        ::pause();
      }
    });
    ::_exit(1);
  }
  ::close(ends[1]);
  char byte = 0;
  const bool lived = ::read(ends[0], &byte, 1) == 1;
  ::close(ends[0]);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  REQUIRE(lived);
}

int keeper_of(int child) {
  std::ifstream file("/proc/" + std::to_string(child) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("PPid:", 0) == 0) {
      return std::atoi(line.c_str() + 5);
    }
  }
  return 0;
}

std::string numbers(int from, int to) {
  std::string out;
  for (int i = from; i <= to; ++i) {
    out += std::to_string(i) + "\n";
  }
  return out;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A child waits here until it is told to go on.
class gate {
 public:
  explicit gate(const keeper_dir& dir) : path_(dir / "gate") {
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
  }
  std::string wait() const { return "read -r _ < " + path_; }
  void open() const { std::ofstream(path_) << '\n'; }

 private:
  std::string path_;
};

int raw_connection(const keeper_dir& dir) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", (dir / "keeper.sock").c_str());
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

}  // namespace

TEST_CASE("a command of a megabyte and 8 MiB of stdin go through a keeper") {
  const keeper_dir dir;
  node n(keeper_in(dir));
  auto spec = shell(". /dev/fd/8");
  spec.command_script = "echo begin\n" + std::string(1 << 20, '#') + "\necho end\n";
  auto command = recorder::start(n, spec);
  REQUIRE(command->wait_drained());
  CHECK(command->text() == "begin\nend\n");
  CHECK(command->status->max_rss_kib > 0);

  auto counting = shell("wc -c");
  counting.stdin_pipe = true;
  auto r = recorder::start(n, counting);
  CHECK(r->write(std::string(8 << 20, 'x'), true).status == write_status::ok);
  REQUIRE(r->wait_drained());
  CHECK(r->text() == "8388608\n");
  command->release();
  r->release();
}

TEST_CASE("a new node goes on where one that was killed had come to, byte for byte") {
  const bool consumed = GENERATE(false, true);
  const keeper_dir dir;
  short_life([&](const auto& ready) {
    node n(lasting(dir));
    auto r = recorder::start(n,
                             shell("for i in $(seq 1 20000); do echo $i; done; read x; seq 20001 "
                                   "30000; exit 3"),
                             consumed ? recorder::mode::keep : recorder::mode::manual);
    r->wait_started();
    r->info->output->get().header().notes[2] = 4711;
    eventually([&] { return r->info->output->get().end() > 20'000; });
    ready();
  });
  node n(lasting(dir));
  const auto found = recover(n);
  CHECK(found.problem.empty());
  REQUIRE(found.children.size() == 1);
  CHECK(found.next_id == 2);
  const auto& f = found.children[0];
  CHECK(f.notes[2] == 4711);
  CHECK(f.spool_path.empty());
  auto r = recorder::adopt(n, f);
  REQUIRE(r->wait_drained());
  CHECK(r->status->code == 3);
  CHECK(r->events.front() == "started");
  CHECK(r->first + r->output.size() == numbers(1, 30'000).size());
  CHECK(r->text() == numbers(1, 30'000).substr(static_cast<std::size_t>(r->first)));
  r->release();
}

TEST_CASE("what does not fit into the ring meanwhile is in the spool file, in front of the rest") {
  const keeper_dir dir;
  const gate gone(dir);
  short_life([&](const auto& ready) {
    node n(lasting(dir));
    auto r = recorder::start(n,
                             shell("echo up; " + gone.wait() + "; seq 1 400000; echo done; touch " +
                                   (dir / "printed") + "; sleep 600"),
                             recorder::mode::manual);
    r->wait_started();
    ready();
  });
  gone.open();
  REQUIRE(eventually([&] { return dir.has("printed"); }));
  node n(keeper_in(dir));
  const auto found = recover(n);
  REQUIRE(found.children.size() == 1);
  const auto& f = found.children[0];
  REQUIRE_FALSE(f.spool_path.empty());
  CHECK(f.spool_from == 0);
  auto r = recorder::adopt(n, f);
  REQUIRE(r->wait_output("done"));
  const auto spooled = contents(f.spool_path);
  CHECK(spooled.size() == f.spool_bytes);
  CHECK(r->first == f.spool_bytes);
  CHECK(r->output.size() >= 200'000);
  CHECK(spooled + r->text() == "up\n" + numbers(1, 400'000) + "done\n");
  r->kill();
  r->release();
  std::filesystem::remove(f.spool_path);
}

TEST_CASE(
    "an end that nobody saw is found with its status, by the next node and by one much later") {
  const bool later = GENERATE(false, true);
  const keeper_dir dir;
  const gate gone(dir);
  int keeper = 0;
  short_life([&](const auto& ready) {
    node n(later ? keeper_in(dir) : lasting(dir));
    auto spec =
        shell("echo some; echo $$ > " + (dir / "pid") + "; " + gone.wait() + "; echo last; exit 9");
    spec.on_owner_death = owner_death::keep;
    recorder::start(n, spec, recorder::mode::manual)->wait_started();
    ready();
  });
  gone.open();
  if (later) {
    REQUIRE(eventually([&] { return dir.ended(); }));
  } else {
    const int child = std::stoi(contents(dir / "pid"));
    REQUIRE(eventually([&] { return ::kill(child, 0) != 0; }));
  }
  node n(keeper_in(dir));
  const auto found = recover(n);
  CHECK(found.problem.empty());
  REQUIRE(found.children.size() == 1);
  const auto& f = found.children[0];
  n.last_id = found.next_id;
  if (later) {
    REQUIRE(f.left);
    CHECK(f.left->code == 9);
    CHECK(f.total_bytes == 10);
    CHECK(f.spool_bytes == 10);
    CHECK(contents(f.spool_path) == "some\nlast\n");
    std::filesystem::remove(f.spool_path);
    n.backend.release(f.id);
    CHECK(eventually([&] { return !dir.has("left"); }));
  } else {
    auto r = recorder::adopt(n, f);
    REQUIRE(r->wait_drained());
    CHECK(r->status->known);
    CHECK(r->status->code == 9);
    CHECK(r->text() == "some\nlast\n");
    keeper = keeper_of(r->info->pid);
    r->release();
  }
  CHECK(keeper == 0);
}

TEST_CASE("a keeper without children and without a node ends and leaves nothing") {
  const keeper_dir dir;
  {
    node n(keeper_in(dir));
    auto r = recorder::start(n, shell("exit 0"));
    REQUIRE(r->wait_drained());
    CHECK_FALSE(dir.ended());
    r->release();
  }
  CHECK(eventually([&] { return std::filesystem::is_empty(dir.path()); }));
}

TEST_CASE("a second node is refused; one that takes over has the children for itself") {
  const keeper_dir dir;
  std::string told;
  auto options = lasting(dir);
  std::promise<void> superseded;
  options.problem = [&](const std::string& what) {
    told = what;
    superseded.set_value();
  };
  node first(options);
  auto spec = shell("echo up; read x; echo got $x; exit 4");
  spec.stdin_pipe = true;
  auto r = recorder::start(first, spec);
  REQUIRE(r->wait_output("up"));
  {
    node second(lasting(dir));
    const auto found = recover(second);
    CHECK(found.children.empty());
    CHECK(found.problem.find("another node (pid " + std::to_string(::getpid()) + ")") !=
          std::string::npos);
    auto refused = recorder::start(second, shell("true"));
    REQUIRE(refused->wait_started());
    REQUIRE(refused->error);
    CHECK(refused->error->error_number == EBUSY);
  }
  auto taking = lasting(dir);
  taking.take_over = true;
  node third(taking);
  const auto found = recover(third);
  REQUIRE(superseded.get_future().wait_for(patience) == std::future_status::ready);
  CHECK(told.find("has taken over the keeper") != std::string::npos);
  REQUIRE(found.children.size() == 1);
  // The first may still write where the ring was: it is its own memory now.
  r->info->output->get().header().released = 1'000'000;
  auto again = recorder::adopt(third, found.children[0]);
  again->write("x\n");
  REQUIRE(again->wait_drained());
  CHECK(again->text() == "got x\n");
  CHECK(again->status->code == 4);
  CHECK(r->count("exited") == 0);
  again->release();
}

TEST_CASE("C23: each owner-death policy is kept, for grandchildren and terminals too") {
  const keeper_dir dir;
  std::vector<std::string> markers;
  for (int i = 0; i < 3; ++i) {
    markers.push_back("death_" + std::to_string(::getpid()) + "_" + std::to_string(i));
  }
  short_life([&](const auto& ready) {
    node n(keeper_in(dir));
    for (std::size_t i = 0; i < 3; ++i) {
      auto spec = shell("setsid sleep 600 & sleep 600");
      spec.on_owner_death = i == 1 ? owner_death::keep : owner_death::end;
      spec.pty = i == 2;
      spec.marker = markers[i];
      auto r = std::make_shared<recorder>(n, recorder::mode::keep);
      n.backend.start(i + 1, spec, r);
      r->wait_started();
    }
    eventually([&] { return marked(markers[2]).size() == 3 && marked(markers[0]).size() == 3; });
    ready();
  });
  CHECK(eventually([&] { return marked(markers[0]).empty() && marked(markers[2]).empty(); }, 2s));
  CHECK(marked(markers[1]).size() == 3);
  // Their records come when the ladders have looked around.
  REQUIRE(
      eventually([&] { return dir.has("left/" + markers[0]) && dir.has("left/" + markers[2]); }));
  node n(keeper_in(dir));
  const auto found = recover(n);
  REQUIRE(found.children.size() == 3);  // one runs, two have left a record
  for (const auto& f : found.children) {
    CHECK(f.left.has_value() == (f.marker != markers[1]));
    if (!f.left) {
      CHECK(f.on_owner_death == owner_death::keep);
      auto r = recorder::adopt(n, f);
      n.backend.set_owner_death(f.id, owner_death::end);
    } else {
      CHECK(f.left->signal != 0);
      n.backend.release(f.id);
    }
  }
}

TEST_CASE("the keeper is killed: output goes on, nothing false is told, the next start works") {
  const keeper_dir dir;
  auto options = keeper_in(dir);
  std::promise<std::string> told;
  options.problem = [&](const std::string& what) { told.set_value(what); };
  node n(options);
  auto talking = shell("for i in $(seq 1 50000); do echo $i; done; read x; echo got $x; exit 3");
  talking.stdin_pipe = true;
  auto r = recorder::start(n, talking);
  auto terminal = shell("read x; echo terminal $x");
  terminal.pty = true;
  auto t = recorder::start(n, terminal);
  auto stubborn = recorder::start(n, shell("setsid sleep 600 & echo up; sleep 600"));
  REQUIRE(r->wait_output("20000\n"));
  REQUIRE(t->wait_started());
  REQUIRE(stubborn->wait_output("up"));
  const auto keeper = keeper_of(r->info->pid);
  REQUIRE(keeper > 1);
  ::kill(keeper, SIGKILL);
  CHECK(told.get_future().get().find("the keeper (pid " + std::to_string(keeper) + ") has ended") ==
        0);
  CHECK(r->write("me\n").status == write_status::ok);
  REQUIRE(r->wait_drained());
  CHECK_FALSE(r->status->known);
  CHECK(r->status->code == 0);
  CHECK(r->count("exited") == 1);
  CHECK(r->text().substr(r->text().size() - 7) == "got me\n");
  CHECK(t->write("you\n").status == write_status::ok);
  REQUIRE(t->wait_drained());
  CHECK(t->text().find("terminal you") != std::string::npos);
  CHECK(eventually([&] { return stubborn->describe().tree.size() == 2; }));
  stubborn->kill();
  CHECK(marked(stubborn->marker).empty());
  auto next = recorder::start(n, shell("exit 5"));
  REQUIRE(next->wait_drained());
  CHECK(next->status->known);
  CHECK(next->status->code == 5);
  for (auto& one : {r, t, stubborn, next}) {
    one->release();
  }
}

TEST_CASE("a damaged ring costs its process some output and nothing else") {
  const keeper_dir dir;
  node n(keeper_in(dir));
  const auto nonsense = GENERATE(std::uint64_t{1} << 40, ~std::uint64_t{0}, std::uint64_t{1} << 63);
  auto r = recorder::start(n, shell("while :; do seq 1 10000; done"), recorder::mode::count);
  auto other = recorder::start(n, shell("while :; do echo tick; sleep 0.01; done"));
  REQUIRE(r->wait([](auto& x) { return x.bytes > 100'000; }));
  auto& header = r->info->output->get().header();
  header.released = nonsense;
  header.produced = nonsense / 3;
  REQUIRE(eventually([&] { return header.produced < nonsense / 4 && header.produced > 0; }));
  const auto now = header.produced.load();
  CHECK(eventually([&] {
    r->consume();
    return header.produced > now + 1'000'000;
  }));
  const auto seen = other->now([](auto& x) { return x.bytes; });
  CHECK(other->wait([&](auto& x) { return x.bytes > seen; }));
  r->kill();
  other->kill();
  CHECK(r->status->signal == SIGTERM);
  r->release();
  other->release();
}

TEST_CASE("the spool keeps to its cap, and counts what it drops") {
  const keeper_dir dir;
  constexpr std::uint64_t total = 5'000'000;
  short_life([&](const auto& ready) {
    auto options = keeper_in(dir);
    options.spool_bytes = 1'000'000;
    node n(options);
    auto spec = shell("sleep 0.2; head -c 5000000 /dev/zero | tr '\\0' x");
    spec.on_owner_death = owner_death::keep;
    recorder::start(n, spec, recorder::mode::manual)->wait_started();
    ready();
  });
  REQUIRE(eventually([&] { return dir.ended(); }));
  node n(keeper_in(dir));
  const auto found = recover(n);
  REQUIRE(found.children.size() == 1);
  const auto& f = found.children[0];
  REQUIRE(f.left);
  CHECK(f.total_bytes == total);
  CHECK(f.spool_bytes - f.tail_bytes == 1'000'000);
  CHECK(f.tail_bytes >= 200'000);
  CHECK(f.tail_bytes <= 512 * 1024);
  CHECK(std::filesystem::file_size(f.spool_path) == f.spool_bytes);
  n.backend.release(f.id);
}

TEST_CASE("what the spool has dropped is known as well while the record cannot be written") {
  const keeper_dir dir;
  const gate gone(dir);
  std::ofstream(dir / "left") << "in the way of the folder";
  short_life([&](const auto& ready) {
    auto options = keeper_in(dir);
    options.spool_bytes = 1'000'000;
    node n(options);
    auto spec = shell(gone.wait() + "; head -c 5000000 /dev/zero | tr '\\0' x");
    spec.on_owner_death = owner_death::keep;
    recorder::start(n, spec, recorder::mode::manual)->wait_started();
    ready();
  });
  gone.open();
  const auto spooled = [&] {
    std::uintmax_t bytes = 0;
    std::error_code none_yet;
    for (const auto& file : std::filesystem::directory_iterator(dir / "spool", none_yet)) {
      bytes += file.file_size();
    }
    return bytes;
  };
  REQUIRE(eventually([&] { return spooled() > 1'000'000; }));  // with the end
  node n(keeper_in(dir));
  const auto found = recover(n);
  REQUIRE(found.children.size() == 1);
  const auto& f = found.children[0];
  REQUIRE(f.left);
  CHECK(f.total_bytes == 5'000'000);
  CHECK(f.spool_bytes == spooled());
  CHECK(f.spool_bytes - f.tail_bytes == 1'000'000);
  n.backend.release(f.id);
}

TEST_CASE("a process costs two descriptors in both programs together, and no zombie") {
  const keeper_dir dir;
  node n(keeper_in(dir));
  auto first = recorder::start(n, shell("sleep 600"));
  REQUIRE(first->wait_started());
  const auto keeper = std::to_string(keeper_of(first->info->pid));
  const auto open = [&] {
    return open_descriptors() + entries(("/proc/" + keeper + "/fd").c_str());
  };
  const auto before = open();
  std::vector<std::shared_ptr<recorder>> all;
  for (int i = 0; i < 50; ++i) {
    all.push_back(recorder::start(n, shell("sleep 600")));
    REQUIRE(all.back()->wait_started());
  }
  CHECK(entries(("/proc/" + keeper + "/task").c_str()) == 2 + 2);
  CHECK(eventually([&] { return open() <= before + 2 * 50; }));
  for (auto& r : all) {
    n.backend.kill(r->id, {});
  }
  for (auto& r : all) {
    REQUIRE(r->wait_killed());
    r->release();
  }
  CHECK(eventually([&] { return open() <= before; }));
  std::ifstream children("/proc/" + keeper + "/task/" + keeper + "/children");
  CHECK(std::distance(std::istream_iterator<int>(children), {}) == 1);
  first->kill();
  first->release();
}

TEST_CASE("the keeper's environment is empty and closed to its children") {
  ::setenv("TROUPE_TEST_SECRET", "hunter2", 1);
  const keeper_dir dir;
  node n(keeper_in(dir));
  auto r = recorder::start(n, shell("cat /proc/$PPID/environ; umask; pwd"));
  REQUIRE(r->wait_drained());
  CHECK(r->text().find("hunter2") == std::string::npos);
  ::unsetenv("TROUPE_TEST_SECRET");
  r->release();
}

TEST_CASE("without a program for the keeper children are started here, and it is said once") {
  const keeper_dir dir;
  auto options = keeper_in(dir);
  options.program = "/no/such/keeper";
  std::vector<std::string> told;
  options.problem = [&](const std::string& what) { told.push_back(what); };
  node n(options);
  for (int i = 0; i < 2; ++i) {
    auto r = recorder::start(n, shell("exit 6"));
    REQUIRE(r->wait_drained());
    CHECK(r->status->code == 6);
    r->release();
  }
  REQUIRE(told.size() == 1);
  CHECK(told[0] == "ENOENT while starting /no/such/keeper; processes are started without a keeper");
}

TEST_CASE("a damaged record is set aside and named, the others are found") {
  const keeper_dir dir;
  std::filesystem::create_directory(dir / "left");
  keeper::left_record record;
  record.child.marker = "good";
  record.child.holders = {1, 2};
  record.exit.code = 3;
  const auto text = keeper::write_left(record);
  std::ofstream(dir / "left/good", std::ios::binary) << text;
  std::ofstream(dir / "left/bad", std::ios::binary) << text.substr(0, text.size() - 1);
  node n(keeper_in(dir));
  const auto found = recover(n);
  REQUIRE(found.children.size() == 1);
  CHECK(found.children[0].marker == "good");
  CHECK(found.children[0].left->code == 3);
  CHECK(found.problem == "damaged record left by the keeper, set aside: bad");
  CHECK(dir.has("left/bad.damaged"));
}

TEST_CASE("malformed records are refused whatever is wrong with them") {
  keeper::start_order order;
  order.id = 7;
  order.spec = shell("true");
  const auto good = keeper::encode(order);
  REQUIRE(keeper::decode<keeper::start_order>(good));
  CHECK(keeper::decode<keeper::start_order>(good)->spec.argv == order.spec.argv);
  for (std::size_t n = 0; n < good.size(); ++n) {
    CHECK_FALSE(keeper::decode<keeper::start_order>(std::string_view(good).substr(0, n)));
  }
  CHECK_FALSE(keeper::decode<keeper::start_order>(good + "x"));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char c : {'\0', '\x01', '\x7f', '\xff'}) {
      auto bad = good;
      bad[i] = c;
      keeper::decode<keeper::start_order>(bad);  // whatever it says, it must not crash
    }
  }
  const auto left = keeper::write_left({});
  REQUIRE(keeper::read_left(left));
  for (std::size_t i = 0; i < left.size(); ++i) {
    auto bad = left;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    CHECK_FALSE(keeper::read_left(bad));
    CHECK_FALSE(keeper::read_left(left.substr(0, i)));
  }
}

TEST_CASE("who talks nonsense to the keeper loses its connection, nobody else does") {
  const keeper_dir dir;
  node n(keeper_in(dir));
  auto spec = shell("read x; exit 2");
  spec.stdin_pipe = true;
  auto r = recorder::start(n, spec);
  REQUIRE(r->wait_started());
  keeper::hello newer;
  newer.version = 99;
  const auto frame = [](keeper::kind what, const std::string& body) {
    const std::uint16_t head[] = {static_cast<std::uint16_t>(what), 0};
    const auto size = static_cast<std::uint32_t>(body.size());
    std::string out(reinterpret_cast<const char*>(head), sizeof head);
    return out.append(reinterpret_cast<const char*>(&size), sizeof size).append(body);
  };
  const std::string packets[] = {
      "x",
      std::string(8, '\xff'),
      std::string(30'000, 'a'),
      frame(keeper::kind::hello, ""),
      frame(keeper::kind::hello, "\x01"),
      frame(keeper::kind::hello, std::string(4, '\1')),
      frame(keeper::kind::start, std::string(100, '\0')),
      frame(keeper::kind::hello, keeper::encode(newer)),
  };
  for (const auto& packet : packets) {
    const int fd = raw_connection(dir);
    REQUIRE(::send(fd, packet.data(), packet.size(), 0) == static_cast<ssize_t>(packet.size()));
    char answer[4096];
    std::string all;
    for (ssize_t got = 0; (got = ::recv(fd, answer, sizeof answer, 0)) > 0;) {
      all.append(answer, static_cast<std::size_t>(got));
    }
    if (&packet == &packets[7]) {
      const auto ours = std::to_string(keeper::protocol_version);
      CHECK(all.find("speaks version " + ours + " of the protocol, the node version 99") !=
            std::string::npos);
    }
    ::close(fd);
  }
  CHECK(r->signal(SIGINT) == 0);
  REQUIRE(r->wait_drained());
  r->release();
}

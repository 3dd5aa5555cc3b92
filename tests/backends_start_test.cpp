// Starting: what a child gets, what errors say, what is left behind.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "troupe/backends/local/spawn.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/backend_fixture.hpp"

using namespace troupe::backends;
using namespace troupe::testing;

namespace {

start_error fail(node& n, spawn_spec spec) {
  auto r = recorder::start(n, std::move(spec));
  REQUIRE(r->wait_started());
  REQUIRE(r->error);
  return *r->error;
}

spawn_spec program(std::vector<std::string> argv) {
  auto spec = shell("");
  spec.argv = std::move(argv);
  return spec;
}

class limited_descriptors {
 public:
  explicit limited_descriptors(rlim_t n) {
    ::getrlimit(RLIMIT_NOFILE, &old_);
    auto now = old_;
    now.rlim_cur = n;
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~limited_descriptors() { ::setrlimit(RLIMIT_NOFILE, &old_); }

 private:
  rlimit old_{};
};

}  // namespace

TEST_CASE("C40: start errors name the stage, the errno and the thing") {
  node n;
  {
    const auto e = fail(n, program({"troupe-no-such-program"}));
    CHECK(e.where == stage::resolve);
    CHECK(e.error_number == ENOENT);
    CHECK(e.text == "ENOENT: no such program: troupe-no-such-program");
  }
  {
    const auto e = fail(n, program({"/no/such/program"}));
    CHECK(e.where == stage::exec);
    CHECK(e.text == "ENOENT: no such program: /no/such/program");
  }
  {
    auto spec = shell("true");
    spec.cwd = "/nope";
    const auto e = fail(n, spec);
    CHECK(e.where == stage::chdir);
    CHECK(e.text == "ENOENT: no such directory: /nope");
    spec.cwd = "/etc/passwd";
    CHECK(fail(n, spec).text == "ENOTDIR: not a directory: /etc/passwd");
  }
  {
    const auto e = fail(n, program({"/etc/passwd"}));
    CHECK(e.where == stage::exec);
    CHECK(e.text == "EACCES: permission denied: /etc/passwd");
  }
  {
    char directory[] = "/tmp/troupe-path-XXXXXX";
    REQUIRE(::mkdtemp(directory) != nullptr);
    const auto file = std::string(directory) + "/notexec";
    std::ofstream(file) << "x";
    auto spec = program({"notexec"});
    spec.env = {"PATH=" + std::string(directory)};
    const auto e = fail(n, spec);
    CHECK(e.where == stage::resolve);
    CHECK(e.text == "EACCES: not executable: " + file);
    ::chmod(file.c_str(), 0755);
    spec.argv = {"./notexec"};  // relative to the child's directory; not a known format
    spec.cwd = directory;
    CHECK(fail(n, spec).text == "ENOEXEC: not a program for this machine: ./notexec");
    std::ofstream(file) << "#!/no/such/interpreter\n";
    spec.argv = {file};
    CHECK(fail(n, spec).text == "ENOENT: the interpreter is missing: " + file);
    ::unlink(file.c_str());
    ::rmdir(directory);
  }
  {
    auto spec = shell("true");
    spec.env.push_back("BIG=" + std::string(200'000, 'x'));
    const auto e = fail(n, spec);
    CHECK(e.where == stage::exec);
    CHECK(e.error_number == E2BIG);
    CHECK(e.text.rfind("E2BIG: argument list or environment too long", 0) == 0);
  }
  CHECK(own_children() == 0);
}

TEST_CASE("C40: no descriptors left, for each kind of child") {
  node n;
  recorder::start(n, shell("true"))->wait_drained();
  const auto before = open_descriptors();
  for (const auto& [pty, stdin_pipe] : {std::pair{false, false}, {false, true}, {true, false}}) {
    // One more at a time until it works: every place where it can fail is passed.
    bool worked = false;
    for (rlim_t more = 0; more < 8 && !worked; ++more) {
      auto spec = shell("true");
      spec.pty = pty;
      spec.stdin_pipe = stdin_pipe;
      std::shared_ptr<recorder> r;
      {
        const limited_descriptors limit(before - 3 + more);  // ".", ".." and the listing itself
        r = recorder::start(n, spec);
        REQUIRE(r->wait_started());
      }
      if (r->error) {
        INFO(r->error->text);
        CHECK(r->error->where == stage::limits);
        CHECK(r->error->error_number == EMFILE);
        CHECK(r->error->text.rfind("EMFILE: too many open files while ", 0) == 0);
      } else {
        REQUIRE(r->wait_drained());
        worked = true;
      }
      r->release();
      CHECK(eventually([&] { return open_descriptors() == before; }));
    }
    CHECK(worked);
  }
  CHECK(eventually([] { return own_children() == 0; }));
}

TEST_CASE("no ring left is a start error") {
  node n({}, 1);
  auto first = recorder::start(n, shell("sleep 600"));
  REQUIRE(first->wait_started());
  const auto e = fail(n, shell("true"));
  CHECK(e.where == stage::limits);
  first->kill();
}

TEST_CASE("a child gets three descriptors, its own session, default signals and an empty mask") {
  const bool share = GENERATE(true, false);
  local_options options;
  options.spawn.share_descriptors = share;
  node n(options);
  const int leaky = ::open("/dev/null", O_RDONLY);  // not close-on-exec
  const int high = ::fcntl(leaky, F_DUPFD, 200);
  auto spec = shell(
      "ps -o pid=,pgid=,sid= $$; "
      "cat /proc/self/status | grep -E 'Sig(Blk|Ign|Cgt)'; ulimit -n; pwd; env | grep TROUPE");
  auto r = recorder::start(n, spec);
  REQUIRE(r->wait_drained());
  auto list = recorder::start(n, program({"ls", "/proc/self/fd"}));
  REQUIRE(list->wait_drained());
  CHECK(list->text() == "0\n1\n2\n3\n");  // the last one is the directory it reads
  ::close(leaky);
  ::close(high);
  const auto pid = std::to_string(r->info->pid);
  std::istringstream in(r->text());
  std::string a, b, c;
  in >> a >> b >> c;
  CHECK((a == pid && b == pid && c == pid));
  for (const auto* name : {"SigBlk:", "SigIgn:", "SigCgt:"}) {
    in >> a >> b;
    CHECK(a == name);
    CHECK(b == "0000000000000000");
  }
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  in >> a >> b >> c;
  CHECK(a == std::to_string(files.rlim_cur));
  CHECK(b == "/tmp");
  CHECK(c == "TROUPE_PROCESS=" + r->marker);
}

TEST_CASE("children get the soft limit of descriptors that is asked for") {
  local_options options;
  options.spawn.nofile_soft = 77;
  node n(options);
  auto r = recorder::start(n, shell("ulimit -Sn"));
  REQUIRE(r->wait_drained());
  CHECK(r->text() == "77\n");
}

TEST_CASE("200 failing starts leave nothing behind") {
  node n;
  recorder::start(n, shell("true"))->wait_drained();
  const auto descriptors = open_descriptors();
  const auto threads = own_threads();
  for (int i = 0; i < 200; ++i) {
    auto spec = shell("true");
    spec.cwd = "/nope";
    spec.pty = i % 2 == 0;
    auto r = recorder::start(n, spec);
    REQUIRE(r->wait_started());
    REQUIRE(r->error);
  }
  // The first child may have had one still when they were counted.
  CHECK(eventually([&] { return open_descriptors() <= descriptors; }));
  CHECK(own_threads() == threads);
  CHECK(own_children() == 0);
}

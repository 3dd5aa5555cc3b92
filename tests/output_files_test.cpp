// The whole output of foreground commands whose results had to be cut: complete, masked, capped, for
// nobody else's eyes, and gone after some days.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "troupe/persistence/output_files.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/faulty_files.hpp"
#include "troupe/tests/support/host.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

options in(const temporary_dir& dir) {
  auto opts = host::quick_options();
  opts.state_dir = dir.path();
  return opts;
}

std::string slurp(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  REQUIRE(file);
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::size_t files_in(const std::string& dir) {
  std::error_code ignored;
  return static_cast<std::size_t>(std::distance(fs::directory_iterator{dir, ignored}, {}));
}

const std::string token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

}  // namespace

TEST_CASE("output that fits leaves no file") {
  temporary_dir dir;
  host h{in(dir)};
  const auto result = h.run("head -c 50000 /dev/zero | tr '\\0' x");
  CHECK_FALSE(result.truncated);
  CHECK(result.full_output_path.empty());
  CHECK(files_in(dir.path() + "/output") == 0);
}

TEST_CASE("output that had to be cut is in a file, all of it, masked and private") {
  temporary_dir dir;
  host h{in(dir)};
  const auto result = h.run("seq 1 20000; echo token " + token + "; seq 20001 40000");
  REQUIRE(result.truncated);
  REQUIRE(result.full_output_path.starts_with(dir.path() + "/output/proc_"));
  struct stat info {};
  REQUIRE(::lstat(result.full_output_path.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  REQUIRE(::lstat((dir.path() + "/output").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0700);
  std::string expected;
  for (int i = 1; i <= 20'000; ++i) expected += std::to_string(i) + "\n";
  const auto text = slurp(result.full_output_path);
  CHECK(text.starts_with(expected + "token "));
  CHECK(text.ends_with("\n40000\n"));
  CHECK(text.find(token) == text.npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 40'001);
}

TEST_CASE("one character too many makes a file, and so does a marker that needs its place") {
  temporary_dir dir;
  host h{in(dir)};
  const auto over = h.run("head -c 50001 /dev/zero | tr '\\0' x");
  CHECK(over.output_omitted_chars == 1);
  CHECK(slurp(over.full_output_path) == std::string(50'001, 'x'));
  const auto late = h.run("head -c 49990 /dev/zero | tr '\\0' x; sleep 600",
                          [](spawn_request& r) { r.timeout = caf::timespan{500ms}; });
  CHECK(late.status == run_status::timed_out);
  REQUIRE(late.truncated);
  CHECK(slurp(late.full_output_path) == std::string(49'990, 'x'));
}

TEST_CASE("characters and control sequences over reads are whole in the file") {
  temporary_dir dir;
  host h{in(dir)};
  const auto result =
      h.run("for i in $(seq 1 60); do printf 'ü\\033[1m%.0s' $(seq 1 1000); done; printf '\\303'");
  CHECK(result.output_total_bytes == 60'000 * 6 + 1);
  CHECK(result.output_omitted_chars == 10'001);
  std::string expected;
  for (int i = 0; i < 60'000; ++i) expected += "ü";
  CHECK(slurp(result.full_output_path) == expected + "\uFFFD");
}

TEST_CASE("a command that is faster than the disk is held back, and nothing is lost") {
  temporary_dir dir;
  host h{in(dir)};
  h.run("true");
  const auto before = resident_kib();
  const auto result = h.run("seq 1 7000000");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what is freed
  CHECK(resident_kib() - before < 16 * 1024);
#else
  static_cast<void>(before);
#endif
  CHECK(result.output_total_bytes == 54'888'896);
  CHECK(result.output_omitted_chars == 54'838'896);
  REQUIRE(fs::file_size(result.full_output_path) == 54'888'896);
  std::ifstream file{result.full_output_path};
  int expected = 0;
  int number = 0;
  while (file >> number && number == expected + 1) expected = number;
  CHECK(expected == 7'000'000);
}

TEST_CASE("a file has a limit, and says so") {
  temporary_dir dir;
  auto opts = in(dir);
  opts.full_output_bytes = 100'000;
  host h{opts};
  const auto result = h.run("head -c 30000000 /dev/zero | tr '\\0' x");
  CHECK(result.output_total_bytes == 30'000'000);
  CHECK(result.output_omitted_chars == 29'950'000);
  const auto text = slurp(result.full_output_path);
  CHECK(text.starts_with(std::string(100'000, 'x') + "\n... [OUTPUT FILE CUT"));
  CHECK(text.size() < 100'200);
}

TEST_CASE("a directory that cannot be used costs the file, not the command") {
  temporary_dir dir;
  temporary_dir elsewhere;
  auto opts = in(dir);
  auto told = std::make_shared<std::string>();
  opts.warn = [told](const std::string& text) { *told += text + "\n"; };
  SECTION("it is a symbolic link") {
    fs::create_directory_symlink(elsewhere.path(), dir.path() + "/output");
  }
  SECTION("it is a file") {
    std::ofstream{dir.path() + "/output"} << "x";
  }
  SECTION("it is open to others") {
    fs::create_directory(dir.path() + "/output");
    fs::permissions(dir.path() + "/output", fs::perms::all);
  }
  host h{opts};
  const auto result = h.run("seq 1 1000000");
  CHECK(result.process.exit->code == 0);
  CHECK(result.truncated);
  CHECK(result.full_output_path.empty());
  CHECK(result.output_total_bytes == 6'888'896);
  CHECK_THAT(*told, ContainsSubstring(dir.path() + "/output"));
  CHECK(std::count(told->begin(), told->end(), '\n') == 1);
  CHECK(files_in(elsewhere.path()) == 0);
}

TEST_CASE("without a state directory the file is in a private one for temporary files") {
  temporary_dir dir;
  const char* old = ::getenv("TMPDIR");
  const std::string before = old != nullptr ? old : "";
  ::setenv("TMPDIR", dir.path().c_str(), 1);
  std::string path;
  {
    host h;
    path = h.run("seq 1 20000").full_output_path;
  }
  if (old != nullptr) {
    ::setenv("TMPDIR", before.c_str(), 1);
  } else {
    ::unsetenv("TMPDIR");
  }
  CHECK(path.starts_with(dir.path() + "/troupe-output-"));
  CHECK(slurp(path).size() == 108'894);  // and it outlives the node
}

TEST_CASE("a command that yields has a file of what it printed so far") {
  temporary_dir dir;
  host h{in(dir)};
  spawn_request request;
  request.id = make_process_id();
  request.command = "seq 1 20000; echo ready; read -t 600 < <(sleep 600)";
  caf::scoped_actor self{h.system()};
  const auto pending =
      compat::request_within(self.ptr(), generous, h.registry(), run_atom_v, h.who, request);
  h.wait_until(request.id, "ready");
  CHECK(h.ask<std::uint32_t>(yield_atom_v, h.who) == 1);
  run_result result;
  const_cast<std::decay_t<decltype(pending)>&>(pending).receive(
      [&](run_result& x) { result = std::move(x); }, [](const caf::error&) { FAIL(); });
  CHECK(result.status == run_status::yielded);
  CHECK(slurp(result.full_output_path).ends_with("20000\nready\n"));
  h.kill(request.id);
}

TEST_CASE("many at once have a file each") {
  temporary_dir dir;
  host h{in(dir)};
  std::vector<std::thread> callers;
  std::vector<run_result> results(20);
  for (std::size_t i = 0; i < results.size(); ++i) {
    callers.emplace_back(
        [&, i] { results[i] = h.run("yes " + std::to_string(i) + " | head -n 300000"); });
  }
  for (auto& one : callers) one.join();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto text = slurp(results[i].full_output_path);
    const auto line = std::to_string(i) + "\n";
    CHECK(text.size() == 300'000 * line.size());
    CHECK(text.starts_with(line + line));
    CHECK(text.ends_with(line));
  }
}

// -- the files themselves -------------------------------------------------------------------------

TEST_CASE("secrets are masked wherever the parts are cut") {
  temporary_dir dir;
  const auto path = dir.path() + "/output";
  persistence::output_directory where{persistence::real_files(), path, {1 << 20, 1 << 30, 1h}};
  const std::string key =
      "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n"
      "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n";
  const std::string text = "a\n" + token + "\n" + key + "end " + token;
  std::string whole;
  for (std::size_t part : {std::size_t{1}, std::size_t{7}, std::size_t{64}, text.size()}) {
    std::string problem;
    auto file = where.create("proc_1", persistence::output_form::text, false, problem);
    REQUIRE(file);
    for (std::size_t at = 0; at < text.size(); at += part) {
      REQUIRE_FALSE(file->write(std::string_view{text}.substr(at, part)));
    }
    REQUIRE_FALSE(file->finish());
    const auto kept = slurp(file->path());
    CHECK(kept.find(token) == kept.npos);
    CHECK(kept.find("MIIEvQ") == kept.npos);
    if (whole.empty()) whole = kept;
    CHECK(kept == whole);
  }
  // Four files of one name, none of them overwritten.
  CHECK(files_in(path) == 4);
}

TEST_CASE("a name that is taken is never followed or overwritten") {
  temporary_dir dir;
  const auto path = dir.path() + "/output";
  fs::create_directory(path);
  fs::permissions(path, fs::perms::owner_all);
  const auto target = dir.path() + "/precious";
  std::ofstream{target} << "precious";
  fs::create_symlink(target, path + "/proc_1.log");
  fs::create_symlink(dir.path() + "/not there", path + "/proc_1-1.log");
  persistence::output_directory where{persistence::real_files(), path, {1 << 20, 1 << 30, 1h}};
  std::string problem;
  auto file = where.create("proc_1", persistence::output_form::text, false, problem);
  REQUIRE(file);
  CHECK(file->path() == path + "/proc_1-2.log");
  CHECK(slurp(target) == "precious");
  CHECK_FALSE(fs::exists(dir.path() + "/not there"));
}

TEST_CASE("files go by age, then the oldest until the rest fits; nothing else is touched") {
  temporary_dir dir;
  const auto path = dir.path();
  persistence::output_directory where{persistence::real_files(), path, {1 << 20, 250, 7 * 24h}};
  const auto now = fs::file_time_type::clock::now();
  const auto make = [&](const char* name, std::chrono::hours age) {
    std::ofstream{path + "/" + name} << std::string(100, 'x');
    fs::last_write_time(path + "/" + name, now - age);
  };
  make("proc_old.log", 24h * 8);
  make("proc_a.log", 3h);
  make("proc_b.log", 2h);
  make("proc_c.log", 1h);
  make("proc_busy.log", 24h * 9);
  make("notes.txt", 24h * 30);
  where.prune(std::chrono::system_clock::now(), {path + "/proc_busy.log"});
  CHECK_FALSE(fs::exists(path + "/proc_old.log"));
  CHECK_FALSE(fs::exists(path + "/proc_a.log"));
  CHECK(fs::exists(path + "/proc_b.log"));
  CHECK(fs::exists(path + "/proc_c.log"));
  CHECK(fs::exists(path + "/proc_busy.log"));
  CHECK(fs::exists(path + "/notes.txt"));
}

TEST_CASE("a disk that is full is an error of the file") {
  temporary_dir dir;
  faulty_files files;
  files.room = 100;
  persistence::output_directory where{files, dir.path(), {1 << 20, 1 << 30, 1h}};
  std::string problem;
  auto file = where.create("proc_1", persistence::output_form::text, false, problem);
  REQUIRE(file);
  CHECK_FALSE(file->write(std::string(50, 'x') + "\n"));
  CHECK(file->write(std::string(80, 'x') + "\n").value() == ENOSPC);
}

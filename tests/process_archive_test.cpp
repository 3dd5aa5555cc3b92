// The whole output of a background process that has outgrown the memory: in a file, read by the same cursors.
#include <filesystem>
#include <fstream>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe;
using namespace troupe::testing;
namespace fs = std::filesystem;

namespace {

options kept_in(const temporary_dir& dir) {
  auto opts = host::quick_options();
  opts.state_dir = dir.path();
  return opts;
}

std::string slurp(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Everything from the first byte on, by cursor.
std::string read_all(host& h, const std::string& id, output_view view) {
  std::string all;
  follow_options what;
  what.view = view;
  for (;;) {
    const auto chunk = h.ask<output_chunk>(follow_atom_v, h.who, id, what);
    REQUIRE(chunk.gap == 0);
    REQUIRE((chunk.cursor > what.cursor || chunk.finished));
    all += chunk.data;
    what.cursor = chunk.cursor;
    if (chunk.finished) return all;
  }
}

std::string numbers(int count) {
  std::string all;
  for (int i = 1; i <= count; ++i) all += std::to_string(i) + "\n";
  return all;
}

}  // namespace

TEST_CASE("a background process that prints more than memory keeps loses nothing") {
  temporary_dir dir;
  const auto expected = numbers(200'000);
  std::string id;
  {
    host h{kept_in(dir)};
    id = h.start("seq 1 200000").id;
    h.wait(id);
    CHECK((read_all(h, id, output_view::raw) == expected));
    CHECK((read_all(h, id, output_view::text) == expected));
    const auto polled = h.poll(id, {0, output_view::text, false});
    CHECK(polled.gap == 0);
    CHECK(polled.output->starts_with("1\n2\n3\n"));
    log_options lines;
    lines.offset = 99'999;
    lines.limit = 3;
    const auto log = h.log(id, lines);
    CHECK(log.output == "100000\n100001\n100002");
    CHECK(log.total_lines == 200'000);
    log_options search;
    search.search = "^777$";
    REQUIRE(h.log(id, search).matches.size() == 1);
    CHECK(h.log(id, search).matches[0].line == 776);
    CHECK((slurp(dir.path() + "/output/" + id + ".log") == expected));
  }
  // The next program of the owner reads it as well, by the same cursors; nobody else does.
  host h{kept_in(dir)};
  CHECK((read_all(h, id, output_view::raw) == expected));
  h.who.session = "another";
  CHECK(h.ask_error<poll_result>(poll_atom_v, h.who, id, poll_options{}) == errc::not_found);
}

TEST_CASE("secrets are masked in the file without moving a byte") {
  temporary_dir dir;
  host h{kept_in(dir)};
  const auto id = h.start("echo ghp_$(printf 'a%.0s' $(seq 36)); seq 1 100000; echo é").id;
  h.wait(id);
  const auto file = slurp(dir.path() + "/output/" + id + ".log");
  const auto whole = h.poll(id).total_bytes;
  CHECK(file.size() == whole);
  CHECK(file.find(std::string(20, 'a')) == file.npos);
  CHECK(file.find("\n1\n2\n3\n") == 40);
}

TEST_CASE("the file has a cap, and what is behind it is a gap with its exact size") {
  temporary_dir dir;
  auto opts = kept_in(dir);
  opts.full_output_bytes = 300'000;
  host h{opts};
  const auto id = h.start("seq 1 200000").id;
  h.wait(id);
  follow_options what;
  what.view = output_view::raw;
  std::string before;
  output_chunk chunk;
  for (;;) {
    chunk = h.ask<output_chunk>(follow_atom_v, h.who, id, what);
    if (chunk.gap > 0) break;
    before += chunk.data;
    what.cursor = chunk.cursor;
  }
  const auto expected = numbers(200'000);
  CHECK((before == expected.substr(0, 300'000)));
  CHECK(300'000 + chunk.gap + chunk.data.size() == chunk.cursor);
  CHECK(chunk.total_bytes == expected.size());
  CHECK((chunk.data == expected.substr(300'000 + chunk.gap, chunk.data.size())));
}

// The event journal as a file: what is written comes back, and damage costs only what was damaged.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "troupe/persistence/crc32c.hpp"
#include "troupe/persistence/journal.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/faulty_files.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

using namespace troupe::persistence;
using troupe::testing::faulty_files;
using troupe::testing::temporary_dir;
namespace fs = std::filesystem;

namespace {

journal_record numbered(std::uint64_t n) {
  return {1, n, R"({"text":"event )" + std::to_string(n) + "\"}"};
}

struct reading {
  std::vector<journal_record> records;
  std::vector<journal_loss> losses;
};

reading read(const std::string& dir) {
  reading result;
  journal j{real_files(), dir, 1 << 20};
  REQUIRE_FALSE(j.open([&](journal_record r) { result.records.push_back(std::move(r)); }));
  result.losses = j.losses();
  return result;
}

std::string slurp(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

TEST_CASE("the checksum is CRC-32C") {
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c("") == 0);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
}

TEST_CASE("what is appended comes back in order, over segments and lives") {
  temporary_dir dir;
  std::uint64_t n = 0;
  for (int life = 0; life < 3; ++life) {
    std::uint64_t seen = 0;
    journal j{real_files(), dir.path() + "/events", 500};
    REQUIRE_FALSE(j.open([&](const journal_record& r) { CHECK(r.number == ++seen); }));
    CHECK(seen == n);
    for (int i = 0; i < 50; ++i) REQUIRE_FALSE(j.append(numbered(++n)));
    CHECK(j.segments() >= 5);
  }
  const auto all = read(dir.path() + "/events");
  CHECK(all.records.size() == 150);
  CHECK(all.records[70].payload == R"({"text":"event 71"})");
  CHECK(all.losses.empty());
  for (const auto& entry : fs::directory_iterator{dir.path() + "/events"}) {
    struct stat info {};
    REQUIRE(::stat(entry.path().c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
  }
  struct stat info {};
  REQUIRE(::stat((dir.path() + "/events").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
}

TEST_CASE("any byte flipped costs the record it is in, and only that") {
  temporary_dir dir;
  {
    journal j{real_files(), dir.path(), 1 << 20};
    REQUIRE_FALSE(j.open([](const journal_record&) {}));
    for (std::uint64_t n = 1; n <= 5; ++n) REQUIRE_FALSE(j.append(numbered(n)));
  }
  const auto path = fs::path{dir.path()} / "0000000000000001.log";
  const auto good = slurp(path);
  const auto size = encode_record(numbered(1)).size();
  REQUIRE(good.size() == 5 * size);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char bit : {'\x01', '\x80', '\xff'}) {
      auto bad = good;
      bad[at] = static_cast<char>(bad[at] ^ bit);
      std::vector<std::uint64_t> left;
      const auto losses =
          decode_records(bad, [&](const journal_record& r) { left.push_back(r.number); });
      const auto hit = at / size;
      std::vector<std::uint64_t> expected;
      for (std::uint64_t n = 0; n < 5; ++n) {
        if (n != hit) expected.push_back(n + 1);
      }
      REQUIRE(left == expected);
      REQUIRE(losses.size() == 1);
      REQUIRE(losses[0].offset == hit * size);
      REQUIRE(losses[0].bytes == size);
      REQUIRE_FALSE(losses[0].reason.empty());
    }
  }
}

TEST_CASE("any suffix cut off costs what was cut off, and writing goes on") {
  temporary_dir dir;
  std::string good;
  for (std::uint64_t n = 1; n <= 4; ++n) good += encode_record(numbered(n));
  const auto size = good.size() / 4;
  for (std::size_t length = 0; length <= good.size(); ++length) {
    const auto where = dir.path() + "/" + std::to_string(length);
    fs::create_directory(where);
    std::ofstream{where + "/0000000000000001.log", std::ios::binary} << good.substr(0, length);
    journal j{real_files(), where, 1 << 20};
    std::uint64_t last = 0;
    REQUIRE_FALSE(j.open([&](const journal_record& r) { last = r.number; }));
    REQUIRE(last == length / size);
    if (length % size == 0) {
      REQUIRE(j.losses().empty());
    } else {
      REQUIRE(j.losses().size() == 1);
      REQUIRE(j.losses()[0].bytes == length % size);
      REQUIRE(j.losses()[0].segment == "0000000000000001.log");
    }
    REQUIRE_FALSE(j.append(numbered(9)));
    const auto again = read(where);
    REQUIRE(again.records.size() == length / size + 1);
    REQUIRE(again.records.back().number == 9);
  }
}

TEST_CASE("a write that fails half-way costs only itself") {
  for (const int code : {ENOSPC, EIO}) {
    const auto whole = encode_record(numbered(2)).size();
    for (std::size_t torn = 0; torn < whole; ++torn) {
      temporary_dir dir;
      faulty_files files;
      files.code = code;
      journal j{files, dir.path(), 1 << 20};
      REQUIRE_FALSE(j.open([](const journal_record&) {}));
      REQUIRE_FALSE(j.append(numbered(1)));
      files.room = torn;
      const auto ec = j.append(numbered(2));
      REQUIRE(ec.value() == code);
      files.room = SIZE_MAX;
      REQUIRE_FALSE(j.append(numbered(2)));
      REQUIRE_FALSE(j.append(numbered(3)));
      const auto left = read(dir.path());
      REQUIRE(left.records.size() == 3);
      REQUIRE(left.losses.size() == (torn == 0 ? 0 : 1));
    }
  }
}

TEST_CASE("any operation may fail: what was written is there, and what was there before stays") {
  const auto play = [](faulty_files& disk, const std::string& dir, std::vector<bool>& written) {
    disk.real_syncs = false;
    journal j{disk, dir, 120};
    written.assign(20, false);
    if (j.open([](const journal_record&) {})) return;
    for (std::uint64_t n = 6; n < written.size(); ++n) {
      written[n] = !j.append(numbered(n)) || !j.append(numbered(n));
      j.drop_below(3);
      for (const auto& file : j.take_unsynced()) file->sync();
      if (j.take_new_names()) disk.sync_directory(dir);
    }
  };
  const auto begin = [](const std::string& dir) {
    journal j{real_files(), dir, 120};
    REQUIRE_FALSE(j.open([](const journal_record&) {}));
    for (std::uint64_t n = 1; n <= 5; ++n) REQUIRE_FALSE(j.append(numbered(n)));
  };
  std::vector<bool> written;
  std::uint64_t count = 0;
  {
    temporary_dir dir;
    faulty_files disk;
    begin(dir.path());
    play(disk, dir.path(), written);
    count = disk.operations;
  }
  REQUIRE(count > 40);
  for (const int code : {ENOSPC, EIO, EROFS}) {
    for (std::uint64_t at = 0; at < count; ++at) {
      for (const bool once : {true, false}) {
        CAPTURE(code, at, once);
        temporary_dir dir;
        faulty_files disk;
        begin(dir.path());
        disk.code = code;
        disk.torn = code == ENOSPC;
        disk.fail_from = at;
        disk.fail_to = once ? at + 1 : UINT64_MAX;
        play(disk, dir.path(), written);
        std::vector<bool> found(20, false);
        std::uint64_t last = 0;
        for (const auto& r : read(dir.path()).records) {
          REQUIRE(r.number > last);
          REQUIRE(r.payload == numbered(r.number).payload);
          last = r.number;
          found.at(r.number) = true;
        }
        for (std::uint64_t n = 3; n <= 5; ++n) REQUIRE(found[n]);
        for (std::uint64_t n = 6; n < 20; ++n) REQUIRE(found[n] == written[n]);
      }
    }
  }
}

TEST_CASE("segments whose events are all dead are removed, oldest first") {
  temporary_dir dir;
  journal j{real_files(), dir.path(), 200};
  REQUIRE_FALSE(j.open([](const journal_record&) {}));
  for (std::uint64_t n = 1; n <= 40; ++n) REQUIRE_FALSE(j.append(numbered(n)));
  const auto before = j.segments();
  j.drop_below(1);
  CHECK(j.segments() == before);
  j.drop_below(21);
  CHECK(j.segments() < before);
  j.drop_below(1'000);
  CHECK(j.segments() == 1);
  REQUIRE_FALSE(j.append(numbered(41)));
  const auto left = read(dir.path());
  CHECK(left.records.back().number == 41);
  CHECK(left.losses.empty());
}

TEST_CASE("syncing is grouped: whoever asks gets every file written since the last time") {
  temporary_dir dir;
  journal j{real_files(), dir.path(), 200};
  REQUIRE_FALSE(j.open([](const journal_record&) {}));
  CHECK_FALSE(j.has_unsynced());
  for (std::uint64_t n = 1; n <= 20; ++n) REQUIRE_FALSE(j.append(numbered(n)));
  const auto files = j.take_unsynced();
  CHECK(files.size() == j.segments());
  for (const auto& file : files) CHECK_FALSE(file->sync());
  CHECK(j.take_new_names());
  CHECK_FALSE(j.has_unsynced());
}

TEST_CASE("a journal is intact after its writer was killed at a random moment") {
  // 100 moments unless told otherwise.
  const char* text = std::getenv("TROUPE_TEST_KILLS");
  const int kills = text != nullptr ? std::atoi(text) : 100;
  std::mt19937 random{12345};
  temporary_dir dir;
  std::uint64_t written = 0;
  for (int i = 0; i < kills; ++i) {
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      journal j{real_files(), dir.path(), 20'000};
      std::uint64_t last = 0;
      if (j.open([&](const journal_record& r) { last = std::max(last, r.number); })) ::_exit(1);
      for (;;) {
        if (j.append(numbered(++last))) ::_exit(2);
        // Told only after it is durable.
        if (::write(pipe_ends[1], &last, sizeof last) != sizeof last) ::_exit(3);
      }
    }
    ::close(pipe_ends[1]);
    std::uint64_t told = 0;
    const auto until = written + random() % 60 + 1;
    while (told < until && ::read(pipe_ends[0], &told, sizeof told) == sizeof told) {
    }
    ::kill(child, SIGKILL);
    while (::read(pipe_ends[0], &told, sizeof told) == sizeof told) {
    }
    ::close(pipe_ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    written = told;
  }
  std::uint64_t last = 0;
  const auto left = read(dir.path());
  for (const auto& r : left.records) {
    REQUIRE(r.number == last + 1);
    last = r.number;
  }
  CHECK(last >= written);
  for (const auto& loss : left.losses) CHECK(loss.bytes < encode_record(numbered(last)).size());
}

TEST_CASE("a directory is owned by one living node") {
  temporary_dir dir;
  std::error_code ec;
  auto lock = real_files().try_lock(dir.path() + "/lock", ec);
  REQUIRE(lock);
  CHECK_FALSE(real_files().try_lock(dir.path() + "/lock", ec));
  CHECK_FALSE(ec);
  lock.reset();
  CHECK(real_files().try_lock(dir.path() + "/lock", ec));
}

TEST_CASE("a file is replaced as a whole") {
  temporary_dir dir;
  const auto path = dir.path() + "/one.json";
  REQUIRE_FALSE(replace_file(real_files(), path, "first", true));
  REQUIRE_FALSE(replace_file(real_files(), path, "second", false));
  CHECK(slurp(path) == "second");
  faulty_files files;
  files.room = 3;
  CHECK(replace_file(files, path, "third", false).value() == ENOSPC);
  CHECK(slurp(path) == "second");
  CHECK_FALSE(fs::exists(path + ".tmp"));
}

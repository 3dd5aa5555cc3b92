// Records and receipts as files: what is written comes back, and what is not what was written is refused.
#include "troupe/config/defaults.hpp"
#include "troupe/persistence/process_files.hpp"
#include "troupe/persistence/process_record.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/process_samples.hpp"
#include "troupe/tests/support/temporary_dir.hpp"
#include "troupe/text/base64.hpp"

using namespace troupe::persistence;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const std::string not_utf8{"caf\xe9\n\x00\xff", 7};

/// The object in a file, without the checksum.
std::string unsealed(const std::string& bytes) {
  const auto at = bytes.rfind(",\"crc32c\":");
  REQUIRE(at != bytes.npos);
  return bytes.substr(0, at) + "}";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  REQUIRE(at != text.npos);
  return text.replace(at, what.size(), by);
}

parse_result record_with(const std::string& what, const std::string& by) {
  process_record out;
  return parse_record(sealed(replaced(unsealed(to_json(sample_record(1))), what, by)), out);
}

parse_result receipt_with(const std::string& what, const std::string& by) {
  receipt out;
  return parse_receipt(sealed(replaced(unsealed(to_json(sample_receipt(1))), what, by)), out);
}

}  // namespace

TEST_CASE("base64 there and back") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    CHECK(troupe::text::from_base64(troupe::text::base64(bytes)) == bytes);
    bytes += static_cast<char>(i * 7);
  }
  CHECK(troupe::text::base64("Ma") == "TWE=");
  for (const char* bad : {"TWE", "TW=E", "T===", "TWF=", "TW E", "TWE=TWE=", "===="}) {
    CAPTURE(bad);
    CHECK_FALSE(troupe::text::from_base64(bad));
  }
}

TEST_CASE("every field of a record comes back") {
  const auto full = sample_record(1);
  auto odd = sample_record(2);
  odd.command = not_utf8;
  odd.cwd = "/tmp/\xff";
  odd.owner.user_name = "\xc3\x28 \"quoted\" \\ \n";
  odd.watch_patterns = {not_utf8, "", "\xf0\x9f\x98\x80"};
  odd.node = UINT32_MAX;
  odd.pid = INT32_MAX;
  odd.start_ticks = UINT64_MAX;
  odd.started_at = INT64_MAX;
  odd.timeout = INT64_MIN;
  process_record bare;
  bare.id = process_id(3);
  for (const auto& record : {full, odd, bare}) {
    const auto json = to_json(record);
    CAPTURE(json);
    process_record back;
    const auto parsed = parse_record(json, back);
    CHECK(parsed.error.empty());
    CHECK(back == record);
  }
}

TEST_CASE("every field of a receipt comes back, output byte for byte") {
  const auto full = sample_receipt(1);
  auto odd = sample_receipt(2);
  odd.output = not_utf8;
  odd.exit.source = not_utf8;
  odd.exit.code = -1;
  odd.exit.usage.reset();
  odd.total_bytes = UINT64_MAX;
  receipt bare;
  bare.process.id = process_id(3);
  bare.exit.reason = "lost";
  auto zero = sample_receipt(4);
  zero.exit.code = 0;
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes += static_cast<char>(i);
  auto every = sample_receipt(5);
  every.output = all_bytes;
  for (const auto& one : {full, odd, bare, zero, every}) {
    const auto json = to_json(one);
    receipt back;
    const auto parsed = parse_receipt(json, back);
    CHECK(parsed.error.empty());
    CHECK(back == one);
  }
}

TEST_CASE("members that a reader does not know are ignored") {
  CHECK(record_with("\"pid\"", "\"news\":{\"deep\":[1,{}]},\"pid\""));
  CHECK(receipt_with("\"signal\"", "\"news\":null,\"signal\""));
}

TEST_CASE("a member of the wrong type is named") {
  CHECK(record_with("\"pid\":1001", "\"pid\":\"x\"").error ==
        "pid: must be a whole number in its range");
  CHECK(record_with("\"pid\":1001", "\"pid\":4294967296").error == "pid: is out of range");
  CHECK(record_with("\"rows\":30", "\"rows\":-1").error ==
        "rows: must be a whole number in its range");
  CHECK(record_with("\"rows\":30", "\"rows\":1.5").error ==
        "rows: must be a whole number in its range");
  CHECK(record_with("\"pty\":true", "\"pty\":1").error == "pty: must be true or false");
  CHECK(record_with("\"cwd\":\"/srv/app\"", "\"cwd\":[]").error == "cwd: must be a text");
  CHECK(record_with("\"cwd\":\"/srv/app\"", "\"cwd\":{\"hex\":\"f\"}").error ==
        "cwd: must be a text");
  CHECK(record_with("\"turn\":\"t1\"", "\"turn\":1").error == "owner.turn: must be a text");
  CHECK(record_with("[\"error:\",\"done\"]", "[1]").error ==
        "watch_patterns: must be a list of texts");
  CHECK(record_with("\"id\"", "\"di\"").error == "id: is missing");
  CHECK(record_with("\"version\"", "\"vision\"").error == "version: is missing");
  CHECK(receipt_with("\"reason\":\"killed\"", "\"reason\":5").error ==
        "exit.reason: must be a text");
  CHECK(receipt_with("\"reason\"", "\"season\"").error == "exit.reason: is missing");
  CHECK(receipt_with("[4243,4244]", "[4243,\"x\"]").error ==
        "exit.descendants: must be a list of numbers");
  CHECK(receipt_with("\"user_us\":1", "\"user_us\":-1").error ==
        "exit.usage.user_us: must be a whole number in its range");
  CHECK(receipt_with("\"process\"", "\"progress\"").error == "process: is missing");
  CHECK(receipt_with("\"output\":", "\"output_base64\":\"?\",\"output\":").error ==
        "output_base64: is not base64");
  process_record out;
  CHECK(parse_record("[]", out).error == "not a JSON object");
  CHECK_THAT(parse_record("{", out).error, ContainsSubstring("not JSON"));
  CHECK_FALSE(parse_record(to_json(sample_receipt(1)), out));
  receipt end;
  CHECK_FALSE(parse_receipt(to_json(sample_record(1)), end));
}

TEST_CASE("another version is told apart from damage, and says whose it is") {
  auto json = unsealed(to_json(sample_record(1)));
  json = replaced(json, "\"version\":1", "\"version\":2,\"node\":7");
  process_record out;
  const auto parsed = parse_record(sealed(json), out);
  CHECK(parsed.problem == parse_problem::unknown_version);
  CHECK_THAT(parsed.error, ContainsSubstring("version 2"));
  CHECK(out.node == 7);
}

TEST_CASE("a file cut anywhere, or with any byte changed, is never taken for another") {
  auto odd = sample_receipt(1);
  odd.output += not_utf8;
  const auto record = to_json(sample_record(1));
  const auto end = to_json(odd);
  process_record r;
  receipt e;
  for (std::size_t size = 0; size < record.size(); ++size) {
    REQUIRE_FALSE(parse_record(record.substr(0, size), r));
  }
  for (std::size_t size = 0; size < end.size(); ++size) {
    REQUIRE_FALSE(parse_receipt(end.substr(0, size), e));
  }
  for (std::size_t at = 0; at < end.size(); ++at) {
    for (const char bit : {'\x01', '\x20', '\x80'}) {
      auto bad = end;
      bad[at] = static_cast<char>(bad[at] ^ bit);
      // Digits of the checksum may be written large.
      if (parse_receipt(bad, e)) REQUIRE(e == odd);
    }
  }
}

TEST_CASE("files as earlier releases wrote them always load") {
  const fs::path dir = std::string{TROUPE_SOURCE_DIR} + "/tests/fixtures/state";
  auto record = sample_record(2);
  record.id = "proc_0123456789ab";
  record.command = "make -j2";
  record.node = 2;
  record.pid = 4'242;
  process_record back;
  CHECK(parse_record(slurp(dir / "processes/proc_0123456789ab.json"), back).error.empty());
  CHECK(back == record);
  auto end = sample_receipt(2);
  end.process = record;
  end.process.id = "proc_ba9876543210";
  end.process.full_output_path = "/state/output/proc_ba9876543210.log";
  end.full_output_bytes = 200'011;
  end.ended_at = 1'767'225'660'123'456'789;
  end.output = std::string{
      "caf\xe9\n\x00"
      "done\n",
      11};
  end.total_bytes = 200'011;
  receipt end_back;
  CHECK(parse_receipt(slurp(dir / "results/proc_ba9876543210.json"), end_back).error.empty());
  CHECK(end_back == end);
}

TEST_CASE("no secret reaches a file, whoever writes it, and nothing moves") {
  temporary_dir dir;
  process_files files{real_files(), dir.path(), false};
  REQUIRE_FALSE(files.open());
  const std::string key = "ghp_" + std::string(36, 'a');
  auto end = sample_receipt(1);
  end.process.command = "curl -H 'Authorization: Bearer " + key + "' x";
  end.process.handoff_note = "token is " + key;
  end.output = "a\xff " + key + "\nMY_PASSWORD=hunter22\n";
  const auto size = end.output.size();
  REQUIRE_FALSE(files.write_record(end.process));
  REQUIRE_FALSE(files.write_receipt(end));
  for (const char* folder : {"processes", "results"}) {
    const auto bytes = slurp(dir.path() + "/" + folder + "/" + process_id(1) + ".json");
    CHECK(bytes.find(std::string(20, 'a')) == bytes.npos);
    CHECK(bytes.find("hunter22") == bytes.npos);
  }
  std::error_code ec;
  const auto back = files.read_receipt(process_id(1), ec);
  REQUIRE_FALSE(ec);
  CHECK(back.output.size() == size);
  CHECK(back.output.find("\nMY_PASSWORD=********\n") != std::string::npos);
  CHECK(back.process.watch_patterns == end.process.watch_patterns);
  auto again = back;
  mask_secrets(again);
  CHECK(again == back);
}

TEST_CASE("output that a reader would refuse loses its first part") {
  temporary_dir dir;
  process_files files{real_files(), dir.path(), false};
  REQUIRE_FALSE(files.open());
  auto end = sample_receipt(1);
  end.output.assign(troupe::defaults::state_file_bytes + 1, 'x');
  end.output += "the end";
  end.output_from = 5;
  REQUIRE_FALSE(files.write_receipt(end));
  std::error_code ec;
  const auto back = files.read_receipt(process_id(1), ec);
  REQUIRE_FALSE(ec);
  CHECK(back.output.ends_with("the end"));
  CHECK(back.output.size() > troupe::defaults::state_file_bytes / 3);
  CHECK(back.output_from + back.output.size() == 5 + end.output.size());
}

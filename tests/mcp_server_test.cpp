// `troupe mcp` as a program: pipes in and out, real commands, and how it ends.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <boost/json/parse.hpp>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/host.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

namespace json = boost::json;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;
using troupe::testing::eventually;

namespace {

/// The server as a child, with its stdin and stdout.
class server {
 public:
  explicit server(std::vector<std::string> extra = {}) {
    int in[2];
    int out[2];
    REQUIRE(pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(pipe2(out, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::vector<std::string> words = {TROUPE_BIN_DIR "/troupe", "mcp"};
    words.insert(words.end(), extra.begin(), extra.end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    REQUIRE(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = out[0];
  }

  ~server() {
    close_input();
    close(out_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  /// False if the server does not read any more. For threads beside the test's own.
  bool put(std::string line) const {
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
      auto n = write(in_, rest.data(), rest.size());
      if (n <= 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  void send(const std::string& line) const { REQUIRE(put(line)); }

  /// The next frame, or nothing at the end of the output.
  std::optional<json::value> next() {
    auto deadline = clock_type::now() + troupe::testing::generous;
    while (true) {
      auto end = buffer_.find('\n');
      if (end != std::string::npos) {
        auto line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return json::parse(line);  // throws if anything but protocol is on stdout
      }
      pollfd wait{out_, POLLIN, 0};
      REQUIRE(clock_type::now() < deadline);
      if (poll(&wait, 1, 1'000) <= 0) continue;
      char bytes[65536];
      auto n = read(out_, bytes, sizeof bytes);
      if (n <= 0) return std::nullopt;
      buffer_.append(bytes, static_cast<std::size_t>(n));
    }
  }

  /// The answer to this id; other frames go to `others`.
  json::object answer_to(const json::value& id) {
    while (auto frame = next()) {
      auto* object = frame->if_object();
      if (object && object->contains("id") && object->at("id") == id) return *object;
      others.push_back(*frame);
    }
    FAIL("the server closed its output");
    return {};
  }

  void initialize() {
    send(R"({"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":)"
         R"("2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}})");
    CHECK(answer_to("init").contains("result"));
    send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  }

  static std::string call_frame(int id, const std::string& tool, const std::string& arguments,
                                const std::string& meta = "{}") {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
           R"(,"method":"tools/call","params":{"name":")" + tool + R"(","arguments":)" + arguments +
           R"(,"_meta":)" + meta + "}}";
  }

  void begin(int id, const std::string& tool, const std::string& arguments,
             const std::string& meta = "{}") const {
    send(call_frame(id, tool, arguments, meta));
  }

  json::object call(int id, const std::string& tool, const std::string& arguments) {
    begin(id, tool, arguments);
    return answer_to(id).at("result").at("structuredContent").as_object();
  }

  void close_input() {
    if (in_ >= 0) close(in_);
    in_ = -1;
  }

  void signal(int number) const { kill(pid_, number); }

  /// The wait status of the server, which must end soon.
  int wait_for_end() {
    int status = -1;
    REQUIRE(eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }));
    pid_ = -1;
    return status;
  }

  std::vector<json::value> others;

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string buffer_;
};

/// Processes whose command line is exactly `sleep <number>`.
bool is_running(const std::string& number) {
  for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
    std::ifstream file{entry.path() / "cmdline", std::ios::binary};
    std::ostringstream line;  // a process may go while it is looked at: no exception then
    line << file.rdbuf();
    if (line.str() == std::string{"sleep"} + '\0' + number + '\0') return true;
  }
  return false;
}

}  // namespace

TEST_CASE("tools are listed and called, many at once, answered out of order") {
  server s;
  s.initialize();
  s.send(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  CHECK(s.answer_to(1).at("result").at("tools").as_array().size() == 2);
  s.begin(2, "terminal", R"({"command":"sleep 1; echo slow"})");
  for (int id = 100; id < 150; ++id) {
    s.begin(id, "terminal", R"({"command":"echo )" + std::to_string(id) + "\"}");
  }
  for (int seen = 0; seen < 51; ++seen) {
    auto frame = s.next();
    REQUIRE(frame);
    auto id = frame->at("id").as_int64();
    if (id == 2) {
      CHECK(seen > 10);
      continue;
    }
    CHECK(frame->at("result").at("structuredContent").at("output").as_string() ==
          std::to_string(id) + "\n");
  }
  CHECK(s.call(3, "process", R"({"action":"list"})").at("processes").as_array().empty());
}

TEST_CASE("a cancelled call ends its command, and the others go on") {
  server s;
  s.initialize();
  s.begin(1, "terminal", R"({"command":"sleep 611111"})");
  s.begin(2, "terminal", R"({"command":"sleep 1.5; echo other"})");
  REQUIRE(eventually([] { return is_running("611111"); }));
  s.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  CHECK(eventually([] { return !is_running("611111"); }));
  auto frame = s.next();
  REQUIRE(frame);
  CHECK(frame->at("id") == 2);
}

TEST_CASE("progress brings the output while the command runs") {
  server s;
  s.initialize();
  s.begin(1, "terminal", R"({"command":"echo one; sleep 0.3; echo two"})",
          R"({"progressToken":"p"})");
  CHECK(s.answer_to(1).contains("result"));
  std::string shown;
  double last = 0;
  for (const auto& frame : s.others) {
    CHECK(frame.at("method") == "notifications/progress");
    CHECK(frame.at("params").at("progressToken") == "p");
    CHECK(frame.at("params").at("progress").to_number<double>() > last);
    last = frame.at("params").at("progress").to_number<double>();
    shown += frame.at("params").at("message").as_string();
  }
  CHECK(shown.find("one\n") == 0);
}

TEST_CASE("bad frames are answered and the stream goes on") {
  server s{{"--max-frame-bytes", "2048", "--log-level", "off"}};
  s.send(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  CHECK(s.answer_to(1).at("error").at("code") == -32600);
  s.initialize();
  s.send("nonsense");
  CHECK(s.answer_to(nullptr).at("error").at("code") == -32700);
  s.send("\xff\xfe");
  CHECK(s.answer_to(nullptr).at("error").at("code") == -32700);
  s.send(std::string(100'000, 'x'));
  CHECK(s.answer_to(nullptr).at("error").at("code") == -32600);
  s.send(std::string(2'000, '['));
  CHECK(s.answer_to(nullptr).at("error").at("code") == -32700);
  s.send(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
  CHECK(s.answer_to(2).contains("result"));
}

TEST_CASE("the end of the input ends the server and what it started") {
  server s;
  s.initialize();
  s.call(1, "terminal", R"({"command":"sleep 622222","background":true})");
  s.begin(2, "terminal", R"({"command":"sleep 633333"})");
  s.begin(3, "terminal", R"({"command":"echo quick"})");
  REQUIRE(eventually([] { return is_running("622222") && is_running("633333"); }));
  s.close_input();
  CHECK(s.wait_for_end() == 0);
  CHECK_FALSE(is_running("622222"));
  CHECK_FALSE(is_running("633333"));
  // What had ended was still answered.
  CHECK(s.answer_to(3).contains("result"));
}

TEST_CASE("signals end the server and what it started") {
  for (int number : {SIGTERM, SIGINT, SIGHUP}) {
    server s;
    s.initialize();
    s.call(1, "terminal", R"({"command":"sleep 644444","background":true})");
    s.signal(number);
    CHECK(s.wait_for_end() == 0);
    CHECK_FALSE(is_running("644444"));
  }
}

TEST_CASE("a client that does not read does not make the server grow or hang") {
  server s;
  s.initialize();
  s.call(1, "terminal",
         R"({"command":"head -c 90000 /dev/zero | tr '\\0' x; sleep 655555","background":true})");
  // Far more answers than the pipe and the queue hold.
  troupe::testing::temporary_dir dir;
  const auto ended = dir.path() + "/ended";  // a byte for each command
  std::thread writer{[&] {
    for (int id = 1000; id < 1400; ++id) {
      auto sent = s.put(server::call_frame(
          id, "terminal",
          R"({"command":"head -c 50000 /dev/zero | tr '\\0' y; printf x >> )" + ended + "\"}"));
      if (!sent) return;
    }
  }};
  const auto more_than_queued = 100;  // 5 MB, of 4 MiB
  CHECK(eventually([&] {
    std::error_code none_yet;
    const auto count = std::filesystem::file_size(ended, none_yet);
    return !none_yet && count >= more_than_queued;
  }));
  for (int id = 1000; id < 1400; ++id) REQUIRE(s.next());
  writer.join();
  s.close_input();
  CHECK(s.wait_for_end() == 0);
  CHECK_FALSE(is_running("655555"));
}

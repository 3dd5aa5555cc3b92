// One life of a node in a process of its own, so that a test can kill it at any moment. A host on a state
// directory that does what lines on its stdin say and answers each with one line:
//   life_host STATE OUT keeper|lasting|direct   (lasting: the keeper waits for the next life)
//   start ID POLICY FLAGS COMMAND  FLAGS: n notify, p PTY, i stdin, w watch READY, h heartbeat, - none
//                                  → "started ID PID" or "failed ID TEXT"
//   run COMMAND                    in the foreground, not waited for → "running"
//   read ID                        appends the output from where OUT/ID ends → "read ID BYTES GAP"
//   collect ID                     the same in the background until the process has ended → "collecting";
//                                  then, unasked, "finished ID REASON CODE SIGNAL"
//   events                         appends events to OUT/events as they come, acknowledged one list
//                                  behind: "SEQUENCE KIND PROCESS REASON CODE SIGNAL" → "listening"
//   wait ID                        → "ended ID REASON CODE SIGNAL"
//   kill ID                        → "killed ID REASON CODE SIGNAL"
//   write ID TEXT                  a line for its stdin → "written ID"
//   list                           → "list ID=STATUS …", with ",detached" and ",retained"
//   quit                           an orderly end → "bye"
// It begins with "ready". An error is "error TEXT".
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>

#include "troupe/tests/support/host.hpp"

using namespace troupe;
using namespace troupe::testing;
namespace fs = std::filesystem;

namespace {

std::mutex say_mutex;

void say(const std::string& line) {
  const std::lock_guard guard{say_mutex};
  std::cout << line << std::endl;
}

/// One write(2), so that a kill leaves all of it or nothing.
void append(const std::string& path, const std::string& bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const auto n = ::write(fd, bytes.data(), bytes.size());
  ::close(fd);
  if (n != static_cast<ssize_t>(bytes.size())) throw std::runtime_error{"write to " + path};
}

std::uint64_t size_of(const std::string& path) {
  std::error_code ec;
  const auto size = fs::file_size(path, ec);
  return ec ? 0 : size;
}

std::string end_of(const std::optional<exit_info>& end) {
  if (!end) return "none - -";
  return to_string(end->reason) + " " + (end->code ? std::to_string(*end->code) : "-") + " " +
         std::to_string(end->signal);
}

class life {
 public:
  life(options opts, std::string out) : host_{std::move(opts)}, out_{std::move(out)} {}

  void start(std::istream& in) {
    spawn_request r;
    std::string flags;
    in >> r.id >> r.owner_death >> flags >> std::ws;
    std::getline(in, r.command);
    r.notify = flags.find('n') != flags.npos;
    r.pty = flags.find('p') != flags.npos;
    r.stdin_pipe = flags.find('i') != flags.npos;
    if (flags.find('w') != flags.npos) r.watch_patterns = {"READY"};
    if (flags.find('h') != flags.npos) r.heartbeat_seconds = 1;
    const auto done = host_.ask<start_result>(start_atom_v, host_.who, r);
    if (done.failure) return say("failed " + done.id + " " + done.failure->text);
    say("started " + done.id + " " + std::to_string(done.pid));
  }

  void run(std::istream& in) {
    std::string command;
    std::getline(in >> std::ws, command);
    spawn_request r;
    r.command = command;
    compat::anon_send(host_.registry(), run_atom_v, host_.who, r);
    say("running");
  }

  /// One chunk behind what the file has. True when nothing follows.
  bool take(const std::string& id, caf::timespan limit, std::uint64_t& taken, std::uint64_t& gap) {
    const auto path = out_ + "/" + id;
    follow_options what;
    what.cursor = size_of(path);
    what.view = output_view::raw;
    what.limit = limit;
    const auto chunk = host_.ask<output_chunk>(follow_atom_v, host_.who, id, what);
    gap += chunk.gap;
    taken += chunk.data.size();
    if (!chunk.data.empty()) append(path, chunk.data);
    return chunk.finished || (chunk.data.empty() && limit <= std::chrono::milliseconds{1});
  }

  void read(const std::string& id) {
    std::uint64_t taken = 0;
    std::uint64_t gap = 0;
    while (!take(id, std::chrono::milliseconds{1}, taken, gap)) continue;
    say("read " + id + " " + std::to_string(taken) + " " + std::to_string(gap));
  }

  void collect(const std::string& id) {
    std::thread{[this, id] {
      try {
        std::uint64_t taken = 0;
        std::uint64_t gap = 0;
        while (!take(id, std::chrono::seconds{30}, taken, gap)) {
          if (gap > 0) throw std::runtime_error{"a gap of " + std::to_string(gap)};
        }
        // Not `poll`: that would consume the completion.
        for (const auto& row : host_.ask<std::vector<process_summary>>(list_atom_v, host_.who)) {
          if (row.id == id) say("finished " + id + " " + end_of(row.exit));
        }
      } catch (const std::exception& error) {
        say("error " + id + ": " + error.what());
      }
    }}.detach();
    say("collecting");
  }

  /// The next events; those before are acknowledged.
  std::optional<std::uint64_t> take_events(std::optional<std::uint64_t> after) {
    drain_request what;
    what.from = {host_.who.session, after};
    what.wait = std::chrono::seconds{30};
    const auto list = host_.ask<drain_result>(drain_atom_v, what);
    std::string lines;
    for (const auto& x : list.events) {
      lines += std::to_string(x.sequence) + " " + to_string(x.kind) + " " +
               (x.process.empty() ? "-" : x.process) + " " + end_of(x.exit) + "\n";
    }
    if (!lines.empty()) append(out_ + "/events", lines);
    return list.events.empty() ? after : list.last;
  }

  void events() {
    std::thread{[this] {
      std::optional<std::uint64_t> after;
      try {
        for (;;) after = take_events(after);
      } catch (const std::exception&) {
        // The node is on its way out.
      }
    }}.detach();
    say("listening");
  }

  void list() {
    std::string line = "list";
    for (const auto& row : host_.ask<std::vector<process_summary>>(list_atom_v, host_.who)) {
      line += " " + row.id + "=" + to_string(row.status);
      if (row.detached) line += ",detached";
      if (row.retained) line += ",retained";
    }
    say(line);
  }

  bool obey(const std::string& line) {
    std::istringstream in{line};
    std::string word;
    in >> word;
    if (word == "start") return start(in), true;
    if (word == "run") return run(in), true;
    if (word == "events") return events(), true;
    if (word == "list") return list(), true;
    if (word == "quit") return false;
    std::string id;
    in >> id;
    if (word == "read") {
      read(id);
    } else if (word == "collect") {
      collect(id);
    } else if (word == "wait") {
      say("ended " + id + " " + end_of(host_.wait(id).process.exit));
    } else if (word == "kill") {
      say("killed " + id + " " + end_of(host_.kill(id).process.exit));
    } else if (word == "write") {
      std::string text;
      std::getline(in >> std::ws, text);
      host_.write(id, text + "\n");
      say("written " + id);
    } else {
      say("error no such command: " + word);
    }
    return true;
  }

 private:
  host host_;
  std::string out_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  init_types();
  auto opts = host::quick_options();
  opts.state_dir = argv[1];
  const std::string kind = argv[3];
  opts.keeper = kind != "direct";
  if (kind == "lasting") opts.owner_grace = generous;
  opts.keeper_program = TROUPE_BIN_DIR "/troupe-keeper";
  opts.heartbeat_min = std::chrono::seconds{1};
  opts.watch_cooldown = std::chrono::milliseconds{500};
  opts.warn = [](const std::string& text) { std::cerr << "warning " << text << std::endl; };
  try {
    auto one = std::make_unique<life>(std::move(opts), argv[2]);
    say("ready");
    std::string line;
    while (std::getline(std::cin, line)) {
      try {
        if (!one->obey(line)) break;
      } catch (const std::exception& error) {
        say(std::string{"error "} + error.what());
      }
    }
    one.reset();
    say("bye");
  } catch (const std::exception& error) {
    say(std::string{"error "} + error.what());
  }
  // Threads that still wait are of no interest any more.
  std::cout.flush();
  ::_exit(0);
}

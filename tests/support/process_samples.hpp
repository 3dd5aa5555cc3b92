// Records and receipts for tests, with every field set, and a look at files without our own code.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "troupe/persistence/process_record.hpp"

namespace troupe::testing {

inline std::string process_id(unsigned n) {
  char text[32];
  std::snprintf(text, sizeof text, "proc_%012x", n);
  return text;
}

inline persistence::process_record sample_record(unsigned n) {
  persistence::process_record x;
  x.id = process_id(n);
  x.command = "make -j" + std::to_string(n);
  x.cwd = "/srv/app";
  x.environment = "local";
  x.handoff_note = "watch the build";
  x.owner = {"s1", "t1", "chat", "c1", "th", "m1", "u1", "Ada"};
  x.node = 0;
  x.boot_id = "b4bf4e4c-6f0e-4a6e-9f5e-0d6d1f4c2a11";
  x.pid = static_cast<std::int32_t>(1'000 + n);
  x.start_ticks = 987'654'321;
  x.started_at = 1'767'225'600'123'456'789;
  x.timeout = 60'000'000'000;
  x.kept_by_keeper = x.pty = x.has_stdin = x.keep_on_owner_death = true;
  x.rows = 30;
  x.cols = 120;
  x.notify = x.watch_plain = x.persist_on_release = x.output_assignments = true;
  x.watch_patterns = {"error:", "done"};
  x.heartbeat_seconds = 60;
  x.completion_chars = 2'000;
  return x;
}

inline persistence::receipt sample_receipt(unsigned n) {
  persistence::receipt x;
  x.process = sample_record(n);
  x.ended_at = x.process.started_at + 60'000'000'000;
  x.exit.reason = "killed";
  x.exit.code = 143;
  x.exit.signal = 15;
  x.exit.core_dumped = true;
  x.exit.source = "process.kill";
  x.exit.descendants = {4'243, 4'244};
  x.exit.usage = persistence::usage_fields{1, 2, 3, 4, 5, 6, 7};
  x.output = "output of " + x.process.id + "\n";
  x.output_from = 200'000;
  x.total_bytes = x.output_from + x.output.size();
  x.process.full_output_path = "/state/output/" + x.process.id + ".log";
  x.full_output_bytes = 4'711;
  x.watch_hits = 3;
  x.held_back = 9;
  return x;
}

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void spit(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
}

}  // namespace troupe::testing

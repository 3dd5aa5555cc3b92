// What a node makes of what an earlier life left: records and receipts on disk, children that the
// backend still knows, and the process table. A pure decision, taken once at the start; carried out by
// the registry (design 6, docs/state.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/backends/backend.hpp"
#include "troupe/persistence/process_record.hpp"

namespace troupe {

/// A process that was running when its node died.
struct past_process {
  persistence::process_record record;
  /// The backend knows it, running or not.
  std::optional<backends::found_child> child;
  /// Nobody knows more than that it still runs: it can be watched and killed, nothing else.
  bool detached = false;
};

/// A process whose receipt was written.
struct past_result {
  std::shared_ptr<const persistence::receipt> receipt;
  /// The node died between receipt and completion: it must still be told.
  bool untold = false;
};

struct recovery_plan {
  std::vector<past_process> running;
  std::vector<past_result> finished;
  /// Records that are not needed any more: their receipts are there.
  std::vector<std::string> stale_records;
  /// Children that nobody can be told about (foreground commands, prepared shells): to be ended.
  std::vector<backends::child_id> strangers;
  std::vector<std::string> stranger_spools;
  backends::child_id next_child = 1;
  /// What could not be taken over, in words.
  std::vector<std::string> problems;
};

struct recovery_facts {
  std::vector<persistence::process_record> records;
  /// Receipts of processes whose records are still there …
  std::vector<std::shared_ptr<const persistence::receipt>> ended;
  /// … and recent ones of all.
  std::vector<std::shared_ptr<const persistence::receipt>> receipts;
  backends::recovery found;
  /// Processes whose completion is in the journal.
  std::set<std::string> told;
  std::string boot_id;
  /// Start time of a running process, 0 if there is none with this pid.
  std::function<std::uint64_t(int pid)> start_ticks;
};

recovery_plan plan_recovery(recovery_facts facts);

/// Changes with every boot of the machine; empty if it cannot be read.
std::string current_boot_id();

}  // namespace troupe

#include "troupe/actors/recovery.hpp"

#include <fstream>
#include <map>
#include <utility>

namespace troupe {

recovery_plan plan_recovery(recovery_facts facts) {
  recovery_plan plan;
  plan.next_child = facts.found.next_id;
  if (!facts.found.problem.empty()) plan.problems.push_back(facts.found.problem);
  std::map<std::string, backends::found_child*> children;
  for (auto& child : facts.found.children) children[child.marker] = &child;
  std::set<std::string> ended;
  for (auto& receipt : facts.ended) {
    // A record goes after the completion is journalled: while it is there, that may be missing.
    const auto& record = receipt->process;
    const bool untold = record.notify && !facts.told.contains(record.id);
    ended.insert(record.id);
    if (!untold) plan.stale_records.push_back(record.id);
    plan.finished.push_back({std::move(receipt), untold});
  }
  for (auto& receipt : facts.receipts) {
    if (!ended.contains(receipt->process.id)) plan.finished.push_back({std::move(receipt), false});
  }
  for (auto& record : facts.records) {
    const auto child = children.find(record.id);
    past_process past;
    if (child != children.end()) {
      past.child = std::move(*child->second);
      children.erase(child);
    } else if (record.boot_id == facts.boot_id && record.pid > 0 && record.start_ticks != 0 &&
               facts.start_ticks(record.pid) == record.start_ticks) {
      past.detached = true;
    }
    past.record = std::move(record);
    plan.running.push_back(std::move(past));
  }
  // Also what the backend still knows of one whose receipt is there.
  for (const auto& [marker, child] : children) {
    plan.strangers.push_back(child->id);
    if (!child->spool_path.empty()) plan.stranger_spools.push_back(child->spool_path);
  }
  return plan;
}

std::string current_boot_id() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace troupe

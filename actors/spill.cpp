#include "troupe/actors/spill.hpp"

#include <utility>

namespace troupe {

spill_state::spill_state(spill_actor::pointer, std::shared_ptr<const options> opts,
                         persistence::file_system* files)
    : directory_(
          *files,
          opts->state_dir.empty() ? persistence::temporary_output_path()
                                  : opts->state_dir + "/output",
          {opts->full_output_bytes, opts->full_output_total_bytes, opts->full_output_retention}) {
  prune();
}

spill_state::~spill_state() {
  for (auto& [id, file] : open_) {
    if (file) file->finish();
  }
}

spill_actor::behavior_type spill_state::make_behavior() {
  return {[this](spill_job& job) { return on_job(job); }};
}

caf::result<std::string, bool> spill_state::on_job(spill_job& job) {
  auto it = open_.find(job.id);
  if (job.discard) {
    if (it != open_.end() && it->second) directory_.remove(it->second->path());
    open_.erase(job.id);
    return {std::string{}, true};
  }
  std::string problem;
  if (it == open_.end()) {
    prune();
    it = open_.emplace(job.id, directory_.create(job.id, job.assignments, problem)).first;
  }
  const auto file = it->second.get();
  if (file == nullptr) {
    if (job.last) open_.erase(it);
    return make_error(errc::internal, problem);
  }
  const auto path = file->path();
  auto ec = file->write(job.text);
  if (!ec && job.last) ec = file->finish();
  if (ec) {
    // Half an output under the name of the whole would be a lie.
    directory_.remove(path);
    it->second.reset();
    if (job.last) open_.erase(it);
    return make_error(errc::internal, persistence::describe("write to", path, ec));
  }
  const bool full = file->full();
  if (job.last) open_.erase(it);
  return {path, full};
}

void spill_state::prune() {
  std::vector<std::string> busy;
  for (const auto& [id, file] : open_) {
    if (file) busy.push_back(file->path());
  }
  directory_.prune(std::chrono::system_clock::now(), busy);
}

}  // namespace troupe

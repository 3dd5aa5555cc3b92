#include "troupe/actors/spill.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

spill_state::spill_state(spill_actor::pointer, std::shared_ptr<const options> opts,
                         persistence::file_system* files)
    : files_(*files),
      directory_(
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
  return {
      [this](spill_job& job) { return on_job(job); },
      [this](archive_query& query) { return on_query(query); },
  };
}

caf::result<std::string, std::uint64_t, bool> spill_state::on_job(spill_job& job) {
  auto it = open_.find(job.id);
  if (job.discard) {
    if (it != open_.end() && it->second) directory_.remove(it->second->path());
    open_.erase(job.id);
    return {std::string{}, std::uint64_t{0}, true};
  }
  std::string problem;
  if (it == open_.end()) {
    prune();
    auto file = job.path.empty() ? directory_.create(job.id,
                                                     job.raw ? persistence::output_form::raw
                                                             : persistence::output_form::text,
                                                     job.assignments, problem)
                                 : directory_.reopen(job.path, job.assignments, problem);
    it = open_.emplace(job.id, std::move(file)).first;
  }
  const auto file = it->second.get();
  if (file == nullptr) {
    if (job.last) open_.erase(it);
    return make_error(errc::internal, problem);
  }
  const auto path = file->path();
  std::string_view bytes{job.text};
  if (job.raw) {
    // What an earlier life handed over already is not written twice.
    const auto next = file->taken();
    if (job.position > next) {
      return make_error(errc::internal, path + " ends at byte " + std::to_string(next));
    }
    bytes.remove_prefix(std::min<std::size_t>(bytes.size(), next - job.position));
  }
  auto ec = file->write(bytes);
  if (!ec && (job.last || job.flush)) ec = file->finish();
  if (ec) {
    // Half an output under the name of the whole would be a lie.
    directory_.remove(path);
    it->second.reset();
    if (job.last) open_.erase(it);
    return make_error(errc::internal, persistence::describe("write to", path, ec));
  }
  const bool full = file->full();
  const auto written = file->written();
  if (job.last) open_.erase(it);
  return {path, written, full};
}

caf::result<log_result> spill_state::on_query(archive_query& query) const {
  std::error_code ec;
  std::uint64_t size = 0;
  auto bytes = files_.read_range(query.path, 0, query.archived, size, ec);
  if (ec) return make_error(errc::internal, persistence::describe("read", query.path, ec));
  bytes += query.rest;
  process_output whole(bytes.size() + 1, query.pipe_mode, query.how);
  whole.restore(std::move(bytes), 0);
  auto result = whole.log(query.options, query.max_bytes, query.final);
  if (!result) return result.error();
  return std::move(*result);
}

void spill_state::prune() {
  std::vector<std::string> busy;
  for (const auto& [id, file] : open_) {
    if (file) busy.push_back(file->path());
  }
  directory_.prune(std::chrono::system_clock::now(), busy);
}

}  // namespace troupe

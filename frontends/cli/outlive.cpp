#include "troupe/frontends/cli/outlive.hpp"

#include "troupe/config/state_dir.hpp"

namespace troupe::cli {

std::string let_work_outlive(options& opts, const program_settings& program,
                             const std::string& owner_death) {
  std::string problem;
  if (opts.state_dir.empty()) opts.state_dir = usable_state_dir(problem);
  opts.keeper = true;
  opts.adopt_orphans = true;
  if (!program.owner_death.empty()) opts.owner_death = program.owner_death;
  if (opts.owner_death.empty()) opts.owner_death = owner_death;
  return problem;
}

}  // namespace troupe::cli

#include "troupe/actors/environment.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "troupe/actors/run_directory.hpp"
#include "troupe/actors/shell_scripts.hpp"
#include "troupe/text/plain_command.hpp"
#include "troupe/text/sudo.hpp"

namespace troupe {

namespace {

/// Tokens of the two timers.
constexpr std::uint64_t snapshot_deadline = 1;
constexpr std::uint64_t idle_deadline = 2;

constexpr backends::kill_plan kill_at_once{SIGKILL, std::chrono::milliseconds{0},
                                           std::chrono::milliseconds{0}};

/// What exec(2) refuses (MAX_ARG_STRLEN of Linux): such a variable could be set in the shell, but none
/// of its commands could be started any more.
std::optional<start_failure> too_long(const std::vector<std::string>& env) {
  constexpr std::size_t longest = 128 * 1024 - 1;
  for (const auto& entry : env) {
    if (entry.size() > longest) {
      return start_failure{start_stage::exec, E2BIG, "E2BIG",
                           "E2BIG: argument list or environment too long: the variable " +
                               entry.substr(0, entry.find('=')) + " has " +
                               std::to_string(entry.size()) + " bytes"};
    }
  }
  return std::nullopt;
}

std::shared_ptr<const backends::child_environment> make_child_environment(
    const process_services& services, const environment_options& what) {
  auto pass = services.opts->env_pass;
  pass.insert(pass.end(), what.env_pass.begin(), what.env_pass.end());
  return std::make_shared<const backends::child_environment>(services.node_env, std::move(pass),
                                                             what.env_block);
}

}  // namespace

environment_state::environment_state(environment_actor::pointer self,
                                     std::shared_ptr<const process_services> services,
                                     std::string key, environment_options what,
                                     std::shared_ptr<const environment_memory> memory)
    : self_(self),
      services_(std::move(services)),
      key_(std::move(key)),
      what_(std::move(what)),
      child_env_(make_child_environment(*services_, what_)),
      cwd_(what_.cwd.empty() ? services_->default_cwd : expand(what_.cwd)),
      last_used_(backends::io_loop::clock::now()) {
  if (!memory) {
    shell_.set_base(child_env_->base());
    return;
  }
  shell_ = memory->shell;
  cwd_ = memory->cwd;
  if (memory->has_snapshot) phase_ = phase::ready;
}

environment_state::~environment_state() {
  for (const auto timer : {snapshot_timer_, idle_timer_}) {
    if (timer != 0) services_->loop->cancel(timer);
  }
  for (const auto& shell : warm_) services_->backend->discard(shell.id);
  if (snapshot_child_ != 0) {
    services_->backend->kill(snapshot_child_, kill_at_once);
    services_->backend->release(snapshot_child_);
    services_->run_dir->remove(snapshot_report_);
  }
}

environment_actor::behavior_type environment_state::make_behavior() {
  return {
      [this](launch_job& job) { on_job(std::move(job)); },
      [this](const command_left& what) { on_left(what); },
      [this](loop_event& event) { on_snapshot_event(event); },
      [this](deadline_atom, std::uint64_t token) {
        if (token == snapshot_deadline) {
          snapshot_timer_ = 0;
          snapshot_timed_out();
        } else {
          on_idle();
        }
      },
  };
}

void environment_state::on_job(launch_job job) {
  last_used_ = backends::io_loop::clock::now();
  if (idle_timer_ == 0) {
    idle_timer_ = services_->loop->after(
        services_->opts->environment_idle, [receiver = caf::actor_cast<environment_actor>(self_)] {
          compat::anon_send(receiver, deadline_atom_v, idle_deadline);
        });
  }
  ++running_;
  if (phase_ == phase::ready) {
    launch(job);
    return;
  }
  const auto owner = job.owner;
  waiting_.push_back(std::move(job));
  if (phase_ == phase::fresh) ask_login_shell(owner);
}

// -- the snapshot ---------------------------------------------------------------------------------

void environment_state::ask_login_shell(const caller& owner) {
  if (!is_bash() || !what_.snapshot) {
    snapshot_over({});
    return;
  }
  phase_ = phase::asking;
  snapshot_owner_ = owner;
  snapshot_child_ = services_->next_child();
  backends::spawn_spec spec;
  if (what_.report == report_channel::in_band) {
    spec.report_marker = make_report_marker();
  } else {
    snapshot_report_ = services_->run_dir->path("snapshot_" + std::to_string(snapshot_child_));
  }
  spec.argv = {what_.shell, "-l", "-c", shell_asker(what_.report)};
  spec.marker = make_process_id();
  spec.env = child_env_->make({}, spec.marker);
  spec.cwd = "/";
  spec.state_script = snapshot_script(snapshot_report_, spec.report_marker);
  services_->backend->start(
      snapshot_child_, std::move(spec),
      make_actor_sink(loop_listener_actor{caf::actor_cast<environment_actor>(self_)}));
  snapshot_timer_ = services_->loop->after(
      what_.snapshot_limit, [receiver = caf::actor_cast<environment_actor>(self_)] {
        compat::anon_send(receiver, deadline_atom_v, snapshot_deadline);
      });
}

void environment_state::on_snapshot_event(loop_event& event) {
  if (snapshot_child_ == 0) return;
  const bool in_band = what_.report == report_channel::in_band;
  if (const auto* info = std::get_if<backends::start_info>(&event.what)) {
    snapshot_output_ = info->output;
  } else if (std::holds_alternative<loop_event::advanced>(event.what) && snapshot_output_) {
    // What login files print is nobody's business.
    const auto& ring = snapshot_output_->get();
    ring.take_wake();
    if (ring.release(ring.end())) services_->backend->resume(snapshot_child_);
  } else if (auto* told = std::get_if<loop_event::reported>(&event.what)) {
    snapshot_told_ = std::move(told->report);
  } else if (const auto* error = std::get_if<backends::start_error>(&event.what)) {
    snapshot_over("it did not start: " + error->text);
  } else if (in_band ? std::holds_alternative<loop_event::drained>(event.what)
                     : std::holds_alternative<backends::exit_status>(event.what)) {
    snapshot_over("it ended without saying what it has set up");
  }
}

void environment_state::snapshot_timed_out() {
  if (snapshot_child_ == 0) return;
  // What login files start in the background is theirs (killing it can leave a lock behind that makes
  // the next login hang); only a login that does not end is ended.
  services_->backend->kill(snapshot_child_, kill_at_once);
  snapshot_over("it did not end within " + std::to_string(what_.snapshot_limit.count()) + " ms");
}

void environment_state::snapshot_over(const std::string& failure) {
  if (snapshot_timer_ != 0) services_->loop->cancel(std::exchange(snapshot_timer_, 0));
  if (snapshot_child_ != 0) {
    auto bytes = std::exchange(snapshot_told_, std::nullopt);
    if (!snapshot_report_.empty()) bytes = services_->run_dir->take(snapshot_report_);
    if (const auto report = bytes ? parse_report(*bytes) : std::nullopt) {
      shell_.update(*report,
                    [this](std::string_view variable) { return !child_env_->passes(variable); });
    } else {
      tell_snapshot_failed(failure);
    }
    services_->backend->release(std::exchange(snapshot_child_, 0));
    snapshot_output_.reset();
  }
  phase_ = phase::ready;
  for (auto& job : std::exchange(waiting_, {})) launch(job);
}

void environment_state::tell_snapshot_failed(const std::string& why) const {
  // Soft: commands begin with the variables of the node.
  event x;
  x.kind = event_kind::environment;
  x.at = caf::make_timestamp();
  x.owner = snapshot_owner_;
  x.note = "The login shell of environment " + what_.name + " was of no use: " + why +
           ". Commands run without what its files set up";
  compat::send(self_, services_->events, publish_atom_v, std::move(x), false);
}

// -- starting -------------------------------------------------------------------------------------

bool environment_state::is_bash() const {
  return std::filesystem::path{what_.shell}.filename() == "bash";
}

std::string environment_state::expand(const std::string& workdir) const {
  if (workdir == "~" || workdir.starts_with("~/")) {
    const auto home = child_env_->base_value("HOME");
    return (home.empty() ? std::string{"/"} : std::string{home}) + workdir.substr(1);
  }
  if (workdir.starts_with('/')) return workdir;
  return (cwd_.empty() ? services_->default_cwd : cwd_) + "/" + workdir;
}

std::string environment_state::start_directory(const spawn_request& request) const {
  return request.workdir.empty() ? cwd_ : expand(request.workdir);
}

void environment_state::launch(const launch_job& job) {
  const auto& request = job.request;
  launch_order order;
  order.environment = caf::actor_cast<environment_actor>(self_);
  order.start_cwd = start_directory(request);
  order.own_workdir = !request.workdir.empty();
  auto& spec = order.spec;
  spec.marker = request.id;
  spec.pty = request.pty;
  spec.rows = request.rows;
  spec.cols = request.cols;
  auto text = request.command;
  const auto& password = services_->opts->sudo_password;
  // On a terminal sudo asks by itself, and what we type there would be seen.
  if (!password.empty() && !request.pty) {
    auto sudo = text::sudo_reads_stdin(text);
    text = std::move(sudo.command);
    for (; sudo.passwords > 0; --sudo.passwords) order.stdin_lead += password + "\n";
  }
  spec.stdin_pipe = request.stdin_pipe || !request.stdin_data.empty() || request.stdin_close ||
                    !order.stdin_lead.empty();
  if (is_bash()) {
    command_order command;
    command.command = std::move(text);
    command.process_id = request.id;
    command.cwd = order.start_cwd;
    command.fall_back = !order.own_workdir;
    command.env = child_env_->extras(request.env);
    order.failure = too_long(command.env);
    command.pipefail = request.pipefail;
    // What a background command leaves behind changes nothing for the next one: nobody waits for it.
    if (request.foreground) {
      if (what_.report == report_channel::in_band) {
        spec.report_marker = make_report_marker();
      } else {
        order.report_path = services_->run_dir->path(request.id);
      }
    }
    command.report_path = order.report_path;
    command.report_marker = spec.report_marker;
    look_whether_plain(command);
    spec.env = shell_.env();
    // A directory that was given is checked by the kernel at the start; the remembered one is the
    // script's, which can fall back.
    spec.cwd = order.own_workdir ? order.start_cwd : "/";
    if (!order.failure && order.stdin_lead.empty()) spec.prepared = take_warm(request);
    const bool reports = !command.report_path.empty() || !command.report_marker.empty();
    if (spec.prepared == 0 && (command.plain || !reports)) {
      spec.argv = {what_.shell, "-c", lone_runner()};
      spec.state_script =
          lone_script(command, command.plain && !shell_.prelude_matters() ? std::string_view{}
                                                                          : shell_.prelude());
    } else {
      spec.argv = {what_.shell, "-c", shell_runner(what_.report)};
      spec.state_script = own_functions(what_.report) + shell_.prelude();
      spec.command_script = command_script(command);
    }
  } else {
    spec.argv = {what_.shell, "-c", std::move(text)};
    spec.env = child_env_->make(request.env, spec.marker);
    spec.cwd = order.start_cwd;
  }
  compat::send(self_, job.process, std::move(order));
  // The next shell is started when this command has ended, not beside it, as long as one is left.
  if (warm_.empty()) refill();
}

void environment_state::look_whether_plain(command_order& command) const {
  // What a directory is called is something that a shell changes, too.
  const auto& cwd = command.cwd;
  if (!command.report_marker.empty() || std::filesystem::path{cwd}.lexically_normal() != cwd ||
      (cwd.size() > 1 && cwd.ends_with('/'))) {
    return;
  }
  const auto found = text::plain(command.command);
  command.plain = found && shell_.leaves_alone(found->words);
  command.pipeline = command.plain && found->pipeline;
}

void environment_state::on_left(const command_left& what) {
  if (running_ > 0) --running_;
  last_used_ = backends::io_loop::clock::now();
  if (what.report) take_over(what);
  refill();
}

void environment_state::take_over(const command_left& what) {
  const auto given = [&](std::string_view variable) {
    return std::any_of(what.env.begin(), what.env.end(), [&](const std::string& entry) {
      return backends::plain_name(entry) == variable;
    });
  };
  shell_.update(*what.report, [&](std::string_view variable) {
    return !child_env_->passes(variable) || given(variable);
  });
  if (!what.own_workdir && what.report->cwd.starts_with('/')) cwd_ = what.report->cwd;
}

// -- warm shells ----------------------------------------------------------------------------------

backends::child_id environment_state::take_warm(const spawn_request& request) {
  if (warm_.empty() || request.pty || request.stdin_pipe || request.stdin_close ||
      !request.stdin_data.empty() || !request.workdir.empty()) {
    return 0;
  }
  const auto shell = warm_.front();  // the oldest: the one most likely to be ready
  warm_.erase(warm_.begin());
  if (shell.generation == shell_.generation()) return shell.id;
  services_->backend->discard(shell.id);
  return 0;
}

void environment_state::refill() {
  if (!is_bash() || what_.warm_shells == 0 || phase_ != phase::ready) return;
  // They save waiting, not work: where many commands run at once, a shell is started for each of them.
  if (running_ > what_.warm_shells) return;
  std::erase_if(warm_, [this](const warm_shell& shell) {
    if (shell.generation == shell_.generation()) return false;
    services_->backend->discard(shell.id);
    return true;
  });
  while (warm_.size() < what_.warm_shells) {
    const warm_shell fresh{services_->next_child(), shell_.generation()};
    backends::spawn_spec spec;
    spec.argv = {what_.shell, "-c", shell_runner(what_.report)};
    spec.marker = make_process_id();
    spec.env = shell_.env();
    spec.cwd = "/";
    spec.state_script = own_functions(what_.report) + shell_.prelude();
    services_->backend->prepare(fresh.id, std::move(spec));
    warm_.push_back(fresh);
  }
}

// -- going to sleep -------------------------------------------------------------------------------

void environment_state::on_idle() {
  idle_timer_ = 0;
  const auto limit = services_->opts->environment_idle;
  const auto idle = backends::io_loop::clock::now() - last_used_;
  if (running_ > 0 || !waiting_.empty() || idle < limit) {
    idle_timer_ = services_->loop->after(
        running_ > 0 ? limit : std::max<backends::io_loop::clock::duration>(limit - idle, {}),
        [receiver = caf::actor_cast<environment_actor>(self_)] {
          compat::anon_send(receiver, deadline_atom_v, idle_deadline);
        });
    return;
  }
  auto memory = std::make_shared<environment_memory>();
  memory->shell = shell_;
  memory->cwd = cwd_;
  memory->has_snapshot = phase_ == phase::ready;
  // The registry sends nothing more once it has answered; what came before is still served.
  compat::request(self_, services_->registry, environment_retired{key_, std::move(memory)})
      .then(
          [this] {
            if (running_ == 0) {
              self_->quit();
            } else {
              on_idle();
            }
          },
          [](const caf::error&) {});
}

}  // namespace troupe

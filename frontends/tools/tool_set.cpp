#include "troupe/frontends/tools/tool_set.hpp"

#include "troupe/frontends/tools/asking.hpp"
#include "troupe/frontends/tools/event_feed.hpp"
#include "troupe/frontends/tools/process_call.hpp"
#include "troupe/frontends/tools/terminal_call.hpp"
#include "troupe/text/utf8.hpp"

namespace troupe::tools {

struct tool_set::parts {
  caf::actor_system& system;
  registry_actor registry;
  options opts;
};

tool_set::tool_set(caf::actor_system& system, registry_actor registry, options opts)
    : parts_{std::make_shared<const parts>(parts{system, std::move(registry), std::move(opts)})} {}

const options& tool_set::opts() const noexcept {
  return parts_->opts;
}

void tool_set::call(std::string_view tool, const json_value& input, call_context context,
                    done then) const {
  const auto* spec = find_tool(tool);
  if (!spec) {
    json_value name;
    name.kind = json_value::type::string;
    name.text = text::to_valid_utf8(tool);
    return then(error_answer("unknown tool " + excerpt(name)));
  }
  bool terminal = spec == &terminal_tool();
  auto checked = validate(*spec, input);
  if (!checked.ok()) {
    return then(terminal ? terminal_answers{parts_->opts}.refused(checked.error)
                         : error_answer(checked.error));
  }
  const auto& p = *parts_;
  if (!terminal) {
    return call_process(p.system, p.registry, p.opts, checked.values, context.who, std::move(then));
  }
  auto plan = plan_terminal(checked.values, p.opts, context.can_receive_events);
  if (auto* refusal = std::get_if<terminal_refusal>(&plan)) {
    return then(terminal_answers{p.opts}.refused(refusal->text));
  }
  call_terminal(p.system, p.registry, p.opts, std::get<terminal_plan>(std::move(plan)), context,
                std::move(then));
}

void tool_set::call(std::string_view tool, std::string_view input, call_context context,
                    done then) const {
  auto parsed = parse_json(input);
  if (auto* error = std::get_if<json_error>(&parsed)) {
    return then(error_answer("the arguments are wrong: " + error->text));
  }
  call(tool, std::get<json_value>(parsed), std::move(context), std::move(then));
}

std::shared_ptr<event_feed> tool_set::listen(
    const std::string& session, std::function<void(const std::vector<event>&)> on_list) const {
  return make_event_feed(parts_->system, parts_->registry, session, std::move(on_list));
}

void tool_set::interrupt(const troupe::caller& who) const {
  compat::anon_send(parts_->registry, interrupt_atom_v, who);
}

}  // namespace troupe::tools

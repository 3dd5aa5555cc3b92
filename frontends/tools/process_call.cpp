#include "troupe/frontends/tools/process_call.hpp"

#include <algorithm>

#include "troupe/frontends/tools/asking.hpp"
#include "troupe/frontends/tools/json_text.hpp"
#include "troupe/text/exit_meaning.hpp"

namespace troupe::tools {

namespace {

caf::timespan span_of(double seconds) {
  return std::chrono::duration_cast<caf::timespan>(std::chrono::duration<double>{seconds});
}

double seconds(std::chrono::milliseconds span) {
  return static_cast<double>(span.count()) / 1000.0;
}

output_view view_of(const arguments& args) {
  auto name = args.text("view");
  if (name == "raw") return output_view::raw;
  if (name == "screen") return output_view::screen;
  return output_view::text;
}

/// One call on its way; handlers are named after the action.
class process_call {
 public:
  process_call(caf::actor_system& system, const registry_actor& registry, const options& opts,
               const arguments& args, const troupe::caller& who, tool_set::done then)
      : system_{system},
        registry_{registry},
        opts_{opts},
        answers_{opts},
        args_{args},
        who_{who},
        id_{args.text("session_id")},
        then_{std::move(then)} {}

  void run() {
    static const std::vector<std::pair<std::string_view, void (process_call::*)()>> actions = {
        {"list", &process_call::list},     {"poll", &process_call::poll},
        {"log", &process_call::log},       {"wait", &process_call::wait},
        {"kill", &process_call::kill},     {"write", &process_call::write},
        {"submit", &process_call::write},  {"close", &process_call::write},
        {"signal", &process_call::signal}, {"resize", &process_call::resize},
        {"detach", &process_call::detach}, {"handoff", &process_call::handoff},
    };
    auto action = args_.text("action");
    for (auto [name, handler] : actions) {
      if (name == action) return (this->*handler)();
    }
    then_(error_answer("unknown action"));
  }

 private:
  template <class Result, class Render, class... What>
  void ask_for(Render render, What... what) {
    auto then = then_;
    ask<Result>(
        system_, registry_, [then, render](const Result& x) { then(render(x)); },
        [then](const caf::error& error) { then(error_answer(error)); }, std::move(what)...);
  }

  void list() {
    ask_for<std::vector<process_summary>>(
        [answers = answers_](const auto& x) { return answers.list(x); }, list_atom_v, who_);
  }

  void poll() {
    poll_options what;
    if (auto cursor = args_.get<std::int64_t>("cursor")) {
      what.cursor = static_cast<std::uint64_t>(*cursor);
    }
    what.view = view_of(args_);
    what.tree = args_.flag("tree");
    ask_for<poll_result>(
        [answers = answers_, view = what.view](const auto& x) { return answers.poll(x, view); },
        poll_atom_v, who_, id_, what);
  }

  void log() {
    log_options what;
    if (auto offset = args_.get<std::int64_t>("offset")) {
      what.offset = static_cast<std::uint64_t>(*offset);
    }
    what.limit = static_cast<std::uint64_t>(
        args_.get<std::int64_t>("limit").value_or(static_cast<std::int64_t>(defaults::log_lines)));
    what.search = args_.text("search");
    what.view = view_of(args_);
    ask_for<log_result>(
        [answers = answers_, view = what.view](const auto& x) { return answers.log(x, view); },
        log_atom_v, who_, id_, what);
  }

  void wait() {
    auto asked = args_.get<double>("timeout").value_or(seconds(opts_.wait_default));
    if (asked <= 0) {
      return then_(error_answer("timeout must be positive (got " + to_text(asked) + ")"));
    }
    auto used = std::min(asked, seconds(opts_.wait_max));
    wait_options what;
    what.timeout = span_of(used);
    what.until = args_.text("until");
    what.port = static_cast<std::uint16_t>(args_.get<std::int64_t>("port").value_or(0));
    if (auto ids = args_.get<std::vector<std::string>>("ids"); ids && !ids->empty()) {
      wait_many_options many;
      many.ids = std::move(*ids);
      if (!id_.empty()) many.ids.insert(many.ids.begin(), id_);
      many.all = args_.text("mode") == "all";
      many.each = what;
      return ask_for<wait_many_result>(
          [answers = answers_, asked, used, port = what.port, all = many.all](const auto& x) {
            return answers.wait_many(x, all, asked, used, port);
          },
          wait_atom_v, who_, many);
    }
    if (id_.empty()) {
      return then_(error_answer("session_id is needed for wait (or ids, a list of them)"));
    }
    ask_for<wait_result>([answers = answers_, asked, used, port = what.port](
                             const auto& x) { return answers.wait(x, asked, used, port); },
                         wait_atom_v, who_, id_, what);
  }

  void kill() {
    kill_options what;
    what.signal = static_cast<std::int32_t>(args_.get<std::int64_t>("signal").value_or(0));
    if (auto grace = args_.get<double>("grace")) what.grace = span_of(*grace);
    ask_for<kill_result>([answers = answers_](const auto& x) { return answers.kill(x); },
                         kill_atom_v, who_, id_, what);
  }

  void write() {
    auto action = args_.text("action");
    write_request what;
    what.data = args_.text("data");
    if (action == "submit") what.data += '\n';
    what.eof = action == "close";
    ask_for<write_result>([answers = answers_, id = id_,
                           eof = what.eof](const auto& x) { return answers.write(id, x, eof); },
                          write_atom_v, who_, id_, what);
  }

  void signal() {
    auto number = static_cast<std::int32_t>(args_.get<std::int64_t>("signal").value_or(0));
    ask_for<process_summary>(
        [answers = answers_, number](const auto& x) {
          auto answer = answers.done(x, "signalled");
          answer.structured["signal"] = number;
          answer.structured["signal_name"] = text::signal_name(number);
          return answer;
        },
        signal_atom_v, who_, id_, number);
  }

  void resize() {
    auto rows = static_cast<std::uint16_t>(args_.get<std::int64_t>("rows").value_or(0));
    auto cols = static_cast<std::uint16_t>(args_.get<std::int64_t>("cols").value_or(0));
    auto then = then_;
    ask_void(
        system_, registry_,
        [then, id = id_, rows, cols] {
          then(
              {{{"status", "resized"}, {"session_id", id}, {"rows", rows}, {"cols", cols}}, false});
        },
        [then](const caf::error& error) { then(error_answer(error)); }, resize_atom_v, who_, id_,
        rows, cols);
  }

  void detach() {
    ask_for<process_summary>(
        [answers = answers_](const auto& x) { return answers.done(x, "detached"); }, detach_atom_v,
        who_, id_);
  }

  void handoff() {
    ask_for<process_summary>(
        [answers = answers_](const auto& x) { return answers.done(x, "handed_off"); },
        handoff_atom_v, who_, id_, args_.text("to_session"), args_.text("purpose"));
  }

  caf::actor_system& system_;
  const registry_actor& registry_;
  const options& opts_;
  process_answers answers_;
  const arguments& args_;
  const troupe::caller& who_;
  std::string id_;
  tool_set::done then_;
};

}  // namespace

void call_process(caf::actor_system& system, const registry_actor& registry, const options& opts,
                  const arguments& args, const troupe::caller& who, tool_set::done then) {
  process_call{system, registry, opts, args, who, std::move(then)}.run();
}

}  // namespace troupe::tools

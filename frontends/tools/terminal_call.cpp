#include "troupe/frontends/tools/terminal_call.hpp"

#include "troupe/frontends/tools/asking.hpp"

namespace troupe::tools {

namespace {

/// A foreground command and, if somebody wants it, its output while it runs. Lives in one actor, so
/// that no output is handed on after the answer.
struct foreground_call : std::enable_shared_from_this<foreground_call> {
  caf::event_based_actor* self = nullptr;
  registry_actor registry;
  terminal_answers answers;
  terminal_plan plan;
  call_context context;
  tool_set::done then;
  bool answered = false;

  foreground_call(registry_actor reg, const options& opts, terminal_plan what, call_context ctx,
                  tool_set::done done)
      : registry{std::move(reg)},
        answers{opts},
        plan{std::move(what)},
        context{std::move(ctx)},
        then{std::move(done)} {}

  void start() {
    auto me = shared_from_this();
    compat::request(self, registry, run_atom_v, context.who, plan.request)
        .then([me](const run_result& x) { me->finish(me->answers.run(me->plan.request, x)); },
              [me](const caf::error& error) { me->finish(me->answers.failed(error)); });
    if (context.on_output) follow(0);
  }

  void finish(tool_answer answer) {
    answered = true;
    then(std::move(answer));
  }

  /// The next output after `cursor`. Ends with the process, or with the answer.
  void follow(std::uint64_t cursor) {
    auto me = shared_from_this();
    follow_options what;
    what.cursor = cursor;
    compat::request(self, registry, follow_atom_v, context.who, plan.request.id, what)
        .then(
            [me](const output_chunk& chunk) {
              if (me->answered) return;
              if (!chunk.data.empty()) me->context.on_output(chunk);
              if (!chunk.finished) me->follow(chunk.cursor);
            },
            [](const caf::error&) {
              // Gone, or never started: the answer of the run says so.
            });
  }
};

}  // namespace

void call_terminal(caf::actor_system& system, const registry_actor& registry, const options& opts,
                   terminal_plan plan, const call_context& context, tool_set::done then) {
  if (plan.request.id.empty()) plan.request.id = make_process_id();
  if (plan.request.foreground) {
    auto call = std::make_shared<foreground_call>(registry, opts, std::move(plan), context,
                                                  std::move(then));
    system.spawn([call](caf::event_based_actor* self) {
      call->self = self;
      call->start();
    });
    return;
  }
  auto request = plan.request;
  ask<start_result>(
      system, registry,
      [answers = terminal_answers{opts}, plan = std::move(plan), then](const start_result& x) {
        auto answer = answers.started(plan.request, x);
        if (!x.failure) {
          for (const auto& note : plan.notes) {
            answer.structured.insert_or_assign(note.key(), note.value());
          }
        }
        then(std::move(answer));
      },
      [answers = terminal_answers{opts}, then](const caf::error& error) {
        then(answers.failed(error));
      },
      start_atom_v, context.who, request);
}

}  // namespace troupe::tools

#include "troupe/actors/heartbeat.hpp"

#include <utility>

namespace troupe {

heartbeat_state::heartbeat_state(heartbeat_actor::pointer self,
                                 std::shared_ptr<backends::io_loop> loop, events_actor events,
                                 process_actor process, event_origin origin,
                                 heartbeat_schedule::clock::duration period, std::uint64_t cursor)
    : self_(self),
      loop_(std::move(loop)),
      events_(std::move(events)),
      process_(std::move(process)),
      origin_(std::move(origin)),
      schedule_(period, heartbeat_schedule::clock::now() -
                            std::chrono::duration_cast<heartbeat_schedule::clock::duration>(
                                caf::make_timestamp() - origin_.started_at)),
      cursor_(cursor) {
  arm();
}

heartbeat_state::~heartbeat_state() {
  if (timer_ != 0) loop_->cancel(timer_);
}

heartbeat_actor::behavior_type heartbeat_state::make_behavior() {
  return {
      [this](heartbeat_atom) { on_tick(); },
      [this](handoff_atom, const caller& owner) { origin_.owner = owner; },
      [this](close_atom) {
        closed_ = true;
        process_ = nullptr;
      },
  };
}

void heartbeat_state::arm() {
  timer_ = loop_->after(
      schedule_.until_next(heartbeat_schedule::clock::now()),
      [me = caf::actor_cast<heartbeat_actor>(self_)] { compat::anon_send(me, heartbeat_atom_v); });
}

void heartbeat_state::on_tick() {
  timer_ = 0;
  if (closed_) return;
  compat::request(self_, process_, heartbeat_atom_v, cursor_)
      .then(
          [this](heartbeat_text& fresh) {
            if (closed_ || fresh.finished) return;
            cursor_ = fresh.cursor;
            if (!fresh.text.empty()) {
              auto x = origin_.make(event_kind::heartbeat);
              x.output = std::move(fresh.text);
              x.output_cut = fresh.left_out;
              compat::send(self_, events_, publish_atom_v, std::move(x), false);
            }
            arm();
          },
          [](const caf::error&) {});
}

}  // namespace troupe

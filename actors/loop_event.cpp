#include "troupe/actors/loop_event.hpp"

#include <utility>

namespace troupe {

namespace {

class actor_sink final : public backends::sink {
 public:
  explicit actor_sink(loop_listener_actor receiver) : receiver_(std::move(receiver)) {}

  void started(const backends::start_info& info) override { post(info); }
  void failed(const backends::start_error& error) override { post(error); }
  void advanced() override { post(loop_event::advanced{}); }
  void eof() override { post(loop_event::eof{}); }
  void exited(const backends::exit_status& status) override { post(status); }
  void reported(std::string report) override { post(loop_event::reported{std::move(report)}); }
  void drained(const std::vector<int>& holders) override { post(loop_event::drained{holders}); }
  void written(std::uint64_t token, const backends::write_outcome& outcome) override {
    post(loop_event::written{token, outcome});
  }
  void signalled(std::uint64_t token, int error_number) override {
    post(loop_event::signalled{token, error_number});
  }
  void kill_done(const std::vector<int>& survivors) override {
    post(loop_event::kill_done{survivors});
  }
  void described(std::uint64_t token, const backends::description& what) override {
    post(loop_event::described{token, what});
  }

 private:
  template <class What>
  void post(What&& what) {
    compat::anon_send(receiver_, loop_event{std::forward<What>(what)});
  }

  loop_listener_actor receiver_;
};

}  // namespace

std::shared_ptr<backends::sink> make_actor_sink(loop_listener_actor receiver) {
  return std::make_shared<actor_sink>(std::move(receiver));
}

}  // namespace troupe

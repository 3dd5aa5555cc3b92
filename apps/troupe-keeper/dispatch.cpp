// Requests of the node, and its marks in the shared memory.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "troupe/apps/troupe-keeper/server.hpp"

namespace troupe::keeper_app {

using namespace backends;
using wire::kind;

template <class Record, class Action>
void server::carry_out(const wire::message& m, Action action) {
  if (auto record = wire::decode<Record>(m.body)) {
    action(std::move(*record));
    return;
  }
  // Whoever sends this cannot be trusted with the rest.
  const auto node = node_;
  node->send(wire::refused{0, "malformed message " + std::to_string(static_cast<int>(m.what))});
  node->close();
  detach();
}

void server::received(wire::message&& m) {
  switch (m.what) {
    case kind::start:
      carry_out<wire::start_order>(m, [this](wire::start_order&& r) { start(std::move(r)); });
      break;
    case kind::prepare:
      carry_out<wire::prepare_order>(m, [this](auto&& r) {
        next_id_ = std::max(next_id_, r.id + 1);
        if (!find(r.id) && prepared_.insert(r.id).second) {
          backend_->prepare(r.id, std::move(r.spec));
        }
      });
      break;
    case kind::discard:
      carry_out<wire::about<kind::discard>>(m, [this](auto&& r) {
        if (prepared_.erase(r.id) != 0) {
          backend_->discard(r.id);
        }
      });
      break;
    case kind::write:
      carry_out<wire::write_request>(
          m, [this](auto&& r) { backend_->write(r.id, r.token, std::move(r.data), r.eof); });
      break;
    case kind::signal:
      carry_out<wire::signal_request>(
          m, [this](auto&& r) { backend_->signal(r.id, r.token, r.number); });
      break;
    case kind::kill:
      carry_out<wire::kill_request>(m, [this](auto&& r) { backend_->kill(r.id, r.plan); });
      break;
    case kind::resize:
      carry_out<wire::resize_request>(m,
                                      [this](auto&& r) { backend_->resize(r.id, r.rows, r.cols); });
      break;
    case kind::describe:
      carry_out<wire::describe_request>(m, [this](auto&& r) { backend_->describe(r.id, r.token); });
      break;
    case kind::set_owner_death:
      carry_out<wire::owner_death_request>(m, [this](auto&& r) {
        if (auto* child = find(r.id)) {
          child->on_owner_death = r.what;
        }
      });
      break;
    case kind::release:
      carry_out<wire::about<kind::release>>(m, [this](auto&& r) {
        backend_->release(r.id);
        forget(r.id);
      });
      break;
    case kind::ring_done:
      carry_out<wire::about<kind::ring_done>>(m, [this](auto&& r) {
        if (auto* child = find(r.id)) {
          child->ring_done();
        }
      });
      break;
    case kind::adopt:
      carry_out<wire::about<kind::adopt>>(m, [this](auto&& r) {
        if (auto* child = find(r.id)) {
          child->spilled.hand_over(spools_);
        }
      });
      break;
    default:
      carry_out<wire::notice<kind::list_end>>({}, [](auto&&) {});  // not for us: malformed
      break;
  }
}

void server::start(wire::start_order&& order) {
  next_id_ = std::max(next_id_, order.id + 1);
  if (find(order.id) || prepared_.contains(order.id)) {
    tell(wire::failed{order.id, {stage::limits, EEXIST, "EEXIST: the id is in use"}});
    return;
  }
  prepared_.erase(order.spec.prepared);
  auto child = std::make_shared<kept>(*this, order.id, order.spec);
  children_.emplace(order.id, child);
  backend_->start(order.id, std::move(order.spec), std::move(child));
}

void server::await_bell() {
  bell_->async_wait(boost::asio::posix::descriptor_base::wait_read,
                    [this](const boost::system::error_code& error) {
                      if (error) {
                        return;
                      }
                      std::uint64_t count = 0;
                      [[maybe_unused]] const auto n =
                          ::read(bell_->native_handle(), &count, sizeof count);
                      rings_->resumed().silence();
                      rings_->resumed().take_all([this](std::uint32_t slot) {
                        if (slot < by_slot_.size() && by_slot_[slot] != 0) {
                          backend_->resume(by_slot_[slot]);
                        }
                      });
                      await_bell();
                    });
}

}  // namespace troupe::keeper_app

#include "troupe/frontends/mcp/server.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "troupe/frontends/mcp/line_splitter.hpp"
#include "troupe/frontends/mcp/output_queue.hpp"

namespace troupe::mcp {

/// What calls under way still need when the server itself is gone.
struct server::core : session_owner, std::enable_shared_from_this<server::core> {
  core(tools::tool_set set, server_settings what, int out, std::shared_ptr<spdlog::logger> log)
      : tools{std::move(set)},
        settings{std::move(what)},
        logger{std::move(log)},
        queue{out, settings.max_unwritten_bytes},
        client{*this, {settings.version, settings.max_calls}},
        splitter{settings.max_frame_bytes} {}

  // -- session_owner; called with the mutex held --
  void send(std::string frame) override { queue.push(std::move(frame)); }
  void start(tool_call call) override { starts.push_back(std::move(call)); }
  void interrupt(call_number number) override { interrupts.push_back(number); }
  void told() override {
    if (feed) {
      feed->told();
    } else {
      told_early = true;
    }
  }

  /// From now on the client is told what happens.
  void listen() {
    std::weak_ptr<core> me = weak_from_this();
    auto fresh = tools.listen(settings.session, [me](const std::vector<event>& list) {
      auto self = me.lock();
      if (!self) return;
      std::lock_guard guard{self->mutex};
      self->client.happened(list);
    });
    std::lock_guard guard{mutex};
    feed = std::move(fresh);
    if (told_early) feed->told();
  }

  void receive(std::string_view line) {
    with_session([&] { client.receive(line); });
  }

  void oversized() {
    logger->warn("a frame of more than {} bytes was thrown away", settings.max_frame_bytes);
    with_session([&] { client.oversized(settings.max_frame_bytes); });
  }

  /// Runs `step` under the lock, and what the session asked for after it: a wrong call is answered
  /// from within `tools.call`.
  template <class Step>
  void with_session(Step step) {
    std::vector<tool_call> to_start;
    std::vector<call_number> to_interrupt;
    {
      std::lock_guard guard{mutex};
      step();
      to_start.swap(starts);
      to_interrupt.swap(interrupts);
    }
    for (auto& call : to_start) run(std::move(call));
    for (auto number : to_interrupt) tools.interrupt(caller_of(number));
  }

  void run(tool_call call) {
    logger->debug("call {}: {}", call.number, call.tool);
    tools::call_context context;
    context.who = caller_of(call.number);
    context.can_receive_events = true;  // if nothing else, as notices
    auto me = shared_from_this();
    if (call.wants_progress) {
      context.on_output = [me, number = call.number](const output_chunk& chunk) {
        // A client that does not read gets the output with the answer.
        if (me->queue.congested()) return;
        std::lock_guard guard{me->mutex};
        me->client.progressed(number, chunk.cursor, chunk.data);
      };
    }
    tools.call(call.tool, call.arguments, std::move(context),
               [me, number = call.number](const tools::tool_answer& answer) {
                 me->logger->debug("call {} answered", number);
                 std::lock_guard guard{me->mutex};
                 me->client.answered(number, answer);
                 me->idle.notify_all();
               });
  }

  troupe::caller caller_of(call_number number) const {
    troupe::caller who;
    who.session = settings.session;
    who.turn = "call-" + std::to_string(number);
    who.platform = "mcp";
    return who;
  }

  void wait_until_idle(std::chrono::milliseconds limit) {
    std::unique_lock guard{mutex};
    idle.wait_for(guard, limit, [this] { return client.under_way() == 0; });
  }

  tools::tool_set tools;
  server_settings settings;
  std::shared_ptr<spdlog::logger> logger;
  output_queue queue;

  std::mutex mutex;
  std::condition_variable idle;
  session client;
  std::shared_ptr<tools::event_feed> feed;
  bool told_early = false;  ///< before `feed` was known
  std::vector<tool_call> starts;
  std::vector<call_number> interrupts;

  line_splitter splitter;  // reader thread only
};

server::server(tools::tool_set tools, server_settings settings, int in, int out, int stop,
               std::shared_ptr<spdlog::logger> logger)
    : core_{std::make_shared<core>(std::move(tools), std::move(settings), out, std::move(logger))},
      in_{in},
      stop_{stop} {}

server::~server() = default;

void server::serve() {
  core_->listen();
  std::string buffer(64 << 10, '\0');
  while (wait_for_relief() && read_once(buffer)) {
  }
  // What the client was not told is kept for its next life, also what its going ends.
  std::lock_guard guard{core_->mutex};
  core_->feed.reset();
}

/// Waits while the client does not read its answers. False if the server is to end.
bool server::wait_for_relief() {
  while (core_->queue.congested()) {
    pollfd waits[2] = {{core_->queue.relief(), POLLIN, 0}, {stop_, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR) return false;
    if ((waits[1].revents & POLLIN) != 0) return false;
    std::uint64_t count = 0;
    [[maybe_unused]] auto taken = ::read(core_->queue.relief(), &count, sizeof count);
  }
  return !core_->queue.broken();
}

/// Reads once and handles the lines in it. False at the end of the input or if told to stop.
bool server::read_once(std::string& buffer) {
  pollfd waits[3] = {{in_, POLLIN, 0}, {stop_, POLLIN, 0}, {core_->queue.relief(), POLLIN, 0}};
  if (poll(waits, 3, -1) < 0) return errno == EINTR;
  if ((waits[1].revents & POLLIN) != 0) {
    core_->logger->info("told to stop");
    return false;
  }
  if ((waits[2].revents & POLLIN) != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] auto taken = ::read(core_->queue.relief(), &count, sizeof count);
    return true;
  }
  auto on_line = [this](std::string_view line) { core_->receive(line); };
  auto size = ::read(in_, buffer.data(), buffer.size());
  if (size < 0) {
    if (errno == EINTR || errno == EAGAIN) return true;
    core_->logger->error("reading requests failed: {}", std::strerror(errno));
    return false;
  }
  if (size == 0) {
    core_->splitter.finish(on_line);
    core_->logger->info("end of input");
    core_->wait_until_idle(core_->settings.settle);
    return false;
  }
  core_->splitter.feed({buffer.data(), static_cast<std::size_t>(size)}, on_line,
                       [this] { core_->oversized(); });
  return true;
}

void server::finish() {
  core_->wait_until_idle(core_->settings.settle);
  if (!core_->queue.close(core_->settings.flush)) {
    core_->logger->warn("the client did not read its last answers");
  }
}

}  // namespace troupe::mcp

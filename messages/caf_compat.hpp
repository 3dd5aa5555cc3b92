// The only header that may differ between CAF versions (0.18.7 up to 1.1). Everything that sends a
// message or names a type that CAF renamed goes through it.
#pragma once

#include <string_view>
#include <utility>

#include <caf/config.hpp>

#ifdef CAF_VERSION_MAJOR
#define TROUPE_CAF_1 1
#else
#define TROUPE_CAF_1 0
#endif

#if TROUPE_CAF_1
#include <caf/anon_mail.hpp>
#include <caf/mailbox_element.hpp>
#else
#include <caf/send.hpp>
#include <caf/string_view.hpp>
#endif
#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/system_messages.hpp>
#include <caf/timespan.hpp>

namespace troupe::compat {

#if TROUPE_CAF_1
using string_view = std::string_view;
#else
using string_view = caf::string_view;
#endif

inline std::string_view to_std(string_view text) {
  return {text.data(), text.size()};
}

/// Sends `args` from `self` to `dest`, asynchronously.
template <class Self, class Handle, class... Args>
void send(Self* self, const Handle& dest, Args&&... args) {
#if TROUPE_CAF_1
  self->mail(std::forward<Args>(args)...).send(dest);
#else
  self->send(dest, std::forward<Args>(args)...);
#endif
}

/// Sends `args` to `dest` without a sender; callable from any thread.
template <class Handle, class... Args>
void anon_send(const Handle& dest, Args&&... args) {
#if TROUPE_CAF_1
  caf::anon_mail(std::forward<Args>(args)...).send(dest);
#else
  caf::anon_send(dest, std::forward<Args>(args)...);
#endif
}

/// Tells an actor to end; callable from any thread.
template <class Handle>
void anon_send_exit(const Handle& dest, caf::exit_reason reason) {
  if (!dest) return;
#if TROUPE_CAF_1
  caf::anon_mail(caf::exit_msg{dest.address(), reason}).send(caf::actor_cast<caf::actor>(dest));
#else
  caf::anon_send_exit(dest, reason);
#endif
}

/// A request without a timeout (timers come from the io loop, never from CAF's clock).
template <class Self, class Handle, class... Args>
auto request(Self* self, const Handle& dest, Args&&... args) {
#if TROUPE_CAF_1
  return self->mail(std::forward<Args>(args)...).request(dest, caf::infinite);
#else
  return self->request(dest, caf::infinite, std::forward<Args>(args)...);
#endif
}

/// A request with a timeout, for callers outside the hot path (front ends, tests, scoped actors).
template <class Self, class Handle, class... Args>
auto request_within(Self* self, caf::timespan limit, const Handle& dest, Args&&... args) {
#if TROUPE_CAF_1
  return self->mail(std::forward<Args>(args)...).request(dest, limit);
#else
  return self->request(dest, limit, std::forward<Args>(args)...);
#endif
}

/// Hands the current request over to `dest`, which answers in our place.
template <class Self, class Handle, class... Args>
auto delegate(Self* self, const Handle& dest, Args&&... args) {
#if TROUPE_CAF_1
  return self->mail(std::forward<Args>(args)...).delegate(dest);
#else
  return self->delegate(dest, std::forward<Args>(args)...);
#endif
}

}  // namespace troupe::compat

// Requests to the registry from a plain thread that may block: the commands of the command line.
// One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/error.hpp>
#include <caf/scoped_actor.hpp>

#include "troupe/messages/interfaces.hpp"

namespace troupe::cli {

/// An answer, or why there is none.
template <class T>
struct reply {
  std::optional<T> value;
  caf::error error;

  explicit operator bool() const noexcept { return value.has_value(); }
  const T& operator*() const { return *value; }
  const T* operator->() const { return &*value; }
};

class blocking_client {
 public:
  blocking_client(caf::actor_system& system, registry_actor registry, troupe::caller who)
      : self_{system}, registry_{std::move(registry)}, who_{std::move(who)} {}

  const troupe::caller& who() const noexcept { return who_; }
  const registry_actor& registry() const noexcept { return registry_; }

  /// Asks on behalf of the caller and blocks until the registry answers.
  template <class Result, class Atom, class... What>
  reply<Result> ask(Atom atom, What... what) {
    reply<Result> out;
    compat::request(self_.ptr(), registry_, atom, who_, std::move(what)...)
        .receive([&](Result& x) { out.value = std::move(x); },
                 [&](caf::error& error) { out.error = std::move(error); });
    return out;
  }

 private:
  caf::scoped_actor self_;
  registry_actor registry_;
  troupe::caller who_;
};

}  // namespace troupe::cli

// What the events actor knows: numbered events that somebody still has to be told, by session, and
// what was lost of them. A plain class: no actors, no files, no clock. Memory is bounded by the limits;
// what goes over them is thrown away, oldest first, and becomes a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "troupe/messages/events.hpp"

namespace troupe {

class event_index {
 public:
  struct limits {
    std::size_t per_session = 8'192;
    std::size_t bytes = 64 << 20;
  };
  /// Events thrown away undelivered: everything of this session up to this number.
  struct expiry {
    std::string session;
    std::uint64_t upto = 0;
  };

  explicit event_index(limits what) : limits_(what) {}

  /// Numbers given from now on are larger than this. Never goes back.
  void number_after(std::uint64_t last);
  /// The largest number given so far.
  std::uint64_t last() const noexcept { return last_; }

  /// Gives the event its number and keeps it until it is acknowledged or consumed. Not kept: a
  /// completion that its owner has been shown already, here or in an earlier `consume`.
  std::shared_ptr<const event> add(event x, bool consumed, std::vector<expiry>& expired);
  /// Takes an event back in that has a number already; in the order of numbers.
  void restore(event x);

  /// Everything of the session up to this number is known to all that should know it.
  void acknowledge(const std::string& session, std::uint64_t upto);
  /// As `acknowledge`, but nobody was told: it becomes part of a gap.
  void expire(const std::string& session, std::uint64_t upto);
  /// Throws away what is older than `oldest`.
  std::vector<expiry> expire_before(caf::timestamp oldest);
  /// The session was shown the end of the process. The number of the completion that is not told
  /// any more; nothing if there is none (yet: then it will not be told when it comes).
  std::optional<std::uint64_t> consume(const std::string& session, const std::string& process);
  /// The same by number, from the journal.
  void consume_number(const std::string& session, std::uint64_t number);

  /// The next events of a session after `after` and not after `upto`, a gap first if there is one.
  std::vector<event> next(const std::string& session, std::uint64_t after, std::uint64_t upto,
                          std::size_t count) const;
  /// Events of the session that nobody has acknowledged.
  std::size_t undelivered(const std::string& session) const;
  /// The lowest number that is still kept; one more than the last if there is none.
  std::uint64_t keep_from() const;

  std::size_t size() const noexcept { return numbers_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct room {
    std::map<std::uint64_t, std::shared_ptr<const event>> live;
    std::size_t bytes = 0;
    std::uint64_t lost = 0;
    std::uint64_t lost_upto = 0;
  };
  using rooms = std::unordered_map<std::string, room>;

  void keep(std::shared_ptr<const event> x);
  std::uint64_t remove(room& from, std::uint64_t upto);
  void forget(const event& x, room& from);
  void tidy(rooms::iterator it);
  void make_room(const std::string& session, std::vector<expiry>& expired);
  void lose_oldest(rooms::iterator it, std::size_t count, std::vector<expiry>& expired);

  limits limits_;
  std::uint64_t last_ = 0;
  rooms rooms_;
  std::set<std::uint64_t> numbers_;
  std::size_t bytes_ = 0;
  /// Number of the completion of a process that is still kept.
  std::unordered_map<std::string, std::uint64_t> completions_;
  /// Shown before their completion came, oldest first; few and bounded.
  std::unordered_set<std::string> shown_;
  std::deque<std::string> shown_order_;
};

}  // namespace troupe

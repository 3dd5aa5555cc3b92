#include "troupe/actors/event_index.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Ends that were shown before their completion came.
constexpr std::size_t most_shown = 4'096;

std::size_t size_of(const event& x) {
  return sizeof(event) + 128 + x.command.size() + x.output.size() + x.pattern.size() +
         x.note.size() + x.process.size() + x.owner.session.size() + x.owner.turn.size();
}

std::string shown_key(const std::string& session, const std::string& process) {
  return process + '\n' + session;
}

}  // namespace

void event_index::number_after(std::uint64_t last) {
  last_ = std::max(last_, last);
}

std::shared_ptr<const event> event_index::add(event x, bool consumed,
                                              std::vector<expiry>& expired) {
  x.sequence = ++last_;
  if (x.kind == event_kind::completion && !shown_.empty()) {
    if (const auto it = shown_.find(shown_key(x.owner.session, x.process)); it != shown_.end()) {
      shown_.erase(it);
      consumed = true;
    }
  }
  auto kept = std::make_shared<const event>(std::move(x));
  if (consumed) return kept;
  make_room(kept->owner.session, expired);
  keep(kept);
  return kept;
}

void event_index::restore(event x) {
  number_after(x.sequence);
  std::vector<expiry> expired;
  make_room(x.owner.session, expired);
  keep(std::make_shared<const event>(std::move(x)));
}

void event_index::keep(std::shared_ptr<const event> x) {
  auto& to = rooms_[x->owner.session];
  const auto size = size_of(*x);
  to.bytes += size;
  bytes_ += size;
  numbers_.insert(x->sequence);
  if (x->kind == event_kind::completion) completions_[x->process] = x->sequence;
  to.live.emplace(x->sequence, std::move(x));
}

void event_index::forget(const event& x, room& from) {
  const auto size = size_of(x);
  from.bytes -= size;
  bytes_ -= size;
  numbers_.erase(x.sequence);
  if (x.kind != event_kind::completion) return;
  const auto it = completions_.find(x.process);
  if (it != completions_.end() && it->second == x.sequence) completions_.erase(it);
}

std::uint64_t event_index::remove(room& from, std::uint64_t upto) {
  std::uint64_t count = 0;
  while (!from.live.empty() && from.live.begin()->first <= upto) {
    forget(*from.live.begin()->second, from);
    from.live.erase(from.live.begin());
    ++count;
  }
  return count;
}

void event_index::tidy(rooms::iterator it) {
  if (it->second.live.empty() && it->second.lost == 0) rooms_.erase(it);
}

void event_index::acknowledge(const std::string& session, std::uint64_t upto) {
  const auto it = rooms_.find(session);
  if (it == rooms_.end()) return;
  remove(it->second, upto);
  if (upto >= it->second.lost_upto) it->second.lost = 0;
  tidy(it);
}

void event_index::expire(const std::string& session, std::uint64_t upto) {
  const auto it = rooms_.find(session);
  if (it == rooms_.end()) return;
  auto& from = it->second;
  if (const auto count = remove(from, upto); count > 0) {
    from.lost += count;
    from.lost_upto = std::max(from.lost_upto, upto);
  }
}

std::vector<event_index::expiry> event_index::expire_before(caf::timestamp oldest) {
  std::vector<expiry> expired;
  for (auto& [session, from] : rooms_) {
    std::uint64_t upto = 0;
    for (const auto& [number, x] : from.live) {
      if (x->at >= oldest) break;
      upto = number;
    }
    if (upto != 0) expired.push_back({session, upto});
  }
  for (const auto& one : expired) expire(one.session, one.upto);
  return expired;
}

void event_index::lose_oldest(rooms::iterator it, std::size_t count, std::vector<expiry>& expired) {
  auto last = it->second.live.begin();
  std::advance(last, static_cast<std::ptrdiff_t>(std::min(count, it->second.live.size()) - 1));
  expired.push_back({it->first, last->first});
  expire(it->first, last->first);
}

void event_index::make_room(const std::string& session, std::vector<expiry>& expired) {
  if (const auto it = rooms_.find(session);
      it != rooms_.end() && it->second.live.size() >= limits_.per_session) {
    lose_oldest(it, it->second.live.size() - limits_.per_session + 1, expired);
  }
  // Whoever has piled up most gives most; an eighth at once, so that looking for it stays cheap.
  while (bytes_ > limits_.bytes) {
    const auto it = std::max_element(
        rooms_.begin(), rooms_.end(),
        [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
    lose_oldest(it, std::max<std::size_t>(it->second.live.size() / 8, 1), expired);
  }
}

std::optional<std::uint64_t> event_index::consume(const std::string& session,
                                                  const std::string& process) {
  const auto known = completions_.find(process);
  if (known == completions_.end()) {
    auto key = shown_key(session, process);
    if (shown_.insert(key).second) {
      shown_order_.push_back(std::move(key));
      if (shown_order_.size() > most_shown) {
        shown_.erase(shown_order_.front());
        shown_order_.pop_front();
      }
    }
    return std::nullopt;
  }
  const auto number = known->second;
  const auto it = rooms_.find(session);
  if (it == rooms_.end() || !it->second.live.contains(number)) return std::nullopt;
  consume_number(session, number);
  return number;
}

void event_index::consume_number(const std::string& session, std::uint64_t number) {
  const auto it = rooms_.find(session);
  if (it == rooms_.end()) return;
  const auto found = it->second.live.find(number);
  if (found == it->second.live.end()) return;
  forget(*found->second, it->second);
  it->second.live.erase(found);
  tidy(it);
}

std::vector<event> event_index::next(const std::string& session, std::uint64_t after,
                                     std::uint64_t upto, std::size_t count) const {
  std::vector<event> result;
  const auto it = rooms_.find(session);
  if (it == rooms_.end() || count == 0) return result;
  const auto& from = it->second;
  if (from.lost > 0 && from.lost_upto > after) {
    event gap;
    gap.sequence = from.lost_upto;
    gap.kind = event_kind::gap;
    gap.at = caf::make_timestamp();
    gap.owner.session = session;
    gap.held_back = from.lost;
    gap.note = "events were thrown away because nobody took them in time";
    result.push_back(std::move(gap));
  }
  for (auto x = from.live.upper_bound(after);
       x != from.live.end() && x->first <= upto && result.size() < count; ++x) {
    result.push_back(*x->second);
  }
  return result;
}

std::size_t event_index::undelivered(const std::string& session) const {
  const auto it = rooms_.find(session);
  return it == rooms_.end() ? 0 : it->second.live.size();
}

std::uint64_t event_index::keep_from() const {
  return numbers_.empty() ? last_ + 1 : *numbers_.begin();
}

}  // namespace troupe

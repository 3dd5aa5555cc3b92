#include "troupe/persistence/kept_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace troupe::persistence {

namespace {

/// A disk that fails so often in a row is left alone until the next time.
constexpr int most_failures = 8;
/// Directories are looked through when this part of what may be kept has been written.
constexpr std::size_t prune_part = 4;

}  // namespace

// -- the backlog ----------------------------------------------------------------------------------

void kept_processes::keep(kind which, const std::string& id, std::string json) {
  forget(which, id);
  auto& place = shelf_of(which);
  bytes_ += json.size();
  place.by_age.emplace(next_age_, id);
  place.by_id.emplace(id, shelf::item{std::move(json), next_age_++});
  bound();
}

void kept_processes::forget(kind which, const std::string& id) {
  auto& place = shelf_of(which);
  const auto it = place.by_id.find(id);
  if (it == place.by_id.end()) return;
  bytes_ -= it->second.json.size();
  place.by_age.erase(it->second.age);
  place.by_id.erase(it);
}

void kept_processes::bound() {
  for (const auto which : {kind::receipt, kind::record}) {
    auto& place = shelf_of(which);
    while (bytes_ > backlog_bytes_ && !place.by_age.empty()) {
      const auto id = place.by_age.begin()->second;
      forget(which, id);
      ++dropped_;
      // Its end has been told: a record that stays would make the next node say otherwise.
      if (which == kind::receipt) removals_.insert(id);
    }
  }
}

bool kept_processes::behind() const noexcept {
  return !records_.by_id.empty() || !receipts_.by_id.empty() || !removals_.empty();
}

std::error_code kept_processes::retry() {
  std::error_code first;
  int failures = 0;
  // Removals first: they make room.
  for (const auto& id : std::vector<std::string>(removals_.begin(), removals_.end())) {
    if (failures == most_failures) break;
    if (const auto ec = end_record(id)) {
      ++failures;
      if (!first) first = ec;
    }
  }
  for (const auto which : {kind::record, kind::receipt}) {
    const auto ec = retry(which, failures);
    if (!first) first = ec;
  }
  return first;
}

std::error_code kept_processes::retry(kind which, int& failures) {
  std::error_code first;
  auto& place = shelf_of(which);
  const std::map<std::uint64_t, std::string> in_order = place.by_age;
  for (const auto& [age, id] : in_order) {
    if (failures >= most_failures) break;
    auto ec = files_.write(which, id, place.by_id.at(id).json);
    if (!ec) {
      forget(which, id);
      if (which == kind::receipt) ec = end_record(id);
    }
    if (!ec) continue;
    ++failures;
    if (!first) first = ec;
  }
  return first;
}

// -- what happens to processes --------------------------------------------------------------------

std::error_code kept_processes::write(kind which, const std::string& id, std::string json) {
  if (!is_process_id(id)) return {EINVAL, std::generic_category()};
  const auto ec = files_.write(which, id, json);
  if (ec) {
    keep(which, id, std::move(json));
  } else {
    forget(which, id);
  }
  return ec;
}

std::error_code kept_processes::put_record(process_record what) {
  mask_secrets(what);
  removals_.erase(what.id);
  return write(kind::record, what.id, to_json(what));
}

std::error_code kept_processes::drop_record(const std::string& id) {
  if (!is_process_id(id)) return {EINVAL, std::generic_category()};
  forget(kind::record, id);
  return end_record(id);
}

std::error_code kept_processes::end_record(const std::string& id) {
  const auto ec = files_.remove(kind::record, id);
  if (ec) {
    removals_.insert(id);
  } else {
    removals_.erase(id);
  }
  return ec;
}

std::error_code kept_processes::put_receipt(receipt what, std::chrono::system_clock::time_point now,
                                            bool keep_record) {
  mask_secrets(what);
  auto json = receipt_json(what);
  const auto size = json.size();
  const auto& id = what.process.id;
  forget(kind::record, id);
  if (const auto ec = write(kind::receipt, id, std::move(json))) return ec;
  prune_sometimes(size, now);
  return keep_record ? std::error_code{} : end_record(id);
}

void kept_processes::prune_sometimes(std::size_t bytes, std::chrono::system_clock::time_point now) {
  ++receipts_since_prune_;
  bytes_since_prune_ += bytes;
  if (receipts_since_prune_ < std::max<std::size_t>(1, limits_.count / prune_part) &&
      bytes_since_prune_ < limits_.bytes / prune_part) {
    return;
  }
  receipts_since_prune_ = 0;
  bytes_since_prune_ = 0;
  files_.prune(limits_, now);
}

// -- looking up -----------------------------------------------------------------------------------

bool kept_processes::is_of(const std::string& session, const shelf::item& item,
                           receipt& out) const {
  return parse_receipt(item.json, out) && out.process.owner.session == session;
}

found_ids kept_processes::find(const std::string& session, std::string_view id) {
  found_ids result;
  const auto prefix = id_prefix(id);
  if (prefix.empty()) return result;
  std::map<std::string, std::optional<receipt>> found;
  const auto& waiting = receipts_.by_id;
  for (auto it = waiting.lower_bound(prefix);
       it != waiting.end() && it->first.starts_with(prefix) && found.size() < 2; ++it) {
    receipt one;
    if (is_of(session, it->second, one)) found.emplace(it->first, std::move(one));
  }
  for (auto& other : files_.find_receipts(session, id)) found.try_emplace(std::move(other));
  for (const auto& [one, what] : found) {
    if (result.ids.size() < 2) result.ids.push_back(one);
  }
  if (found.size() != 1) return result;
  auto& only = found.begin()->second;
  if (!only) {
    std::error_code ec;
    only = files_.read_receipt(result.ids.front(), ec);
    // Removed or damaged since a moment ago.
    if (ec) return {};
  }
  result.only = std::move(only);
  return result;
}

}  // namespace troupe::persistence

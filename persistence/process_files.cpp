#include "troupe/persistence/process_files.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "troupe/config/defaults.hpp"

namespace troupe::persistence {

namespace {

constexpr std::string_view suffix = ".json";
constexpr std::string_view temporary_suffix = ".json.tmp";
/// A temporary file this old belongs to nobody who still writes.
constexpr std::chrono::minutes temporary_age{10};
/// The clock of the file system may be a little behind ours.
constexpr std::chrono::seconds clock_slack{2};
constexpr std::size_t shortest_prefix = 4;
constexpr int most_aside = 1'000;
/// Enough for what retention removes at once.
constexpr std::size_t most_spares = 128;
/// A larger receipt would keep its blocks.
constexpr std::uint64_t largest_spare = 16 * 1024;
constexpr std::string_view spare_prefix = "spare-";

std::error_code error_of(int number) {
  return {number, std::generic_category()};
}

/// The id that a file is named after; empty if it is no file of ours.
std::string_view id_of(std::string_view name) {
  if (!name.ends_with(suffix)) return {};
  const auto id = name.substr(0, name.size() - suffix.size());
  return is_process_id(id) ? id : std::string_view{};
}

parse_result parse(std::string_view bytes, process_record& out) {
  return parse_record(bytes, out);
}
parse_result parse(std::string_view bytes, receipt& out) {
  return parse_receipt(bytes, out);
}

const process_record& record_in(const process_record& x) {
  return x;
}
const process_record& record_in(const receipt& x) {
  return x.process;
}

/// True if a file with this error is worth nothing and in the way.
bool is_no_file_of_ours(std::error_code ec) {
  return ec.value() == ELOOP || ec.value() == EFBIG;
}

}  // namespace

std::string id_prefix(std::string_view text) {
  constexpr std::string_view head = "proc_";
  if (text.starts_with(head)) text.remove_prefix(head.size());
  if (text.size() < shortest_prefix) return {};
  if (text.find_first_not_of("0123456789abcdef") != text.npos) return {};
  return std::string{head} + std::string{text};
}

std::string receipt_json(receipt& what) {
  auto json = to_json(what);
  while (json.size() > defaults::state_file_bytes && !what.output.empty()) {
    const auto cut = what.output.size() - what.output.size() / 2;
    what.output.erase(0, cut);
    what.output_from += cut;
    json = to_json(what);
  }
  return json;
}

process_files::process_files(file_system& files, const std::string& state_dir, bool sync_each)
    : files_(files),
      records_(state_dir + "/processes"),
      receipts_(state_dir + "/results"),
      sync_each_(sync_each) {}

process_files::~process_files() {
  for (const auto& path : spares_) files_.unlink(path);
}

const std::string& process_files::directory(kind which) const {
  return which == kind::record ? records_ : receipts_;
}

std::string process_files::path_of(kind which, const std::string& id) const {
  return directory(which) + "/" + id + std::string{suffix};
}

std::error_code process_files::open() {
  for (const auto& dir : {records_, receipts_}) {
    if (auto ec = files_.make_private_directory(dir)) return ec;
  }
  return {};
}

void process_files::reuse_in(const std::string& dir) {
  std::error_code ec;
  for (const auto& name : files_.list(dir, ec)) {
    if (name.starts_with(spare_prefix)) files_.unlink(dir + "/" + name);
  }
  spare_dir_ = dir;
}

// -- writing --------------------------------------------------------------------------------------

std::error_code process_files::write(kind which, const std::string& id, std::string_view json) {
  if (!is_process_id(id)) return error_of(EINVAL);
  const auto path = path_of(which, id);
  std::error_code ec;
  if (!write_again(path, json)) ec = replace_file(files_, path, json, sync_each_);
  if (ec.value() == ENOENT) {  // somebody has removed the directory
    if (auto failed = files_.make_private_directory(directory(which))) return failed;
    ec = replace_file(files_, path, json, sync_each_);
  }
  if (ec) return ec;
  if (!sync_each_) unsynced_.insert(path);
  return changed(directory(which));
}

/// False: there is no file to write again, or it did not work.
bool process_files::write_again(const std::string& path, std::string_view json) {
  if (spares_.empty()) return false;
  const auto spare = std::move(spares_.back());
  spares_.pop_back();
  auto ec = files_.overwrite(spare, json, sync_each_);
  if (!ec) ec = files_.rename(spare, path);
  if (ec) files_.unlink(spare);
  return !ec;
}

/// False: it is still there, if it ever was.
bool process_files::put_by(const std::string& path) {
  if (spare_dir_.empty() || spares_.size() >= most_spares) return false;
  auto spare = spare_dir_ + "/" + std::string{spare_prefix} + std::to_string(next_spare_++);
  if (files_.rename(path, spare)) return false;
  spares_.push_back(std::move(spare));
  return true;
}

std::error_code process_files::remove(kind which, const std::string& id) {
  return take_away(which, id, true);
}

std::error_code process_files::take_away(kind which, const std::string& id, bool reuse) {
  if (!is_process_id(id)) return error_of(EINVAL);
  const auto path = path_of(which, id);
  unsynced_.erase(path);
  if (reuse && put_by(path)) return changed(directory(which));
  const auto ec = files_.unlink(path);
  if (ec.value() == ENOENT) return {};
  return ec ? ec : changed(directory(which));
}

std::error_code process_files::changed(const std::string& dir) {
  if (sync_each_) return files_.sync_directory(dir);
  changed_.insert(dir);
  return {};
}

std::error_code process_files::write_record(process_record what) {
  mask_secrets(what);
  return write(kind::record, what.id, to_json(what));
}

std::error_code process_files::write_receipt(receipt what) {
  mask_secrets(what);
  return write(kind::receipt, what.process.id, receipt_json(what));
}

unsynced_files process_files::take_unsynced() {
  unsynced_files result;
  result.files.assign(unsynced_.begin(), unsynced_.end());
  result.directories.assign(changed_.begin(), changed_.end());
  unsynced_.clear();
  changed_.clear();
  return result;
}

void process_files::give_back(const unsynced_files& what) {
  unsynced_.insert(what.files.begin(), what.files.end());
  changed_.insert(what.directories.begin(), what.directories.end());
}

// -- reading --------------------------------------------------------------------------------------

bool process_files::is_gone(const std::string& path) {
  std::error_code ec;
  files_.read_file(path, defaults::state_file_bytes, ec);
  return ec.value() == ENOENT;
}

std::string process_files::set_aside(const std::string& path, const std::string& reason) {
  for (int n = 0; n < most_aside; ++n) {
    const auto to = path + ".damaged" + (n == 0 ? std::string{} : "-" + std::to_string(n));
    const auto ec = files_.rename_new(path, to);
    if (!ec) return path + ": " + reason + "; set aside as " + to;
    if (ec.value() != EEXIST) return path + ": " + reason + "; " + describe("rename", path, ec);
  }
  return path + ": " + reason + "; it stays, there are too many others like it";
}

template <class What>
bool process_files::read(kind which, const std::string& id, What& out, std::error_code& ec,
                         std::vector<std::string>& problems, std::optional<std::uint32_t> slot) {
  const auto path = path_of(which, id);
  const auto bytes = files_.read_file(path, defaults::state_file_bytes, ec);
  if (ec.value() == ENOENT) return false;
  if (is_no_file_of_ours(ec)) {
    problems.push_back(set_aside(path, describe("read", path, ec)));
    ec = error_of(EBADMSG);
  } else if (ec) {
    problems.push_back(describe("read", path, ec));
  }
  if (ec) return false;
  auto parsed = parse(bytes, out);
  if (parsed && record_in(out).id != id) {
    parsed = {parse_problem::damaged, "id: it is about another process"};
  }
  if (parsed) return true;
  if (is_gone(path)) {  // another node has removed it, and wrote the file again while we read
    ec = error_of(ENOENT);
    return false;
  }
  ec = error_of(EBADMSG);
  if (slot && parsed.problem == parse_problem::unknown_version && record_in(out).node != *slot) {
    problems.push_back(path + ": " + parsed.error + "; left to the node it belongs to");
  } else {
    problems.push_back(set_aside(path, parsed.error));
  }
  return false;
}

process_files::loaded_records process_files::load_records(std::uint32_t slot) {
  loaded_records result;
  std::error_code ec;
  const auto names = files_.list(records_, ec);
  if (ec) result.problems.push_back(describe("list", records_, ec));
  for (const auto& name : names) {
    const std::string id{id_of(name)};
    process_record record;
    if (id.empty() || !read(kind::record, id, record, ec, result.problems, slot)) continue;
    if (record.node != slot) continue;
    receipt end;
    if (read(kind::receipt, id, end, ec, result.problems, std::nullopt)) {
      if (same_process(record, end.process)) {
        result.ended.push_back(std::move(end));
        continue;
      }
    } else if (ec.value() != ENOENT && ec.value() != EBADMSG) {
      continue;  // how it ended is written there: nobody may say otherwise
    }
    result.found.push_back(std::move(record));
  }
  return result;
}

std::set<std::uint32_t> process_files::nodes() {
  std::set<std::uint32_t> result;
  std::error_code ec;
  for (const auto& name : files_.list(records_, ec)) {
    if (id_of(name).empty()) continue;
    process_record record;
    const auto bytes = files_.read_file(records_ + "/" + name, defaults::state_file_bytes, ec);
    if (!ec && parse_record(bytes, record)) result.insert(record.node);
  }
  return result;
}

loaded<receipt> process_files::load_receipts(const receipt_selection& which) {
  loaded<receipt> result;
  std::error_code ec;
  auto entries = files_.regular_files(receipts_, ec);
  if (ec) result.problems.push_back(describe("list", receipts_, ec));
  const std::chrono::system_clock::time_point after{
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::nanoseconds{which.ended_after})};
  std::erase_if(entries, [&](const file_entry& entry) {
    return id_of(entry.name).empty() || entry.changed < after - clock_slack;
  });
  std::sort(entries.begin(), entries.end(),
            [](const file_entry& a, const file_entry& b) { return a.changed > b.changed; });
  std::uint64_t total = 0;
  for (const auto& entry : entries) {
    total += entry.bytes;
    if (total > which.bytes) break;
    receipt one;
    const std::string id{id_of(entry.name)};
    if (!read(kind::receipt, id, one, ec, result.problems, std::nullopt)) continue;
    if (one.ended_at > which.ended_after) result.found.push_back(std::move(one));
  }
  auto& found = result.found;
  std::stable_sort(found.begin(), found.end(),
                   [](const receipt& a, const receipt& b) { return a.ended_at > b.ended_at; });
  std::map<std::string, std::size_t> of_session;
  std::erase_if(found, [&](const receipt& one) {
    return ++of_session[one.process.owner.session] > which.per_session;
  });
  return result;
}

receipt process_files::read_receipt(const std::string& id, std::error_code& ec) {
  receipt result;
  ec = error_of(ENOENT);
  if (!is_process_id(id)) return result;
  if (read(kind::receipt, id, result, ec, problems_, std::nullopt)) ec.clear();
  return result;
}

std::vector<std::string> process_files::find_receipts(const std::string& session,
                                                      std::string_view id) {
  const auto prefix = id_prefix(id);
  if (prefix.empty()) return {};
  std::vector<std::string> candidates{prefix};
  if (!is_process_id(prefix)) {
    std::error_code ec;
    candidates = files_.list(receipts_, ec);
    if (ec) problems_.push_back(describe("list", receipts_, ec));
    const auto begin = std::lower_bound(candidates.begin(), candidates.end(), prefix);
    candidates.erase(candidates.begin(), begin);
  }
  std::vector<std::string> found;
  for (const auto& name : candidates) {
    if (!name.starts_with(prefix) || found.size() == 2) break;
    const std::string whole{is_process_id(name) ? std::string_view{name} : id_of(name)};
    std::error_code ec;
    if (whole.empty()) continue;
    if (read_receipt(whole, ec).process.owner.session == session && !ec) found.push_back(whole);
  }
  return found;
}

// -- retention ------------------------------------------------------------------------------------

void process_files::prune(const receipt_limits& limits, std::chrono::system_clock::time_point now) {
  std::error_code ec;
  const auto leftover = [&](const std::string& dir, const file_entry& entry) {
    if (!entry.name.ends_with(temporary_suffix)) return;
    if (now - entry.changed > temporary_age) files_.unlink(dir + "/" + entry.name);
  };
  if (now >= next_look_) {  // there may be thousands, and leftovers are rare
    next_look_ = now + temporary_age;
    for (const auto& entry : files_.regular_files(records_, ec)) leftover(records_, entry);
  }
  auto entries = files_.regular_files(receipts_, ec);
  for (const auto& entry : entries) leftover(receipts_, entry);
  std::erase_if(entries, [](const file_entry& entry) { return id_of(entry.name).empty(); });
  std::sort(entries.begin(), entries.end(), [](const file_entry& a, const file_entry& b) {
    return std::pair{a.changed, a.name} > std::pair{b.changed, b.name};
  });
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (const auto& entry : entries) {
    ++count;
    bytes += entry.bytes;
    const bool stays =
        count <= limits.count && bytes <= limits.bytes && now - entry.changed <= limits.retention;
    if (stays) continue;
    take_away(kind::receipt, std::string{id_of(entry.name)}, entry.bytes <= largest_spare);
  }
}

}  // namespace troupe::persistence

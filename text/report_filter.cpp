#include "troupe/text/report_filter.hpp"

#include <algorithm>
#include <utility>

namespace troupe::text {

namespace {

constexpr std::string_view lead = "\036troupe:";

/// Length of the longest end of `data` that `token` begins with, shorter than the token.
std::size_t split_token(std::string_view data, std::string_view token) {
  auto length = std::min(data.size(), token.size() - 1);
  while (length > 0 && !data.ends_with(token.substr(0, length))) --length;
  return length;
}

}  // namespace

report_filter::report_filter(std::string_view number, std::size_t limit)
    : begin_(std::string{lead} + std::string{number} + "{"),
      end_(std::string{lead} + std::string{number} + "}"),
      limit_(limit) {}

void report_filter::feed(std::string_view in, std::string& out) {
  if (held_.empty()) {
    // The usual case: output, and nothing in it that looks like a token.
    const auto at = in.find(begin_);
    if (at == in.npos) {
      const auto tail = split_token(in, begin_);
      out += in.substr(0, in.size() - tail);
      held_ = in.substr(in.size() - tail);
      return;
    }
    out += in.substr(0, at);
    in.remove_prefix(at);
  }
  held_ += in;
  while (inside_ ? find_end(out) : find_begin(out)) {
  }
}

bool report_filter::find_begin(std::string& out) {
  const auto at = held_.find(begin_);
  if (at == held_.npos) {
    const auto tail = split_token(held_, begin_);
    out.append(held_, 0, held_.size() - tail);
    held_.erase(0, held_.size() - tail);
    return false;
  }
  out.append(held_, 0, at);
  held_.erase(0, at);
  inside_ = true;
  searched_ = begin_.size();
  return true;
}

bool report_filter::find_end(std::string& out) {
  // Both tokens differ in their last byte only, so one search finds either.
  const auto token = std::string_view{begin_}.substr(0, begin_.size() - 1);
  for (auto at = held_.find(token, searched_); at != held_.npos; at = held_.find(token, at + 1)) {
    if (at + begin_.size() > held_.size()) break;
    const auto last = held_[at + token.size()];
    if (last == end_.back()) {
      if (at - begin_.size() <= limit_) {
        keep(std::string_view{held_}.substr(begin_.size(), at - begin_.size()));
      } else {
        out.append(held_, 0, at + end_.size());
      }
      held_.erase(0, at + end_.size());
      inside_ = false;
      return true;
    }
    if (last == begin_.back()) {  // the one before has no end
      out.append(held_, 0, at);
      held_.erase(0, at);
      searched_ = begin_.size();
      return true;
    }
  }
  if (held_.size() > limit_ + begin_.size() + end_.size()) {
    out.append(held_, 0, begin_.size());
    held_.erase(0, begin_.size());
    inside_ = false;
    return true;
  }
  searched_ = std::max(searched_, held_.size() - std::min(held_.size(), begin_.size()));
  return false;
}

void report_filter::keep(std::string_view report) {
  last_.emplace();
  if (report.starts_with("\t\n")) {
    *last_ = report.substr(2);
  } else if (report.starts_with("\t\r\n")) {
    report.remove_prefix(3);
    last_->reserve(report.size());
    for (std::size_t i = 0; i < report.size(); ++i) {
      if (report[i] != '\r' || i + 1 == report.size() || report[i + 1] != '\n') *last_ += report[i];
    }
  }
}

void report_filter::finish(std::string& out) {
  out += std::exchange(held_, {});
  inside_ = false;
}

std::optional<std::string> report_filter::take() {
  return std::exchange(last_, std::nullopt);
}

}  // namespace troupe::text

#include "troupe/messages/errors.hpp"

#include <caf/message.hpp>

#include "troupe/messages/type_ids.hpp"

namespace troupe {

namespace {

struct row {
  errc code;
  const char* name;
};

constexpr row rows[] = {
    {errc::none, "none"},
    {errc::not_found, "not_found"},
    {errc::bad_argument, "bad_argument"},
    {errc::limit_reached, "limit_reached"},
    {errc::shutting_down, "shutting_down"},
    {errc::bad_state, "bad_state"},
    {errc::would_block, "would_block"},
    {errc::already_exited, "already_exited"},
    {errc::unreachable, "unreachable"},
    {errc::interrupted, "interrupted"},
    {errc::internal, "internal"},
};

}  // namespace

std::string to_string(errc code) {
  for (const auto& r : rows) {
    if (r.code == code) return r.name;
  }
  return "invalid";
}

bool from_string(compat::string_view text, errc& code) {
  for (const auto& r : rows) {
    if (compat::to_std(text) == r.name) {
      code = r.code;
      return true;
    }
  }
  return false;
}

bool from_integer(std::uint8_t value, errc& code) {
  for (const auto& r : rows) {
    if (static_cast<std::uint8_t>(r.code) == value) {
      code = r.code;
      return true;
    }
  }
  return false;
}

caf::error make_error(errc code, std::string text) {
  return caf::error{code, caf::make_message(std::move(text))};
}

std::string error_text(const caf::error& err) {
  if (const auto& context = err.context(); context.match_elements<std::string>()) {
    return context.get_as<std::string>(0);
  }
  return caf::to_string(err);
}

errc error_code_of(const caf::error& err) {
  if (!err) return errc::none;
  if (err.category() != caf::type_id_v<errc>) return errc::internal;
  errc code = errc::internal;
  return from_integer(err.code(), code) ? code : errc::internal;
}

}  // namespace troupe

// Members of JSON objects as fields of a struct: a writer and a reader with the same face, so that a
// format is listed once for both directions. Internal to persistence/. The writer leaves out what has its
// default; the reader leaves alone what is not there, and names the first member of the wrong type.
#pragma once

#include <simdjson.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe::persistence {

class json_writer {
 public:
  explicit json_writer(boost::json::object& out) : out_(out) {}

  void operator()(std::string_view name, const std::string& value) {
    if (!value.empty()) out_[name] = text_value(value);
  }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(std::string_view name, Number value) {
    if (value != Number{}) out_[name] = value;
  }
  template <class Number>
  void operator()(std::string_view name, const std::optional<Number>& value) {
    if (value) out_[name] = *value;
  }
  void operator()(std::string_view name, const std::vector<std::string>& values);
  void operator()(std::string_view name, const std::vector<std::int32_t>& values);

  template <class Fill>
  void object(std::string_view name, Fill fill) {
    boost::json::object inner;
    json_writer writer{inner};
    fill(writer);
    out_[name] = std::move(inner);
  }
  template <class What, class Fill>
  void object(std::string_view name, const std::optional<What>& what, Fill fill) {
    if (what) object(name, [&](json_writer& inner) { fill(*what, inner); });
  }

 private:
  /// A string, or `{"hex": …}` where it is not UTF-8.
  static boost::json::value text_value(const std::string& bytes);

  boost::json::object& out_;
};

class json_reader {
 public:
  /// `prefix`: path of this object for errors, such as `exit.`. The first error stays.
  json_reader(simdjson::dom::element from, std::string prefix, std::string& error)
      : from_(from), prefix_(std::move(prefix)), error_(error) {}

  void operator()(std::string_view name, std::string& out);
  void operator()(std::string_view name, bool& out);
  template <class Number>
  requires std::is_integral_v<Number>
  void operator()(std::string_view name, Number& out) {
    simdjson::dom::element member;
    if (!find(name, member)) return;
    using widest = std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>;
    widest value = 0;
    if (member.get(value)) return fail(name, "must be a whole number in its range");
    if (!std::in_range<Number>(value)) return fail(name, "is out of range");
    out = static_cast<Number>(value);
  }
  template <class Number>
  void operator()(std::string_view name, std::optional<Number>& out) {
    simdjson::dom::element member;
    if (find(name, member)) (*this)(name, out.emplace());
  }
  void operator()(std::string_view name, std::vector<std::string>& out);
  void operator()(std::string_view name, std::vector<std::int32_t>& out);

  template <class Fill>
  void object(std::string_view name, Fill fill) {
    simdjson::dom::element member;
    if (!find(name, member)) return;
    if (!member.is_object()) return fail(name, "must be an object");
    json_reader inner{member, prefix_ + std::string{name} + ".", error_};
    fill(inner);
  }
  template <class What, class Fill>
  void object(std::string_view name, std::optional<What>& what, Fill fill) {
    object(name, [&](json_reader& inner) { fill(what.emplace(), inner); });
  }

  /// It must be there.
  void require(std::string_view name);
  void fail(std::string_view name, std::string_view why);

 private:
  bool find(std::string_view name, simdjson::dom::element& member) const;
  bool text_of(simdjson::dom::element member, std::string& out) const;

  simdjson::dom::element from_;
  std::string prefix_;
  std::string& error_;
};

}  // namespace troupe::persistence

// Every type of the type-id block is checked as what it is: the list of types is the block itself, so
// a type that is added to it cannot be forgotten here.
//   records  every member is inspected, and survives CAF's binary format with other than default
//            values in it
//   lists    the same
//   enums    names and numbers lead back to the value; anything else is refused
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/byte_buffer.hpp>

#include "troupe/actors/runtime.hpp"
#include "troupe/messages/type_ids.hpp"
#include "troupe/tests/catch.hpp"

namespace {

using namespace troupe;

// -- the binary format ----------------------------------------------------------------------------

// The execution unit that CAF 0.18 wants here is none in 1.x.
#if TROUPE_CAF_1
#define TROUPE_UNIT
#else
#define TROUPE_UNIT nullptr,
#endif

template <class T>
caf::byte_buffer bytes_of(const T& x) {
  caf::byte_buffer buffer;
  caf::binary_serializer sink{TROUPE_UNIT buffer};
  REQUIRE(sink.apply(x));
  return buffer;
}

/// Reads an object from the start of `buffer`; false if it is refused.
template <class T>
bool read_from(const caf::byte_buffer& buffer, T& x) {
  caf::binary_deserializer source{TROUPE_UNIT buffer};
  return source.apply(x);
}

template <class T>
void survives(const T& x) {
  const auto buffer = bytes_of(x);
  T copy{};
  caf::binary_deserializer source{TROUPE_UNIT buffer};
  REQUIRE(source.apply(copy));
  CHECK(source.remaining() == 0);
  CHECK(copy == x);
  CHECK(bytes_of(copy) == buffer);
}

/// An object read from bytes of value 2: two elements in every string and list, something in every
/// optional, 2, 0x0202 … as numbers and the third value of every enum. No default is any of these,
/// but the flags that are true by default.
template <class T>
T filled() {
  const caf::byte_buffer twos(1 << 16, static_cast<caf::byte_buffer::value_type>(2));
  T result{};
  REQUIRE(read_from(twos, result));
  return result;
}

/// Whatever ends in the middle is refused, never half believed and never a crash.
template <class T>
void refuses_every_cut(const T& x) {
  const auto whole = bytes_of(x);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const caf::byte_buffer cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    T ignored{};
    if (read_from(cut, ignored)) FAIL_CHECK("accepted " << size << " of " << whole.size());
  }
}

// -- the members of a record ----------------------------------------------------------------------

/// Stands for any member in an aggregate initialisation.
struct anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): implicit by purpose
};

template <class T, std::size_t... Is>
constexpr bool can_be_made_of(std::index_sequence<Is...>) {
  return requires {
    T{(static_cast<void>(Is), anything{})...};
  };
}

template <class T, std::size_t N = 0>
constexpr std::size_t member_count() {
  if constexpr (can_be_made_of<T>(std::make_index_sequence<N + 1>{})) {
    return member_count<T, N + 1>();
  } else {
    return N;
  }
}

/// An inspector that notes which members an `inspect` names.
struct member_log {
  struct no_field {};

  template <class T>
  member_log& object(T&) {
    return *this;
  }
  template <class T>
  no_field field(std::string_view name, T& member) {
    names.emplace(name);
    places.insert(&member);
    return {};
  }
  template <class... Fields>
  bool fields(Fields&&...) {
    field_count = sizeof...(Fields);
    return true;
  }

  std::set<std::string> names;
  std::set<const void*> places;
  std::size_t field_count = 0;
};

// -- what is checked of a type --------------------------------------------------------------------

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

template <class T>
void check_record() {
  T plain{};
  member_log log;
  CHECK(inspect(log, plain));
  CHECK(log.field_count == member_count<T>());
  CHECK(log.names.size() == log.field_count);
  CHECK(log.places.size() == log.field_count);
  survives(plain);
  const auto full = filled<T>();
  CHECK_FALSE(full == plain);
  survives(full);
  refuses_every_cut(full);
}

template <class T>
void check_list() {
  survives(T{});
  const auto full = filled<T>();
  CHECK(full.size() == 2);
  survives(full);
  refuses_every_cut(full);
}

template <class T>
void check_enum() {
  static_assert(std::same_as<std::underlying_type_t<T>, std::uint8_t>);
  std::set<std::string> names;
  std::size_t valid = 0;
  for (unsigned number = 0; number <= std::numeric_limits<std::uint8_t>::max(); ++number) {
    CAPTURE(number);
    const auto value = static_cast<std::uint8_t>(number);
    const caf::byte_buffer byte{static_cast<caf::byte_buffer::value_type>(value)};
    T parsed{};
    if (!from_integer(value, parsed)) {
      CHECK(parsed == T{});
      CHECK(to_string(static_cast<T>(value)) == "invalid");
      CHECK_FALSE(read_from(byte, parsed));
      continue;
    }
    CHECK(number == valid);  // no holes
    ++valid;
    CHECK(static_cast<std::uint8_t>(parsed) == value);
    const auto name = to_string(parsed);
    CHECK(names.insert(name).second);
    T named{};
    CHECK(from_string(name, named));
    CHECK(named == parsed);
    survives(parsed);
    CHECK(bytes_of(parsed) == byte);
  }
  CHECK(valid > 2);
  for (const auto* text : {"", "invalid", "Exited", "exited ", "0"}) {
    T ignored{};
    CHECK_FALSE(from_string(text, ignored));
  }
}

template <caf::type_id_t Id>
void check_type(std::size_t& checked) {
  using type = caf::type_by_id_t<Id>;
  if constexpr (caf::is_allowed_unsafe_message_type_v<type>) {
    // Never leaves the process (and may be incomplete here).
  } else if constexpr (requires { typename type::behavior_type; }) {
    // An actor handle: written by CAF, and only with an actor system.
  } else if constexpr (std::is_empty_v<type>) {
    survives(type{});  // an atom
    CHECK(bytes_of(type{}).empty());
  } else {
    INFO("type " << std::string{caf::type_name_by_id<Id>::value.data()});
    if constexpr (std::is_enum_v<type>) {
      check_enum<type>();
    } else if constexpr (is_list<type>) {
      check_list<type>();
    } else {
      static_assert(std::is_aggregate_v<type>, "say here how a type of this kind is checked");
      check_record<type>();
    }
    ++checked;
  }
}

template <caf::type_id_t... Offsets>
std::size_t check_block(std::integer_sequence<caf::type_id_t, Offsets...>) {
  std::size_t checked = 0;
  (check_type<caf::id_block::troupe::begin + Offsets>(checked), ...);
  return checked;
}

}  // namespace

TEST_CASE("every message type survives the way to another process") {
  using block = caf::id_block::troupe;
  constexpr caf::type_id_t size = block::end - block::begin;
  CHECK(check_block(std::make_integer_sequence<caf::type_id_t, size>{}) >= 37);
}

TEST_CASE("what is on by default can be switched off on the way") {
  kill_all_options options;
  REQUIRE(options.sweep);
  options.sweep = false;
  survives(options);
}

TEST_CASE("texts of all bytes and sizes survive") {
  output_chunk chunk;
  for (int byte = 0; byte < 256; ++byte) chunk.data += static_cast<char>(byte);
  survives(chunk);
  for (const std::size_t size : {1U, 127U, 128U, 16384U, 2U << 20}) {
    chunk.data.assign(size, '\xff');
    survives(chunk);
  }
}

TEST_CASE("numbers survive to their limits") {
  resource_usage usage;
  usage.user_us = std::numeric_limits<std::uint64_t>::max();
  survives(usage);
  exit_info info;
  info.code = std::numeric_limits<std::int32_t>::min();
  info.signal = std::numeric_limits<std::int32_t>::max();
  survives(info);
  wait_options wait;
  wait.timeout = caf::timespan::max();
  wait.port = std::numeric_limits<std::uint16_t>::max();
  survives(wait);
  wait.timeout = caf::timespan::min();
  survives(wait);
}

TEST_CASE("an error keeps its code and its text on the way to another process") {
  const auto sent = make_error(errc::limit_reached, "256 processes are running");
  init_types();  // the text is in a message, whose types are looked up by id
  caf::error received;
  REQUIRE(read_from(bytes_of(sent), received));
  CHECK(error_code_of(received) == errc::limit_reached);
  CHECK(error_text(received) == "256 processes are running");
}

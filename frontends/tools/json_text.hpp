// JSON as text, for clients and for people: like Boost.JSON's serializer, but numbers are written the
// way people write them (`0.25`, not `2.5E-1`). Pure.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace troupe::tools {

std::string to_text(const boost::json::value& value);
std::string to_text(const boost::json::object& object);

/// The shortest decimal text of a number; `null` if it is not finite.
std::string to_text(double number);

}  // namespace troupe::tools

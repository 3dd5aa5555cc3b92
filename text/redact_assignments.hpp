// Masking of the values of secret names without changing the length of the text. Internal to text/.
#pragma once

#include <string>

namespace troupe::text {

/// Every byte of the value of a secret name becomes a `*`.
std::string star_assignments(std::string text);

}  // namespace troupe::text

// The one way our tests include Catch2: version 2 (Debian 12) or 3 (Debian 13). Tests are written
// against the names of version 3; what version 2 lacks is added here.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)

#include <catch2/catch_approx.hpp>
#include <catch2/catch_message.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>

#else

#include <catch2/catch.hpp>

#include <string>

namespace Catch::Matchers {

inline auto ContainsSubstring(const std::string& text,
                              CaseSensitive::Choice sensitive = CaseSensitive::Yes) {
  return Contains(text, sensitive);
}

}  // namespace Catch::Matchers

/// Ends the test case early. Version 2 cannot count it as skipped: it warns and passes.
#define SKIP(message) \
  do {                \
    WARN(message);    \
    SUCCEED(message); \
    return;           \
  } while (false)

#endif

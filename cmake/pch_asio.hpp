// Precompiled for backends/, which must not see CAF: Asio and the standard library.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

// Boost.Process v2 of 1.81 needs these two before it when it uses std::filesystem.
#include <boost/optional.hpp>
#include <boost/type_traits.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

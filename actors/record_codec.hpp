// Between what actors know of a process and what is kept of it on disk (docs/state.md). Pure functions.
#pragma once

#include "troupe/messages/records.hpp"
#include "troupe/persistence/process_record.hpp"

namespace troupe {

persistence::owner_fields owner_fields_of(const caller& owner);
caller caller_of(const persistence::owner_fields& owner);

/// What of a request outlives the node.
persistence::process_record record_of(const spawn_request& request, const caller& owner);
/// The request that a record stands for. It has no environment variables and no stdin data any more.
spawn_request request_of(const persistence::process_record& record);

persistence::exit_fields exit_fields_of(const exit_info& end);
/// An unknown reason (of a later version) becomes `lost`.
exit_info exit_of(const persistence::exit_fields& fields);

inline std::int64_t nanoseconds_of(caf::timestamp at) {
  return at.time_since_epoch().count();
}
inline caf::timestamp timestamp_of(std::int64_t nanoseconds) {
  return caf::timestamp{caf::timespan{nanoseconds}};
}

}  // namespace troupe

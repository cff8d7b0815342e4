// New identities and times for rows of the store.
#pragma once

#include <cstdint>
#include <string>

namespace remaplab {

std::string NewUuid();  // random, version 4

// Nanoseconds since 1970, UTC.
int64_t WallClockNs();

}  // namespace remaplab

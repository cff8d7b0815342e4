// Numbers of the .remaptrace format (traces/FORMAT.md) that writer and reader share.
#pragma once

#include <cstdint>

namespace remaplab {

inline constexpr int64_t kFormatVersion = 1;  // written, and the newest that is read

// Limits on what a file may say, so that no sum over a trace can overflow.
inline constexpr uint64_t kLargestSize = uint64_t{1} << 48;         // of a slot or backing, bytes
inline constexpr uint64_t kLargestTable = uint64_t{1} << 56;        // of all slots of a program, bytes
inline constexpr uint64_t kLargestGranularity = uint64_t{1} << 40;  // bytes
inline constexpr int64_t kLatestTime = int64_t{1} << 62;            // either side of 0, ns
inline constexpr int64_t kLongestDuration = 100'000'000'000'000;    // of a step, ns: more than a day

}  // namespace remaplab

// Strict text-to-number parsing: the whole text must be the value, or it is refused. Text that is no number is never
// read as 0 (semantics, rule 9).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace remaplab {

// Decimal, or hexadecimal after 0x. Error kUsage; `what` names the value in its message.
Result<uint64_t> ParseUInt(std::string_view text, std::string_view what);
Result<int64_t> ParseInt(std::string_view text, std::string_view what);
Result<double> ParseDouble(std::string_view text, std::string_view what);

// A number of bytes: "65536", "64KiB", "2MiB", "1GiB" (binary units; K, M, G and KB, MB, GB mean the same).
Result<uint64_t> ParseBytes(std::string_view text, std::string_view what);

// A duration in nanoseconds: "552ms", "10us", "1.5s", "300ns"; a bare number is nanoseconds.
Result<int64_t> ParseDuration(std::string_view text, std::string_view what);
// The same with what is below a nanosecond.
Result<double> ParseNanoseconds(std::string_view text, std::string_view what);

// A switch as people write it: 1/0, true/false, on/off, yes/no in any case. Empty means unset: `unset` is returned.
Result<bool> ParseSwitch(std::string_view text, bool unset, std::string_view what);

// A positive ratio "a/b", or a plain whole number; both at most 2^20.
struct Ratio {
  uint64_t numerator = 1;
  uint64_t denominator = 1;
};
Result<Ratio> ParseRatio(std::string_view text, std::string_view what);

}  // namespace remaplab

// Numbers for people, in sentences and on report pages.
#pragma once

#include <cstdint>
#include <string>

namespace remaplab {

// Nanoseconds with three decimals of a fitting unit: "552.000 ms", "27.100 us", "-300 ns".
std::string HumanTime(double ns);
// "24.56 GiB", "512 B".
std::string HumanBytes(uint64_t bytes);
// 1234567 -> "1,234,567".
std::string Grouped(int64_t value);
// "2026-12-01 05:11:46 UTC".
std::string HumanDate(int64_t ns_since_1970);

}  // namespace remaplab

#include "base/human.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cmath>

namespace remaplab {

std::string HumanTime(double ns) {
  const double magnitude = std::abs(ns);
  if (magnitude >= 1e9) {
    return fmt::format("{:.3f} s", ns / 1e9);
  }
  if (magnitude >= 1e6) {
    return fmt::format("{:.3f} ms", ns / 1e6);
  }
  if (magnitude >= 1e3) {
    return fmt::format("{:.3f} us", ns / 1e3);
  }
  return fmt::format("{:.0f} ns", ns);
}

std::string HumanBytes(uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) {
    return fmt::format("{} B", bytes);
  }
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::string Grouped(int64_t value) {
  std::string digits = std::to_string(value);
  const int first = value < 0 ? 1 : 0;
  for (int at = static_cast<int>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string HumanDate(int64_t ns_since_1970) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(ns_since_1970 / 1'000'000'000)));
}

}  // namespace remaplab

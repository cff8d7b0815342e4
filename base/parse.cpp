#include "base/parse.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace remaplab {
namespace {

tl::unexpected<Error> Refuse(std::string_view text, std::string_view what, std::string_view wanted) {
  return Fail(ErrorCode::kUsage, fmt::format("{}: '{}' is not {}", what, text, wanted));
}

struct Unit {
  std::string_view suffix;
  double factor;
};

// Splits "1.5MiB" into number and factor; refuses what does not match any unit.
template <size_t N>
Result<double> ParseWithUnit(std::string_view text, std::string_view what, const std::array<Unit, N>& units,
                             std::string_view wanted) {
  const size_t digits_end = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits_end);
  const std::string_view suffix = digits_end == std::string_view::npos ? "" : text.substr(digits_end);
  for (const Unit& unit : units) {
    if (unit.suffix == suffix) {
      double value = 0;
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
      if (number.empty() || error != std::errc() || end != number.data() + number.size()) {
        break;
      }
      return value * unit.factor;
    }
  }
  return Refuse(text, what, wanted);
}

constexpr double kKiB = 1024.0;

}  // namespace

Result<uint64_t> ParseUInt(std::string_view text, std::string_view what) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hex ? text.substr(2) : text;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error == std::errc::result_out_of_range) {
    return Refuse(text, what, "a number below 2^64");
  }
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return Refuse(text, what, "a whole number");
  }
  return value;
}

Result<int64_t> ParseInt(std::string_view text, std::string_view what) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    return Refuse(text, what, "a number of 64 bits");
  }
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return Refuse(text, what, "a whole number");
  }
  return value;
}

Result<double> ParseDouble(std::string_view text, std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return Refuse(text, what, "a number");
  }
  return value;
}

Result<uint64_t> ParseBytes(std::string_view text, std::string_view what) {
  if (text.starts_with("0x")) {
    return ParseUInt(text, what);
  }
  constexpr std::string_view kWanted = "a number of bytes (65536, 64KiB, 2MiB, 1GiB)";
  if (text.find_first_not_of("0123456789") == std::string_view::npos && !text.empty()) {
    return ParseUInt(text, what);
  }
  static constexpr std::array<Unit, 13> kUnits = {{{"B", 1},
                                                   {"K", kKiB},
                                                   {"KB", kKiB},
                                                   {"KiB", kKiB},
                                                   {"M", kKiB * kKiB},
                                                   {"MB", kKiB * kKiB},
                                                   {"MiB", kKiB * kKiB},
                                                   {"G", kKiB * kKiB * kKiB},
                                                   {"GB", kKiB * kKiB * kKiB},
                                                   {"GiB", kKiB * kKiB * kKiB},
                                                   {"T", kKiB * kKiB * kKiB * kKiB},
                                                   {"TB", kKiB * kKiB * kKiB * kKiB},
                                                   {"TiB", kKiB * kKiB * kKiB * kKiB}}};
  REMAPLAB_ASSIGN(const double value, ParseWithUnit(text, what, kUnits, kWanted));
  if (value != std::floor(value) || value >= 9.0e18) {
    return Refuse(text, what, kWanted);
  }
  return static_cast<uint64_t>(value);
}

Result<double> ParseNanoseconds(std::string_view text, std::string_view what) {
  constexpr std::string_view kWanted = "a duration (552ms, 10us, 1.5s, 300ns)";
  static constexpr std::array<Unit, 5> kUnits = {{{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  REMAPLAB_ASSIGN(const double value, ParseWithUnit(text, what, kUnits, kWanted));
  if (value >= 9.0e18) {
    return Refuse(text, what, kWanted);
  }
  return value;
}

Result<int64_t> ParseDuration(std::string_view text, std::string_view what) {
  REMAPLAB_ASSIGN(const double value, ParseNanoseconds(text, what));
  return static_cast<int64_t>(std::llround(value));
}

Result<bool> ParseSwitch(std::string_view text, bool unset, std::string_view what) {
  std::string lower;
  for (const char c : text) {
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (lower.empty()) {
    return unset;
  }
  if (lower == "1" || lower == "true" || lower == "on" || lower == "yes") {
    return true;
  }
  if (lower == "0" || lower == "false" || lower == "off" || lower == "no") {
    return false;
  }
  return Refuse(text, what, "a switch (on, off, true, false, yes, no, 1, 0)");
}

Result<Ratio> ParseRatio(std::string_view text, std::string_view what) {
  const size_t slash = text.find('/');
  Ratio ratio;
  REMAPLAB_ASSIGN(ratio.numerator, ParseUInt(text.substr(0, slash), what));
  if (slash != std::string_view::npos) {
    REMAPLAB_ASSIGN(ratio.denominator, ParseUInt(text.substr(slash + 1), what));
  }
  constexpr uint64_t kMost = 1u << 20;
  if (ratio.numerator == 0 || ratio.denominator == 0 || ratio.numerator > kMost || ratio.denominator > kMost) {
    return Refuse(text, what, "a positive ratio such as 1/8, of numbers up to 1048576");
  }
  return ratio;
}

}  // namespace remaplab

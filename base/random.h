// Random numbers that are the same on every compiler and standard library: generated traces are compared by hash, and a
// stored seed gives the same bootstrap interval everywhere.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

namespace remaplab {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // SplitMix64: a counter through a mixing function, so that near seeds give unrelated sequences.
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // 0 .. bound - 1; `bound` > 0. The bias of the remainder is below bound / 2^64.
  uint64_t Below(uint64_t bound) { return Next() % bound; }

  // low .. high, both included.
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }

  bool Chance(uint64_t parts, uint64_t of) { return Below(of) < parts; }

  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  // Standard normal (Box-Muller); exact to the last bit only where the C library's log and cos are the same.
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Unit()));
    return radius * std::cos(2 * std::numbers::pi * Unit());
  }

  template <typename T>
  const T& Pick(std::span<const T> from) {
    return from[static_cast<size_t>(Below(from.size()))];
  }

 private:
  uint64_t state_;
};

}  // namespace remaplab

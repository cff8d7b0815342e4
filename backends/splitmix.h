// The one pseudo-random generator of the backends: 64 bits of state, the same numbers on every machine.
#pragma once

#include <cstdint>

namespace remaplab {

// SplitMix64: advances `state` and returns the next number.
constexpr uint64_t SplitMix64(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace remaplab

#include "analysis/identity.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <random>

namespace remaplab {

std::string NewUuid() {
  std::random_device random;
  std::array<uint32_t, 4> words{random(), random(), random(), random()};
  words[1] = (words[1] & 0xffff0fff) | 0x4000;      // version 4
  words[2] = (words[2] & 0x3fffffff) | 0x80000000;  // variant 1
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", words[0], words[1] >> 16, words[1] & 0xffff,
                     words[2] >> 16, words[2] & 0xffff, words[3]);
}

int64_t WallClockNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace remaplab

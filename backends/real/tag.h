// Tags in real memory: eight bytes at the start of a slot. Every buffer has room for them and a Copy of fewer bytes
// moves eight, so that a small slot's tag goes whole; what a launch reports is cut to the slot's size (LaunchTag).
// Cutting loses nothing of NextTag: its low bytes come from the tag's low bytes alone.
#pragma once

#include <cstdint>

namespace remaplab {

inline constexpr uint64_t kTagBytes = sizeof(uint64_t);

constexpr uint64_t TagMask(uint64_t slot_size) {
  return slot_size >= kTagBytes ? ~uint64_t{0} : (uint64_t{1} << (8 * slot_size)) - 1;
}

}  // namespace remaplab

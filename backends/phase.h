// Whose calls the backend sees right now. The session sets it; `instrument` counts by it and `inject_faults` spares
// cleanup unless told otherwise (definitions.md sections 1 and 5).
#pragma once

#include <cstdint>

namespace remaplab {

enum class Phase : uint8_t { kSteps, kCleanup, kTeardown, kAllocator };
inline constexpr int kPhaseCount = 4;

// One per stack of wrappers; owned by whoever builds the stack, read by the wrappers.
struct PhaseSwitch {
  Phase phase = Phase::kSteps;
};

}  // namespace remaplab

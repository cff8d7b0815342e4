// The clock of every backend whose time is real.
#pragma once

#include <time.h>

#include <cstdint>

namespace remaplab {

inline int64_t MonotonicNs() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Does not return before `deadline` on the clock above.
inline void SleepUntilNs(int64_t deadline) {
  const timespec until{deadline / 1'000'000'000, deadline % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

}  // namespace remaplab

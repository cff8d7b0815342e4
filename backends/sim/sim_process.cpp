#include "backends/sim/sim_process.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace remaplab {

void SimProcess::Leave(StepLine& line) { std::erase(lines_, &line); }

int64_t SimProcess::TakeLock(int64_t ready, int64_t ns) {
  if (lines_.size() < 2) {
    return ready;
  }
  int64_t start = ready;
  auto next = locked_.upper_bound(start);
  if (next != locked_.begin()) {
    start = std::max(start, std::prev(next)->second);
  }
  while (next != locked_.end() && next->first - start < ns) {
    start = next->second;
    ++next;
  }
  if (ns == 0) {
    return start;
  }
  int64_t begin = start;
  int64_t end = start + ns;
  if (next != locked_.end() && next->first == end) {
    end = next->second;
    next = locked_.erase(next);
  }
  if (next != locked_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    locked_.emplace_hint(next, begin, end);
  }
  return start;
}

bool SimProcess::AnyBusy(int64_t t) const {
  return std::any_of(devices_.begin(), devices_.end(), [t](const auto& device) { return device.second.gpu > t; });
}

int64_t SimProcess::AllIdleAt() const {
  int64_t idle = 0;
  for (const auto& [ordinal, clocks] : devices_) {
    idle = std::max(idle, clocks.gpu);
  }
  return idle;
}

void SimProcess::JoinStep() {
  const int64_t end = AllIdleAt();
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (auto& [ordinal, clocks] : devices_) {
    clocks.gpu = end;
    earliest = std::min(earliest, clocks.cpu);
  }
  for (StepLine* line : lines_) {
    if (line->joinable) {
      line->recent.back() = end;
      if (line->newest_untaken) {
        line->untaken.back().end_ns = end;
      }
      line->joinable = false;
    }
  }
  // No call can be ready before the earliest CPU any more.
  while (!locked_.empty() && locked_.begin()->second <= earliest) {
    locked_.erase(locked_.begin());
  }
}

}  // namespace remaplab

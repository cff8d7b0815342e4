#include "replay/step_statistics.h"

#include <algorithm>
#include <numeric>

#include "analysis/statistics.h"

namespace remaplab {

DurationSummary SummarizeSteps(std::span<const int64_t> values, uint64_t warmup) {
  if (values.empty()) {
    return {};
  }
  const std::span<const int64_t> later = values.subspan(std::min<size_t>(warmup, values.size()));
  const Distribution distribution = Summarize(later);
  return {.first = values[0],
          .total = std::accumulate(later.begin(), later.end(), int64_t{0}),
          .median = distribution.median,
          .p99 = distribution.p99};
}

}  // namespace remaplab

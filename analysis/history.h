// A metric over time: one series per configuration, one point per run or per git revision, and where it changed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/run_record.h"
#include "analysis/statistics.h"

namespace remaplab {

enum class HistoryAxis : uint8_t { kDate, kRevision };

struct HistoryPoint {
  int64_t time = 0;      // start of the (first) run
  std::string revision;  // "+" behind it: with changes since
  size_t runs = 0;
  double value = 0;  // median of the runs
};

struct HistorySeries {
  std::string what;
  bool exact = false;
  std::vector<HistoryPoint> points;  // by time
  // Of exact series every step of the value; of measured ones what FindChangePoints finds.
  std::vector<ChangePoint> changes;
};

// `runs` by start. Runs that lack the metric are left out.
std::vector<HistorySeries> MakeHistory(std::span<const RunRecord> runs, std::string_view metric, HistoryAxis axis,
                                       uint64_t seed);

}  // namespace remaplab

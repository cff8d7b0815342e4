// From measured calls to cost terms: non-negative least squares on relative error, one call kind at a time. Pure; knows
// nothing of how the points came about.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/profiles/cost_profile.h"
#include "base/result.h"
#include "base/vocabulary.h"

namespace remaplab {

// The median of one kind of call in one situation.
struct CalibrationPoint {
  CallKind kind = CallKind::kMap;
  CallQuantities quantities;
  std::string what;  // "234 mappings of 2 MiB"
  double median_ns = 0;
  double low_ns = 0;   // tenth percentile
  double high_ns = 0;  // ninetieth
  uint64_t calls = 0;  // that the median is of
};

struct KindFit {
  CallKind kind = CallKind::kMap;
  std::vector<std::pair<CostTerm, double>> terms;  // in nanoseconds, zero ones left out
  double median_residual = 0;                      // of |predicted / measured - 1|
};

// A fit is refused when half of its points are off by more than kWorstFit and by more than kUnseenNs: what a cold cache
// and a clock read cost is nobody's misfit.
inline constexpr double kWorstFit = 0.25;
inline constexpr double kUnseenNs = 1000;

// The idle points of one kind, by the terms that its quantities can tell apart. Errors (kUsage): no points, or a bad
// fit, with the kind named.
Result<KindFit> FitKind(CallKind kind, std::span<const CalibrationPoint> points);

// GPU time of copies: a fixed part and one per MiB (as kFixed and kPerMib). Never refused: what is too small to see is
// 0.
Result<KindFit> FitCopyGpuTime(std::span<const CalibrationPoint> points);

// How much longer the kind's calls take while the GPU is busy: the median over busy points of measured over fitted. 1
// when there are none, and never less.
double FitContention(const KindFit& fit, std::span<const CalibrationPoint> points);

// What the fit says about a point's situation, idle.
double PredictNs(const KindFit& fit, const CallQuantities& quantities);

}  // namespace remaplab

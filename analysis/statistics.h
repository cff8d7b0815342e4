// The statistics behind compare, gate and history: medians, a seeded bootstrap, a rank test, Holm's correction, change
// points. Seeds go to base/random.h, so that a stored seed gives the same interval on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/rows.h"
#include "base/random.h"

namespace remaplab {

// Integers as definitions.md section 3 wants them: lower middle, nearest rank. Leaves out the first `warmup` values.
// All zero when none is left.
Distribution Summarize(std::span<const int64_t> values, uint64_t warmup = 0);

// Mean of the middle two for an even count; NaN for none. Reorders `values`.
double Median(std::span<double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

inline constexpr int kBootstrapDraws = 10'000;
inline constexpr double kConfidence = 0.99;

// Percentile bootstrap interval of median(cand) / median(base), drawing whole samples (process runs) with
// replacement on both sides.
Interval BootstrapRatio(std::span<const double> base, std::span<const double> cand, uint64_t seed,
                        double confidence = kConfidence, int draws = kBootstrapDraws);

// Two-sided p of the Mann-Whitney U test: exact without ties up to 20 on a side, else normal with corrections for ties
// and continuity. 1 when a side is empty.
double MannWhitneyP(std::span<const double> a, std::span<const double> b);

// Holm's step-down: p-values adjusted for being tested together, in the given order.
std::vector<double> HolmAdjust(std::span<const double> p);

// The ratio that comparing a thing with itself reaches in one of a hundred tries: the 99th percentile of |ratio - 1|
// over seeded draws of `base_n` and `cand_n` of these samples.
double SelfComparisonFloor(std::span<const double> samples, size_t base_n, size_t cand_n, uint64_t seed,
                           int draws = kBootstrapDraws);

// Where a series changes its level (E-divisive with permutation test, then a rank test of the neighbouring segments).
struct ChangePoint {
  size_t index = 0;   // first point of the new level
  double before = 0;  // medians of the segments on both sides
  double after = 0;
  double p = 0;
};
std::vector<ChangePoint> FindChangePoints(std::span<const double> series, uint64_t seed, double significance = 0.01);

}  // namespace remaplab

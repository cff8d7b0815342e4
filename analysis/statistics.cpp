#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace remaplab {
namespace {

constexpr size_t kExactRankTestLimit = 20;

int64_t LowerMedianOfSorted(std::span<const int64_t> sorted, size_t begin, size_t end) {
  return sorted[begin + (end - begin - 1) / 2];
}

// Upper-tail probability of the standard normal.
double NormalTail(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

struct Ranked {
  double rank_sum = 0;        // of the first sample
  double tie_correction = 0;  // sum of t^3 - t
};

Ranked Rank(std::span<const double> a, std::span<const double> b) {
  std::vector<std::pair<double, bool>> all;
  for (const double value : a) {
    all.emplace_back(value, true);
  }
  for (const double value : b) {
    all.emplace_back(value, false);
  }
  std::sort(all.begin(), all.end());
  Ranked ranked;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    while (end < all.size() && all[end].first == all[begin].first) {
      ++end;
    }
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (size_t i = begin; i < end; ++i) {
      ranked.rank_sum += all[i].second ? rank : 0;
    }
    const double ties = static_cast<double>(end - begin);
    ranked.tie_correction += ties * ties * ties - ties;
    begin = end;
  }
  return ranked;
}

// P(U <= u) with no ties: counts[u] is the number of orders of n and m samples whose U is u.
double ExactLowerTail(size_t n, size_t m, size_t u) {
  const size_t top = n * m;
  // ways[i][u] for i samples of the first kind among the j of the second seen so far; j is the loop.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(top + 1, 0));
  for (size_t i = 0; i <= n; ++i) {
    ways[i][0] = 1;
  }
  for (size_t j = 1; j <= m; ++j) {
    for (size_t i = 1; i <= n; ++i) {
      std::vector<double> next(top + 1, 0);
      for (size_t v = 0; v <= top; ++v) {
        next[v] = ways[i][v] + (v >= j ? ways[i - 1][v - j] : 0);
      }
      // The largest sample is either of the second kind (nothing is added) or of the first (it beats all j).
      ways[i] = std::move(next);
    }
  }
  const double total = std::accumulate(ways[n].begin(), ways[n].end(), 0.0);
  return std::accumulate(ways[n].begin(), ways[n].begin() + static_cast<std::ptrdiff_t>(u) + 1, 0.0) / total;
}

void Resample(std::span<const double> from, Random& random, std::vector<double>& to) {
  for (double& value : to) {
    value = from[random.Below(from.size())];
  }
}

double Percentile(std::span<const double> sorted, double fraction) {
  const double at = fraction * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

}  // namespace

Distribution Summarize(std::span<const int64_t> values, uint64_t warmup) {
  const std::span<const int64_t> kept = values.subspan(std::min<uint64_t>(warmup, values.size()));
  if (kept.empty()) {
    return {};
  }
  std::vector<int64_t> sorted(kept.begin(), kept.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  Distribution d;
  d.n = n;
  d.min = sorted.front();
  d.max = sorted.back();
  d.q1 = sorted[(n + 3) / 4 - 1];
  d.median = LowerMedianOfSorted(sorted, 0, n);
  d.q3 = sorted[(3 * n + 3) / 4 - 1];
  d.p99 = sorted[(99 * n + 99) / 100 - 1];
  const int64_t offset = d.min;  // sums of differences do not overflow
  int64_t sum = 0;
  for (const int64_t value : sorted) {
    sum += value - offset;
  }
  d.mean = offset + sum / static_cast<int64_t>(n);
  for (int64_t& value : sorted) {
    value = std::abs(value - d.median);
  }
  std::sort(sorted.begin(), sorted.end());
  d.mad = LowerMedianOfSorted(sorted, 0, n);
  return d;
}

double Median(std::span<double> values) {
  if (values.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Interval BootstrapRatio(std::span<const double> base, std::span<const double> cand, uint64_t seed, double confidence,
                        int draws) {
  Random random(seed);
  std::vector<double> base_draw(base.size());
  std::vector<double> cand_draw(cand.size());
  std::vector<double> ratios;
  ratios.reserve(static_cast<size_t>(draws));
  for (int i = 0; i < draws; ++i) {
    Resample(base, random, base_draw);
    Resample(cand, random, cand_draw);
    ratios.push_back(Median(cand_draw) / Median(base_draw));
  }
  std::sort(ratios.begin(), ratios.end());
  const double tail = (1 - confidence) / 2;
  return {Percentile(ratios, tail), Percentile(ratios, 1 - tail)};
}

double MannWhitneyP(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) {
    return 1;
  }
  const double n = static_cast<double>(a.size());
  const double m = static_cast<double>(b.size());
  const Ranked ranked = Rank(a, b);
  const double u = ranked.rank_sum - n * (n + 1) / 2;
  const double smaller = std::min(u, n * m - u);
  if (ranked.tie_correction == 0 && a.size() <= kExactRankTestLimit && b.size() <= kExactRankTestLimit) {
    return std::min(1.0, 2 * ExactLowerTail(a.size(), b.size(), static_cast<size_t>(smaller)));
  }
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - ranked.tie_correction / (all * (all - 1)));
  if (variance <= 0) {
    return 1;
  }
  const double z = std::max(0.0, n * m / 2 - smaller - 0.5) / std::sqrt(variance);
  return std::min(1.0, 2 * NormalTail(z));
}

std::vector<double> HolmAdjust(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double floor = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    floor = std::max(floor, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    adjusted[order[i]] = floor;
  }
  return adjusted;
}

double SelfComparisonFloor(std::span<const double> samples, size_t base_n, size_t cand_n, uint64_t seed, int draws) {
  Random random(seed);
  std::vector<double> base_draw(base_n);
  std::vector<double> cand_draw(cand_n);
  std::vector<double> shifts;
  shifts.reserve(static_cast<size_t>(draws));
  for (int i = 0; i < draws; ++i) {
    Resample(samples, random, base_draw);
    Resample(samples, random, cand_draw);
    shifts.push_back(std::abs(Median(cand_draw) / Median(base_draw) - 1));
  }
  std::sort(shifts.begin(), shifts.end());
  return Percentile(shifts, 0.99);
}

namespace {

constexpr int kPermutations = 199;
constexpr size_t kMinSegment = 3;

struct Split {
  size_t index = 0;
  double strength = -1;
};

// The split of [begin, end) where the two parts differ most, by the energy distance of E-divisive with exponent 1.
Split BestSplit(std::span<const double> values) {
  const size_t n = values.size();
  // Sums of |x - y| within the left part, within the right part, and across, kept up to date as the split moves.
  double within_left = 0;
  double within_right = 0;
  double across = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      within_right += std::abs(values[i] - values[j]);
    }
  }
  Split best;
  for (size_t split = 1; split < n; ++split) {
    const double moved = values[split - 1];
    double to_left = 0;
    double to_right = 0;
    for (size_t i = 0; i + 1 < split; ++i) {
      to_left += std::abs(values[i] - moved);
    }
    for (size_t i = split; i < n; ++i) {
      to_right += std::abs(values[i] - moved);
    }
    within_left += to_left;
    across += to_right - to_left;
    within_right -= to_right;
    if (split < kMinSegment || n - split < kMinSegment) {
      continue;
    }
    const double l = static_cast<double>(split);
    const double r = static_cast<double>(n - split);
    const double energy = 2 * across / (l * r) - 2 * within_left / (l * (l - 1)) - 2 * within_right / (r * (r - 1));
    const double strength = l * r / (l + r) * energy;
    if (strength > best.strength) {
      best = {split, strength};
    }
  }
  return best;
}

bool IsSignificant(std::span<const double> values, const Split& split, double significance, Random& random) {
  std::vector<double> shuffled(values.begin(), values.end());
  int as_strong = 1;
  for (int round = 0; round < kPermutations; ++round) {
    for (size_t i = shuffled.size() - 1; i > 0; --i) {
      std::swap(shuffled[i], shuffled[random.Below(i + 1)]);
    }
    as_strong += BestSplit(shuffled).strength >= split.strength ? 1 : 0;
  }
  return static_cast<double>(as_strong) / (kPermutations + 1) <= significance;
}

void SplitSegment(std::span<const double> series, size_t begin, size_t end, double significance, Random& random,
                  std::vector<size_t>& points) {
  if (end - begin < 2 * kMinSegment) {
    return;
  }
  const std::span<const double> values = series.subspan(begin, end - begin);
  const Split split = BestSplit(values);
  if (split.strength <= 0 || !IsSignificant(values, split, significance, random)) {
    return;
  }
  SplitSegment(series, begin, begin + split.index, significance, random, points);
  points.push_back(begin + split.index);
  SplitSegment(series, begin + split.index, end, significance, random, points);
}

}  // namespace

std::vector<ChangePoint> FindChangePoints(std::span<const double> series, uint64_t seed, double significance) {
  Random random(seed);
  std::vector<size_t> points;
  SplitSegment(series, 0, series.size(), significance, random, points);
  std::vector<ChangePoint> found;
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t begin = i == 0 ? 0 : points[i - 1];
    const size_t end = i + 1 < points.size() ? points[i + 1] : series.size();
    std::vector<double> before(series.begin() + static_cast<std::ptrdiff_t>(begin),
                               series.begin() + static_cast<std::ptrdiff_t>(points[i]));
    std::vector<double> after(series.begin() + static_cast<std::ptrdiff_t>(points[i]),
                              series.begin() + static_cast<std::ptrdiff_t>(end));
    const double p = MannWhitneyP(before, after);
    found.push_back({points[i], Median(before), Median(after), p});
  }
  return found;
}

}  // namespace remaplab

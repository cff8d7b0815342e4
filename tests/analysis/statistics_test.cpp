#include "analysis/statistics.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

namespace remaplab {
namespace {

namespace tt = boost::test_tools;

std::vector<double> Level(size_t n, double value, double noise, Random& random) {
  std::vector<double> series(n);
  for (double& x : series) {
    x = value * (1 + noise * random.Normal());
  }
  return series;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(StatisticsTest)

BOOST_AUTO_TEST_CASE(summary_takes_lower_middle_and_nearest_rank_after_warm_up) {
  std::vector<int64_t> values = {9999, 4, 1, 3, 2};
  const Distribution d = Summarize(values, 1);
  BOOST_TEST(d.n == 4u);
  BOOST_TEST(d.min == 1);
  BOOST_TEST(d.q1 == 1);
  BOOST_TEST(d.median == 2);
  BOOST_TEST(d.q3 == 3);
  BOOST_TEST(d.p99 == 4);
  BOOST_TEST(d.max == 4);
  BOOST_TEST(d.mean == 2);
  BOOST_TEST(d.mad == 1);
}

BOOST_AUTO_TEST_CASE(p99_of_a_thousand_values_is_the_990th) {
  std::vector<int64_t> values(1000);
  std::iota(values.begin(), values.end(), 1);
  BOOST_TEST(Summarize(values).p99 == 990);
}

BOOST_AUTO_TEST_CASE(a_summary_of_nothing_is_all_zero) {
  BOOST_TEST(Summarize({}).n == 0u);
  const std::vector<int64_t> one = {5};
  BOOST_TEST(Summarize(one, 3).n == 0u);
}

// Values from published tables of the exact distribution.
BOOST_AUTO_TEST_CASE(rank_test_is_exact_for_small_samples) {
  const std::vector<double> low3 = {1, 2, 3};
  const std::vector<double> high3 = {4, 5, 6};
  BOOST_TEST(MannWhitneyP(low3, high3) == 0.1, tt::tolerance(1e-12));
  const std::vector<double> low5 = {1, 2, 3, 4, 5};
  const std::vector<double> high5 = {6, 7, 8, 9, 10};
  BOOST_TEST(MannWhitneyP(low5, high5) == 2.0 / 252, tt::tolerance(1e-12));
  const std::vector<double> low8 = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<double> high8 = {9, 10, 11, 12, 13, 14, 15, 16};
  BOOST_TEST(MannWhitneyP(low8, high8) == 2.0 / 12870, tt::tolerance(1e-12));
  // U = 5 of 5 against 5: P(U <= 5) = 19/252.
  const std::vector<double> a = {1, 2, 5, 6, 7};
  const std::vector<double> b = {3, 4, 8, 9, 10};
  BOOST_TEST(MannWhitneyP(a, b) == 2 * 28.0 / 252, tt::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(rank_test_is_symmetric_and_certain_of_nothing_when_all_is_equal) {
  const std::vector<double> a = {1, 4, 6, 9};
  const std::vector<double> b = {2, 3, 5, 7, 8};
  BOOST_TEST(MannWhitneyP(a, b) == MannWhitneyP(b, a));
  const std::vector<double> same(8, 5.0);
  BOOST_TEST(MannWhitneyP(same, same) == 1);
  BOOST_TEST(MannWhitneyP(a, {}) == 1);
}

BOOST_AUTO_TEST_CASE(rank_test_with_ties_agrees_with_the_exact_one_in_size) {
  std::vector<double> a(12);
  std::vector<double> b(12);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<double>(i / 2);
    b[i] = static_cast<double>(i / 2) + 3;
  }
  const double p = MannWhitneyP(a, b);
  BOOST_TEST(p > 0.001);
  BOOST_TEST(p < 0.05);
}

BOOST_AUTO_TEST_CASE(holm_multiplies_by_what_is_left_and_never_falls) {
  const std::vector<double> p = {0.01, 0.04, 0.03, 0.005};
  const std::vector<double> expected = {0.03, 0.06, 0.06, 0.02};
  const std::vector<double> adjusted = HolmAdjust(p);
  for (size_t i = 0; i < p.size(); ++i) {
    BOOST_TEST(adjusted[i] == expected[i], tt::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_interval_and_it_covers_the_truth) {
  Random random(7);
  int covered = 0;
  constexpr int kTrials = 40;
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<double> base = Level(12, 100, 0.02, random);
    const std::vector<double> cand = Level(12, 110, 0.02, random);
    const Interval interval = BootstrapRatio(base, cand, 42, kConfidence, 2000);
    covered += interval.low <= 1.1 && 1.1 <= interval.high ? 1 : 0;
    const Interval again = BootstrapRatio(base, cand, 42, kConfidence, 2000);
    BOOST_TEST(interval.low == again.low);
    BOOST_TEST(interval.high == again.high);
  }
  BOOST_TEST(covered >= kTrials - 3);
}

BOOST_AUTO_TEST_CASE(median_of_an_even_number_is_between_the_middle_two) {
  std::vector<double> values = {4, 1, 3, 2};
  BOOST_TEST(Median(values) == 2.5);
  BOOST_TEST(std::isnan(Median({})));
}

BOOST_AUTO_TEST_CASE(a_step_in_a_noisy_series_is_found_where_it_is) {
  Random random(3);
  std::vector<double> series = Level(20, 100, 0.01, random);
  const std::vector<double> after = Level(15, 106, 0.01, random);
  series.insert(series.end(), after.begin(), after.end());
  const std::vector<ChangePoint> changes = FindChangePoints(series, 1);
  BOOST_REQUIRE_EQUAL(changes.size(), 1u);
  BOOST_TEST(changes[0].index == 20u);
  // Two means of 20 and 15 values with 1 % noise: three standard errors of their ratio.
  BOOST_TEST(changes[0].after / changes[0].before == 1.06, tt::tolerance(0.0105));
}

BOOST_AUTO_TEST_CASE(two_steps_are_found_and_a_level_series_has_none) {
  Random random(4);
  constexpr int kTrials = 40;
  int both_found = 0;
  int exact = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> series = Level(15, 100, 0.01, random);
    for (const double level : {108.0, 99.0}) {
      const std::vector<double> more = Level(15, level, 0.01, random);
      series.insert(series.end(), more.begin(), more.end());
    }
    const std::vector<ChangePoint> changes = FindChangePoints(series, 1);
    const auto found = [&changes](size_t index) {
      return std::any_of(changes.begin(), changes.end(), [&](const ChangePoint& c) { return c.index == index; });
    };
    both_found += found(15) && found(30) ? 1 : 0;
    exact += found(15) && found(30) && changes.size() == 2 ? 1 : 0;
  }
  BOOST_TEST(both_found == kTrials);
  BOOST_TEST(exact >= kTrials * 85 / 100);
  const std::vector<double> constant(30, 5.0);
  BOOST_TEST(FindChangePoints(constant, 1).empty());
  int false_alarms = 0;
  for (int trial = 0; trial < 20; ++trial) {
    false_alarms += FindChangePoints(Level(30, 100, 0.01, random), 1).empty() ? 0 : 1;
  }
  BOOST_TEST(false_alarms <= 2);
}

BOOST_AUTO_TEST_CASE(the_floor_of_quiet_runs_is_small_and_of_noisy_ones_large) {
  Random random(5);
  const std::vector<double> quiet = Level(40, 100, 0.002, random);
  const std::vector<double> noisy = Level(40, 100, 0.05, random);
  BOOST_TEST(SelfComparisonFloor(quiet, 8, 8, 1, 2000) < 0.01);
  BOOST_TEST(SelfComparisonFloor(noisy, 8, 8, 1, 2000) > 0.03);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab

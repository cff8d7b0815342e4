#include "replay/calibration_fit.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

namespace remaplab {
namespace {

namespace tt = boost::test_tools;

// What a driver with these terms would have been measured at.
CalibrationPoint AccessPoint(uint64_t chunks, uint64_t unchanged, double noise) {
  const double ns = 1500 + 25'000.0 * static_cast<double>(chunks) + 12.0 * static_cast<double>(chunks * chunks) +
                    120.0 * static_cast<double>(unchanged);
  return {.kind = CallKind::kSetAccess,
          .quantities = {.chunks = chunks, .unchanged_chunks = unchanged},
          .what = "test",
          .median_ns = ns * (1 + noise),
          .low_ns = ns,
          .high_ns = ns,
          .calls = 1};
}

double TermOf(const KindFit& fit, CostTerm wanted) {
  for (const auto& [term, value] : fit.terms) {
    if (term == wanted) {
      return value;
    }
  }
  return 0;
}

std::vector<CalibrationPoint> AccessPoints(double noise) {
  std::vector<CalibrationPoint> points;
  int sign = 1;
  for (const uint64_t chunks : {1u, 4u, 16u, 64u, 234u, 676u, 1024u}) {
    for (const uint64_t unchanged : {0u, 72u, 676u}) {
      points.push_back(AccessPoint(chunks, unchanged, noise * sign));
      sign = -sign;
    }
  }
  return points;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(CalibrationFitTest)

BOOST_AUTO_TEST_CASE(terms_are_recovered_from_exact_points) {
  const KindFit fit = FitKind(CallKind::kSetAccess, AccessPoints(0)).value();
  BOOST_TEST(TermOf(fit, CostTerm::kFixed) == 1500, tt::tolerance(0.01));
  BOOST_TEST(TermOf(fit, CostTerm::kPerChunk) == 25'000, tt::tolerance(0.01));
  BOOST_TEST(TermOf(fit, CostTerm::kPerChunkSquared) == 12, tt::tolerance(0.01));
  BOOST_TEST(TermOf(fit, CostTerm::kUnchangedPerChunk) == 120, tt::tolerance(0.01));
  BOOST_TEST(fit.median_residual < 0.001);
}

BOOST_AUTO_TEST_CASE(noise_shows_as_residual) {
  const KindFit fit = FitKind(CallKind::kSetAccess, AccessPoints(0.05)).value();
  BOOST_TEST(fit.median_residual > 0.01);
  BOOST_TEST(fit.median_residual < 0.1);
}

BOOST_AUTO_TEST_CASE(no_term_is_negative_even_where_that_would_fit_better) {
  std::vector<CalibrationPoint> points;
  for (const uint64_t chunks : {1u, 2u, 3u, 4u}) {  // falls with the number of mappings
    points.push_back({.kind = CallKind::kUnmap,
                      .quantities = {.chunks = chunks},
                      .what = "test",
                      .median_ns = 1000 - 20.0 * static_cast<double>(chunks)});
  }
  for (const auto& [term, value] : FitKind(CallKind::kUnmap, points).value().terms) {
    BOOST_TEST(value > 0);
  }
}

BOOST_AUTO_TEST_CASE(a_bad_fit_is_refused_and_names_the_kind) {
  std::vector<CalibrationPoint> points;
  for (const double ns : {10'000.0, 30'000.0, 100'000.0}) {  // the same situation
    points.push_back({.kind = CallKind::kMap, .quantities = {.chunks = 1}, .what = "test", .median_ns = ns});
  }
  const auto fit = FitKind(CallKind::kMap, points);
  BOOST_REQUIRE(!fit.has_value());
  BOOST_TEST(fit.error().message().starts_with("map: the fit is bad"));
  BOOST_TEST(!FitKind(CallKind::kWait, points).has_value());
}

BOOST_AUTO_TEST_CASE(what_a_cold_cache_explains_is_no_bad_fit) {
  std::vector<CalibrationPoint> points;
  for (int i = 0; i < 12; ++i) {
    points.push_back({.kind = CallKind::kMap,
                      .quantities = {.chunks = 1},
                      .what = "test",
                      .median_ns = i % 2 == 0 ? 700.0 : 1500.0});
  }
  BOOST_TEST(FitKind(CallKind::kMap, points).has_value());
}

BOOST_AUTO_TEST_CASE(contention_is_what_busy_points_take_beyond_the_idle_fit) {
  std::vector<CalibrationPoint> points = AccessPoints(0);
  for (const uint64_t chunks : {1u, 7u, 17u}) {
    CalibrationPoint busy = AccessPoint(chunks, 200, 0);
    busy.quantities.contended = true;
    busy.median_ns *= 3.5;
    points.push_back(busy);
  }
  const KindFit fit = FitKind(CallKind::kSetAccess, points).value();
  BOOST_TEST(FitContention(fit, points) == 3.5, tt::tolerance(0.01));
  BOOST_TEST(FitContention(fit, AccessPoints(0)) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab

#include "replay/step_statistics.h"

#include <boost/test/unit_test.hpp>

namespace remaplab {

BOOST_AUTO_TEST_SUITE(StepStatisticsTest)

BOOST_AUTO_TEST_CASE(the_first_step_is_apart_and_warmup_is_left_out) {
  const std::vector<int64_t> values = {100, 5, 1, 3};
  const DurationSummary summary = SummarizeSteps(values, 1);
  BOOST_TEST(summary.first == 100);
  BOOST_TEST(summary.total == 9);
  BOOST_TEST(summary.median == 3);
  BOOST_TEST(summary.p99 == 5);
  BOOST_TEST(SummarizeSteps(values, 2).total == 4);
  BOOST_TEST(SummarizeSteps(values, 9).total == 0);
  BOOST_TEST(SummarizeSteps({}, 1).first == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab

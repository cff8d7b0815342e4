#include "traces/backing_ids.h"

#include <boost/test/unit_test.hpp>
#include <map>

namespace remaplab {

BOOST_AUTO_TEST_SUITE(BackingIdsTest)

BOOST_AUTO_TEST_CASE(ids_that_count_up_are_found_and_their_neighbours_are_not) {
  BackingIds ids;
  BOOST_TEST(!ids.Find(0).has_value());
  for (uint64_t id = 100; id < 200; ++id) {
    BOOST_TEST(ids.Add(id) == id - 100);
  }
  BOOST_TEST(ids.Find(100).value() == 0u);
  BOOST_TEST(ids.Find(199).value() == 99u);
  BOOST_TEST(!ids.Find(99).has_value());
  BOOST_TEST(!ids.Find(200).has_value());
  BOOST_TEST(!ids.Find(0).has_value());
}

BOOST_AUTO_TEST_CASE(any_other_ids_are_found_too) {
  BackingIds ids;
  std::map<uint64_t, uint32_t> expected;
  uint64_t id = 7;
  for (uint32_t n = 0; n < 20000; ++n) {
    id = n < 5 ? id + 1 : id * 6364136223846793005u + 1442695040888963407u;
    expected[id] = n;
    BOOST_REQUIRE_EQUAL(ids.Add(id), n);
  }
  for (const auto& [known, dense] : expected) {
    BOOST_REQUIRE_EQUAL(ids.Find(known).value(), dense);
    BOOST_REQUIRE_EQUAL(ids.Find(known ^ 0x5555).has_value(), expected.contains(known ^ 0x5555));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab

#include "backends/host/physical_memory.h"

#include <boost/test/unit_test.hpp>

namespace remaplab {
namespace {

constexpr uint64_t kPage = 4096;

BOOST_AUTO_TEST_SUITE(physical_memory)

BOOST_AUTO_TEST_CASE(freed_neighbours_become_one_extent_again) {
  PhysicalMemory memory = PhysicalMemory::Open(64 * kPage).value();
  const uint64_t a = memory.Allocate(kPage).value();
  const uint64_t b = memory.Allocate(kPage).value();
  const uint64_t c = memory.Allocate(kPage).value();
  const uint64_t d = memory.Allocate(kPage).value();
  memory.Free(a, kPage);
  memory.Free(c, kPage);
  memory.Free(b, kPage);
  BOOST_TEST(memory.Allocate(3 * kPage).value() == a);
  memory.Free(d, kPage);
  BOOST_TEST(memory.Allocate(kPage).value() == d);
}

BOOST_AUTO_TEST_CASE(more_than_the_limit_is_refused_and_says_so) {
  PhysicalMemory memory = PhysicalMemory::Open(4 * kPage).value();
  const uint64_t offset = memory.Allocate(3 * kPage).value();
  auto refused = memory.Allocate(2 * kPage);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST((refused.error().code() == ErrorCode::kOutOfMemory));
  BOOST_TEST(refused.error().message() ==
             "create(8192): 12288 bytes of this machine's memory are in use and 16384 may be; "
             "`--scale-sizes 1/64` makes a recording smaller");
  memory.Free(offset, 3 * kPage);
  BOOST_TEST(memory.Allocate(4 * kPage).has_value());
}

BOOST_AUTO_TEST_CASE(this_machine_has_some_memory_and_not_all_there_is) {
  BOOST_TEST(AvailableMemory() > kPage);
  BOOST_TEST(AvailableMemory() < uint64_t{1} << 60);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab

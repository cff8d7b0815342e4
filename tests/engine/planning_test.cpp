// What planning costs, in work and in allocations. Times are for tests/bench/planning_benchmark.cpp.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <new>
#include <string>

#include "tests/engine/planning_rig.h"

namespace {

std::atomic<uint64_t> allocations = 0;

void* Allocate(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace remaplab {
namespace {

const std::vector<std::string> kStrategies = {"full_remap",
                                              "skip_remap",
                                              "skip_remap(access=slot)",
                                              "skip_remap+copy_shadow(threshold=4)",
                                              "skip_remap+copy_shadow(threshold=auto)",
                                              "no_remap",
                                              "skip_temp",
                                              "skip_profiled(steps=3)",
                                              "two_ranges",
                                              "cached_sets(k=1)",
                                              "cached_sets(k=3)",
                                              "cached_sets(k=2)+copy_shadow(threshold=4)",
                                              "adaptive"};

// Enough for everything that learns to have looked, and not to look again while we count.
constexpr uint64_t kSettling = 20;
constexpr uint64_t kCounted = 10;

uint64_t WorkPerStep(const std::string& strategy, uint32_t slots, uint32_t changed) {
  PlanningRig rig(strategy, slots, changed);
  rig.Step(kSettling);
  const uint64_t before = rig.session().counters().slots_examined;
  rig.Step(kCounted);
  return (rig.session().counters().slots_examined - before) / kCounted;
}

BOOST_AUTO_TEST_SUITE(planning)

BOOST_AUTO_TEST_CASE(the_counting_allocator_counts) {
  const uint64_t before = allocations;
  delete new int(1);
  std::vector<int> numbers(100);
  BOOST_TEST(allocations - before == 2u);
  BOOST_TEST(numbers.size() == 100u);
}

BOOST_AUTO_TEST_CASE(steady_state_allocates_nothing) {
  for (const std::string& strategy : kStrategies) {
    for (const uint32_t changed : {0u, 10u, 100u}) {
      PlanningRig rig(strategy, 100, changed);
      rig.Step(kSettling);
      const uint64_t before = allocations;
      rig.Step(kCounted);
      BOOST_TEST(allocations - before == 0u, strategy << ", " << changed << " changed");
      BOOST_TEST(rig.session().counters().failed_steps == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(work_is_in_proportion_to_what_changed_at_any_number_of_slots) {
  for (const char* strategy :
       {"skip_remap", "no_remap", "two_ranges", "cached_sets(k=2)", "cached_sets(k=3)", "skip_temp"}) {
    const uint64_t idle = WorkPerStep(strategy, 100, 0);
    const uint64_t ten = WorkPerStep(strategy, 100, 10);
    BOOST_TEST(idle <= 4u, strategy);
    BOOST_TEST(ten <= 60u, strategy);
    for (const uint32_t slots : {1000u, 10000u}) {
      BOOST_TEST(WorkPerStep(strategy, slots, 0) == idle, strategy << ", " << slots << " slots");
      BOOST_TEST(WorkPerStep(strategy, slots, 10) == ten, strategy << ", " << slots << " slots");
      BOOST_TEST(WorkPerStep(strategy, slots, slots) <= 6 * slots, strategy << ", " << slots << " slots");
    }
  }
}

BOOST_AUTO_TEST_CASE(learning_is_over_when_it_is_over) {
  for (const uint32_t slots : {100u, 1000u, 10000u}) {
    BOOST_TEST(WorkPerStep("adaptive", slots, 0) <= 4u);
    BOOST_TEST(WorkPerStep("adaptive", slots, 10) <= 60u);
  }
}

BOOST_AUTO_TEST_CASE(other_strategies_work_in_proportion_to_their_plan) {
  for (const uint32_t slots : {100u, 1000u, 10000u}) {
    BOOST_TEST(WorkPerStep("full_remap", slots, 0) == slots + 5);
    BOOST_TEST(WorkPerStep("skip_remap+copy_shadow(threshold=4)", slots, 0) == slots / 4 * 2 + 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab

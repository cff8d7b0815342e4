// What planning a step costs, in nanoseconds, on the null backend: strategy x slots x how many of them change.
// Goals: a step without change under 100 ns at any number of slots; ten changes at most 1.5 times as dear with 10,000
// slots as with 100, for skip_remap, no_remap, two_ranges and hits of cached_sets.
#include <benchmark/benchmark.h>

#include "tests/engine/planning_rig.h"

namespace remaplab {
namespace {

void PlanStep(benchmark::State& state, const char* strategy) {
  const uint32_t slots = static_cast<uint32_t>(state.range(0));
  const uint32_t changed = state.range(1) < 0 ? slots : static_cast<uint32_t>(state.range(1));
  PlanningRig rig(strategy, slots, changed);
  rig.Step(20);
  for (auto _ : state) {
    rig.Step();
  }
  state.counters["changed"] = changed;
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  constexpr int64_t kAll = -1;
  for (const int64_t slots : {100, 1000, 10000}) {
    for (const int64_t changed : {int64_t{0}, int64_t{10}, kAll}) {
      benchmark->Args({slots, changed});
    }
  }
  benchmark->ArgNames({"slots", "change"});
}

BENCHMARK_CAPTURE(PlanStep, full_remap, "full_remap")->Apply(Sizes);
BENCHMARK_CAPTURE(PlanStep, skip_remap, "skip_remap")->Apply(Sizes);
BENCHMARK_CAPTURE(PlanStep, skip_remap_shadow, "skip_remap+copy_shadow(threshold=4)")->Apply(Sizes);
BENCHMARK_CAPTURE(PlanStep, no_remap, "no_remap")->Apply(Sizes);
BENCHMARK_CAPTURE(PlanStep, two_ranges, "two_ranges")->Apply(Sizes);
BENCHMARK_CAPTURE(PlanStep, cached_sets, "cached_sets(k=3)")->Apply(Sizes);

}  // namespace
}  // namespace remaplab

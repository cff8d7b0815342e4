// Driver calls per second: what a call costs through the interface, with and without counting.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "backends/instrument.h"
#include "backends/registry.h"

namespace remaplab::bench {
namespace {

constexpr uint64_t kGranularity = 2 << 20;
constexpr uint64_t kSlots = 234;
constexpr uint64_t kChanged = 10;
constexpr uint64_t kCallsPerStep = 2 * kChanged + 4;

std::unique_ptr<Backend> Make(const char* name) {
  BackendOptions options;
  options.granularity = kGranularity;
  return std::move(*MakeBackend(name, options));
}

void Require(benchmark::State& state, const Status& status) {
  if (!status) [[unlikely]] {
    state.SkipWithError(status.error().message().c_str());
  }
}

// Items: calls, those of skip_remap steps on which 10 of 234 slots change, none a neighbour of another.
void RemapCalls(benchmark::State& state, Backend& backend) {
  const Address base = *backend.Reserve(kSlots * kGranularity, 0);
  std::vector<Memory> memory;
  for (uint64_t slot = 0; slot < kSlots; ++slot) {
    memory.push_back(*backend.Create(kGranularity, 0, 0, slot));
    Require(state, backend.Map(base + slot * kGranularity, kGranularity, memory[slot].handle));
  }
  const EventId event = *backend.CreateEvent();
  Require(state, backend.SetAccess(base, kSlots * kGranularity, 0));
  std::vector<StepEnd> ends;
  uint64_t step = 0;
  for (auto _ : state) {
    Require(state, backend.BeginStep(++step));
    Require(state, backend.Wait(event));
    for (uint64_t i = 0; i < kChanged; ++i) {
      Require(state, backend.Unmap(base + 2 * i * kGranularity, kGranularity));
    }
    for (uint64_t i = 0; i < kChanged; ++i) {
      Require(state, backend.Map(base + 2 * i * kGranularity, kGranularity, memory[2 * i].handle));
    }
    Require(state, backend.SetAccess(base, kSlots * kGranularity, 0));
    Require(state, backend.Launch({.gpu_ns = 1000}));
    Require(state, backend.Record(event));
    Require(state, backend.EndStep(step, true));
    ends.clear();
    Require(state, backend.TakeStepEnds(ends));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kCallsPerStep));
}

void NullCalls(benchmark::State& state) { RemapCalls(state, *Make("null")); }
BENCHMARK(NullCalls);

void NullCallsCounted(benchmark::State& state) {
  const std::unique_ptr<Backend> backend = Make("null");
  Instrument counted(*backend);
  RemapCalls(state, counted);
}
BENCHMARK(NullCallsCounted);

void SimCallsCounted(benchmark::State& state) {
  const std::unique_ptr<Backend> backend = Make("sim");
  Instrument counted(*backend);
  RemapCalls(state, counted);
}
BENCHMARK(SimCallsCounted);

}  // namespace
}  // namespace remaplab::bench

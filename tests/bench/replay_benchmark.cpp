// The replay loop: steps without change, a compressed trace to a finished store, and the memory of a large one.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "engine/session.h"
#include "engine/strategy.h"
#include "replay/replayer.h"
#include "replay/store_listener.h"
#include "tests/bench/churn_trace.h"
#include "traces/reader.h"

namespace remaplab::bench {
namespace {

constexpr uint64_t kGranularity = 2 << 20;

ProgramSpec ManySlots(uint32_t slots) {
  ProgramSpec program;
  program.module = "idle";
  program.granularity = kGranularity;
  for (uint32_t i = 0; i < slots; ++i) {
    program.slots.push_back({.index = i, .recorded_size = 4096, .size = 4096, .mapped_size = kGranularity});
  }
  return program;
}

// Items: steps. What a step costs on which nothing has changed, whatever the number of slots.
void IdleSteps(benchmark::State& state) {
  const auto slots = static_cast<uint32_t>(state.range(0));
  BackendOptions options;
  options.granularity = kGranularity;
  const std::unique_ptr<Backend> backend = std::move(*MakeBackend("null", options));
  const ProgramSpec program = ManySlots(slots);
  const StrategyContext context{.program = program, .capabilities = backend->capabilities()};
  RemapSession session(*backend, program, std::move(*MakeStrategy("skip_remap", context)));
  std::vector<SlotChange> all;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    const Memory memory = *backend->Create(kGranularity, 0, 0, slot);
    all.push_back({slot, {.backing = slot, .trace_address = memory.address, .memory = memory}});
  }
  uint64_t step = 0;
  if (const Status first = session.Step({.step = step, .changes = all}); !first) {
    state.SkipWithError(first.error().message().c_str());
    return;
  }
  std::vector<StepEnd> ends;
  for (auto _ : state) {
    benchmark::DoNotOptimize(session.Step({.step = ++step}));
    if (step % 1024 == 0) {
      ends.clear();
      benchmark::DoNotOptimize(backend->TakeStepEnds(ends));
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(IdleSteps)->Arg(10)->Arg(234)->Arg(10'000)->Arg(100'000);

// From the compressed file to the closed store; how many bindings there were.
Result<uint64_t> ReplayFile(const std::string& trace_path, const std::string& backend, const std::string& store_path) {
  std::filesystem::remove(store_path);
  REMAPLAB_ASSIGN(const Trace trace, LoadTrace(trace_path));
  REMAPLAB_ASSIGN(Store store, Store::OpenForWriting(store_path));
  const std::vector<ProgramSteps> programs = SplitPrograms(trace);
  ReplayOptions options;
  options.backend = backend;
  StoreListener::Context context;
  context.trace_name = "churn";
  StoreListener listener(store, context);
  REMAPLAB_ASSIGN(const ProgramRun run, ReplayProgram(trace, programs[0], "skip_remap", options, &listener));
  REMAPLAB_TRY(listener.Finish(run));
  REMAPLAB_TRY(store.Close());
  return trace.bind_slot.size();
}

std::string ScratchStore() {
  return (std::filesystem::temp_directory_path() / fmt::format("remaplab-bench-{}.sqlite", getpid())).string();
}

std::string TenChanges() { return ChurnTrace({.slots = 1000, .steps = 200'000, .changes = 10}); }

// Items: bindings. 1000 slots, 200,000 steps, 10 changes on each.
void TraceToStore(benchmark::State& state, const char* backend) {
  const std::string trace = TenChanges();
  const std::string store = ScratchStore();
  uint64_t bindings = 0;
  for (auto _ : state) {
    const Result<uint64_t> replayed = ReplayFile(trace, backend, store);
    if (!replayed) {
      state.SkipWithError(replayed.error().message().c_str());
      return;
    }
    bindings += *replayed;
  }
  std::filesystem::remove(store);
  state.SetItemsProcessed(static_cast<int64_t>(bindings));
}
BENCHMARK_CAPTURE(TraceToStore, null, "null")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(TraceToStore, sim, "sim")->Unit(benchmark::kMillisecond)->UseRealTime();

// Items: bindings. Reading alone, the part that every command shares.
void LoadTraceFile(benchmark::State& state) {
  const std::string path = TenChanges();
  uint64_t bindings = 0;
  for (auto _ : state) {
    const Result<Trace> trace = LoadTrace(path);
    bindings += trace ? trace->bind_slot.size() : 0;
  }
  state.SetItemsProcessed(static_cast<int64_t>(bindings));
}
BENCHMARK(LoadTraceFile)->Unit(benchmark::kMillisecond)->UseRealTime();

// Items: bindings. The same steps without file and store.
void ReplayOnly(benchmark::State& state, const char* backend) {
  const Result<Trace> trace = LoadTrace(TenChanges());
  const std::vector<ProgramSteps> programs = SplitPrograms(*trace);
  ReplayOptions options;
  options.backend = backend;
  for (auto _ : state) {
    benchmark::DoNotOptimize(ReplayProgram(*trace, programs[0], "skip_remap", options, nullptr));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(trace->bind_slot.size()));
}
BENCHMARK_CAPTURE(ReplayOnly, null, "null")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(ReplayOnly, sim, "sim")->Unit(benchmark::kMillisecond)->UseRealTime();

// 10,000 slots, 100,000 steps, 1 % of the slots moving on each: in a process of its own, whose peak memory is the
// counter max_rss_MiB. Items: bindings.
void LargeReplay(benchmark::State& state) {
  const std::string trace = ChurnTrace({.slots = 10'000, .steps = 100'000, .changes = 100});
  const std::string store = ScratchStore();
  struct rusage usage {};
  for (auto _ : state) {
    const pid_t child = fork();
    if (child == 0) {
      _exit(ReplayFile(trace, "null", store) ? 0 : 1);
    }
    int status = 0;
    wait4(child, &status, 0, &usage);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      state.SkipWithError("the replay failed");
      return;
    }
  }
  std::filesystem::remove(store);
  const uint64_t bindings = 10'000 + 100 * (Shortened(100'000) - 1);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(bindings));
  state.counters["max_rss_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}
BENCHMARK(LargeReplay)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

}  // namespace
}  // namespace remaplab::bench

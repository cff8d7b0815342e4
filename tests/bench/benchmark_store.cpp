#include "tests/bench/benchmark_store.h"

#include <algorithm>
#include <cmath>

#include "replay/host_identity.h"

namespace remaplab::bench {
namespace {

// Every benchmark here counts items; what an item is stands in docs/performance.md.
double SecondsPerItem(const benchmark::BenchmarkReporter::Run& run) {
  const auto rate = run.counters.find("items_per_second");
  if (rate != run.counters.end() && rate->second.value > 0) {
    return 1 / rate->second.value;
  }
  return run.real_accumulated_time / static_cast<double>(std::max<int64_t>(1, run.iterations));
}

}  // namespace

void StoreReporter::ReportRuns(const std::vector<Run>& runs) {
  ConsoleReporter::ReportRuns(runs);
  for (const Run& run : runs) {
    if (status_ && run.run_type == Run::RT_Iteration && !run.error_occurred) {
      status_ = Add(run);
    }
  }
}

Status StoreReporter::Add(const Run& run) {
  // Of a thousand items, because one may take less than the store's unit.
  const int64_t ns = std::llround(SecondsPerItem(run) * 1e12);
  RunInfo info;
  info.trace = {.xxh3 = std::string(32, '0'), .name = "benchmarks", .source = "benchmark", .identity = ""};
  info.program.module = "thousand_items";
  info.strategy = run.run_name.str();
  info.backend = "benchmark";
  info.measured = true;
  info.command_line = command_line_;
  info.position = position_++;
  info.host = HostIdentity();
  REMAPLAB_ASSIGN(const RunId id, store_.BeginRun(info));
  RunSummary summary;
  summary.steps = 1;  // the same on both sides of a comparison, however often the benchmark iterated
  summary.step_ns = {.first = ns, .total = ns, .median = ns, .p99 = ns};
  const Distribution one{
      .n = 1, .min = ns, .q1 = ns, .median = ns, .q3 = ns, .p99 = ns, .max = ns, .mean = ns, .mad = 0};
  summary.samples.push_back({"step", one});
  return store_.FinishRun(id, summary);
}

}  // namespace remaplab::bench

#include "traces/call_recording.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace remaplab {
namespace {

// A recording may say anything, so sums stop at the largest value instead of wrapping.
int64_t AddSaturated(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}
uint64_t AddSaturated(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
}

void Count(CallTotals& totals, const DriverCall& call) {
  CallTotal& total = totals[static_cast<size_t>(call.kind)];
  ++total.n;
  if (call.timed) {
    ++total.timed;
    total.ns = AddSaturated(total.ns, call.duration());
  }
}

void FillDistribution(CallSummary& summary, std::vector<int64_t>& durations) {
  summary.timed = durations.size();
  if (durations.empty()) {
    return;
  }
  std::sort(durations.begin(), durations.end());
  for (const int64_t ns : durations) {
    summary.total = AddSaturated(summary.total, ns);
  }
  summary.median = durations[(durations.size() - 1) / 2];
  summary.p99 = durations[(durations.size() * 99 + 99) / 100 - 1];
  summary.max = durations.back();
}

enum class Costs { kNothing, kNoQuantity, kBytes, kBytesAndChunks };

Costs CostsOf(CallKind kind) {
  switch (kind) {
    case CallKind::kRecord:
    case CallKind::kLaunch:
      return Costs::kNoQuantity;
    case CallKind::kReserve:
    case CallKind::kAddressFree:
    case CallKind::kCreate:
    case CallKind::kRelease:
    case CallKind::kShadowAlloc:
    case CallKind::kShadowFree:
    case CallKind::kCopy:
      return Costs::kBytes;
    case CallKind::kMap:
    case CallKind::kUnmap:
    case CallKind::kSetAccess:
      return Costs::kBytesAndChunks;
    case CallKind::kWait:
    case CallKind::kCapture:
    case CallKind::kUpdate:
      return Costs::kNothing;
  }
  return Costs::kNothing;
}

bool Known(const DriverCall& call, Costs costs) {
  if (!call.timed || call.outcome == CallOutcome::kFailed) {
    return false;
  }
  if (call.kind == CallKind::kSetAccess && call.devices == 0) {
    return false;
  }
  const bool bytes = call.size != DriverCall::kUnknown;
  return costs == Costs::kNoQuantity || (costs == Costs::kBytes && bytes) || (bytes && call.chunks > 0);
}

}  // namespace

CallTotals TotalsByKind(const CallRecording& recording) {
  CallTotals totals{};
  for (const DriverCall& call : recording.calls) {
    Count(totals, call);
  }
  return totals;
}

std::array<CallSummary, kCallKindCount> Summarize(const CallRecording& recording) {
  std::array<CallSummary, kCallKindCount> summaries{};
  std::array<std::vector<int64_t>, kCallKindCount> durations;
  for (const DriverCall& call : recording.calls) {
    const auto kind = static_cast<size_t>(call.kind);
    CallSummary& summary = summaries[kind];
    ++summary.calls;
    summary.failed += call.outcome == CallOutcome::kFailed ? 1 : 0;
    if (call.size != DriverCall::kUnknown) {
      ++summary.sized;
      summary.bytes = AddSaturated(summary.bytes, call.size);
    }
    if (call.timed) {
      durations[kind].push_back(call.duration());
    }
  }
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    FillDistribution(summaries[kind], durations[kind]);
  }
  return summaries;
}

LaunchGroups GroupByLaunch(const CallRecording& recording) {
  LaunchGroups result;
  if (!recording.threads_known) {
    result.outside = TotalsByKind(recording);
    result.why_none = "the recording does not tell threads apart";
    return result;
  }
  std::vector<CallTotals> open(recording.threads.size());
  for (size_t i = 0; i < recording.calls.size(); ++i) {
    const DriverCall& call = recording.calls[i];
    Count(open[call.thread], call);
    if (call.kind == CallKind::kLaunch) {
      result.groups.push_back({call.thread, call.object, i, std::exchange(open[call.thread], {})});
    }
  }
  for (const CallTotals& totals : open) {
    for (size_t kind = 0; kind < kCallKindCount; ++kind) {
      result.outside[kind].n += totals[kind].n;
      result.outside[kind].timed += totals[kind].timed;
      result.outside[kind].ns = AddSaturated(result.outside[kind].ns, totals[kind].ns);
    }
  }
  if (result.groups.empty()) {
    result.why_none = "no command buffer was launched";
  }
  return result;
}

CostPoints MeasuredCosts(const CallRecording& recording) {
  CostPoints result;
  for (const DriverCall& call : recording.calls) {
    const Costs costs = CostsOf(call.kind);
    if (costs == Costs::kNothing) {
      continue;
    }
    if (!Known(call, costs)) {
      ++result.left_out[static_cast<size_t>(call.kind)];
      continue;
    }
    result.points.push_back({.kind = call.kind,
                             .bytes = call.size == DriverCall::kUnknown ? 0 : call.size,
                             .chunks = std::max(call.chunks, 1u),
                             .devices = std::max(call.devices, 1u),
                             .ns = call.duration()});
  }
  return result;
}

}  // namespace remaplab

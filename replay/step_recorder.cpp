#include "replay/step_recorder.h"

#include <array>

#include "analysis/statistics.h"
#include "replay/replayer.h"
#include "replay/step_statistics.h"

namespace remaplab {
namespace {

constexpr size_t kBatch = 4096;

constexpr bool IsRemapWork(CallKind kind) {
  return kind != CallKind::kWait && kind != CallKind::kLaunch && kind != CallKind::kRecord;
}

KindTotals Totals(const Instrument& instrument, Phase phase) {
  const CallTable table = instrument.Totals(phase);
  KindTotals totals{};
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    totals[kind] = {table[kind].calls, table[kind].ns};
  }
  return totals;
}

}  // namespace

StepRecorder::StepRecorder(Instrument& instrument, Backend& backend, RunListener* listener, const Options& options)
    : instrument_(instrument),
      listener_(listener),
      backend_(backend),
      merge_idle_(backend.capabilities().simulated_time),
      collect_ends_(options.collect_ends),
      last_end_(backend.capabilities().simulated_time ? 0 : backend.now()) {
  if (options.detail_calls && listener != nullptr) {
    instrument_.SetListener(this);
  }
}

void StepRecorder::OnCall(const CallRecord& record) {
  detail_.push_back({.step = ordinal_,
                     .phase = static_cast<RunPhase>(record.phase),
                     .kind = record.kind,
                     .slot = std::nullopt,
                     .address = record.address,
                     .size = record.size,
                     .chunks = 1,
                     .device = static_cast<int32_t>(record.device),
                     .start = record.start,
                     .end = record.end,
                     .failed = record.error != nullptr,
                     .predicted_ns = std::nullopt});
}

Status StepRecorder::EndStep(const StepFacts& facts) {
  Pending pending;
  StepRow& row = pending.row;
  row.step = ordinal_;
  row.changed_slots = facts.changed_slots;
  row.retained_bytes = facts.retained_bytes;
  row.stale_slots = facts.stale_slots;
  row.failed = facts.failed;
  bool idle = true;
  instrument_.Drain([&](Phase phase, CallKind kind, const CallStats& stats) {
    if (phase != Phase::kSteps) {
      idle &= phase == Phase::kAllocator;
      return;
    }
    row.calls += stats.calls;
    row.remap_ns += IsRemapWork(kind) ? stats.ns : 0;
    row.wait_ns += kind == CallKind::kWait ? stats.ns : 0;
    pending.launched |= kind == CallKind::kLaunch && stats.calls > stats.failures;
    const bool every_step = (kind == CallKind::kLaunch || kind == CallKind::kRecord) && stats.calls == 1;
    if (!every_step || !merge_idle_) {
      pending_calls_.push_back({.step = ordinal_, .kind = kind, .n = stats.calls, .ns = stats.ns});
      ++pending.calls;
    }
    idle &= every_step;
  });
  pending.mergeable = merge_idle_ && idle && !facts.failed && facts.changed_slots == 0 && facts.stale_slots == 0;
  if (!facts.failed) {
    remap_ns_.push_back(row.remap_ns);
    wait_ns_.push_back(row.wait_ns);
  }
  pending_.push_back(pending);
  return collect_ends_ ? CollectEnds() : Status();
}

Status StepRecorder::CollectEnds() {
  ends_.clear();
  REMAPLAB_TRY(backend_.TakeStepEnds(ends_));
  size_t next = 0;
  while (!pending_.empty()) {
    if (!pending_.front().launched) {
      REMAPLAB_TRY(Settle(last_end_));
    } else if (next < ends_.size()) {
      REMAPLAB_TRY(Settle(ends_[next++].end_ns));
    } else {
      break;
    }
  }
  return {};
}

Status StepRecorder::Settle(int64_t end) {
  Pending pending = pending_.front();
  pending_.pop_front();
  pending.row.start = last_end_;
  pending.row.end = end;
  if (!pending.row.failed) {
    step_ns_.push_back(end - last_end_);
  }
  last_end_ = end;
  return Emit(pending);
}

Status StepRecorder::Emit(const Pending& pending) {
  for (size_t i = 0; i < pending.calls; ++i) {
    row_calls_.push_back(pending_calls_.front());
    pending_calls_.pop_front();
  }
  if (listener_ == nullptr) {
    row_calls_.clear();
    return {};
  }
  if (pending.mergeable && last_row_open_ && rows_.back().retained_bytes == pending.row.retained_bytes) {
    StepRow& stretch = rows_.back();
    ++stretch.count;
    stretch.end = pending.row.end;
    stretch.calls += pending.row.calls;
    return {};
  }
  if (rows_.size() >= kBatch) {
    REMAPLAB_TRY(Flush());
  }
  rows_.push_back(pending.row);
  last_row_open_ = pending.mergeable;
  return {};
}

Status StepRecorder::Flush() {
  if (listener_ != nullptr) {
    REMAPLAB_TRY(listener_->OnSteps(rows_, row_calls_));
    REMAPLAB_TRY(listener_->OnCalls(detail_));
  }
  rows_.clear();
  row_calls_.clear();
  detail_.clear();
  last_row_open_ = false;
  return {};
}

Status StepRecorder::Finish(uint64_t warmup, RunSummary& summary) {
  REMAPLAB_TRY(CollectEnds());
  REMAPLAB_TRY(Flush());
  instrument_.SetListener(nullptr);
  summary.calls = Totals(instrument_, Phase::kSteps);
  summary.teardown = Totals(instrument_, Phase::kTeardown);
  summary.cleanup = Totals(instrument_, Phase::kCleanup);
  summary.allocator = Totals(instrument_, Phase::kAllocator);
  summary.step_ns = SummarizeSteps(step_ns_, warmup);
  summary.remap_ns = SummarizeSteps(remap_ns_, warmup);
  summary.wait_ns = SummarizeSteps(wait_ns_, warmup);
  if (summary.learned_at > 1 && summary.learned_at < step_ns_.size()) {
    const DurationSummary later = SummarizeSteps(step_ns_, summary.learned_at);
    const int64_t learning = SummarizeSteps(step_ns_, 1).total - later.total;
    summary.learning_ns = learning - static_cast<int64_t>(summary.learned_at - 1) * later.median;
  }
  if (!merge_idle_) {
    summary.samples.push_back({"step", Summarize(step_ns_, warmup)});
  }
  return {};
}

}  // namespace remaplab

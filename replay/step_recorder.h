// Turns what the instrument counted in each step, and when the device finished it, into step rows and a run's totals.
// Everything here happens outside timed sections.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "analysis/rows.h"
#include "backends/backend.h"
#include "backends/instrument.h"
#include "base/result.h"

namespace remaplab {

class RunListener;

class StepRecorder final : private CallListener {
 public:
  struct Options {
    bool detail_calls = false;  // keep a row per call
    bool collect_ends = true;   // take step ends after each step; false: only when CollectEnds is called
  };
  // All must outlive it; `listener` may be null.
  StepRecorder(Instrument& instrument, Backend& backend, RunListener* listener, const Options& options);

  struct StepFacts {
    uint32_t changed_slots = 0;
    uint64_t retained_bytes = 0;
    uint32_t stale_slots = 0;
    bool failed = false;
  };

  // Around each step that the session takes; ordinals from 1.
  void BeginStep(uint64_t ordinal) { ordinal_ = ordinal; }
  Status EndStep(const StepFacts& facts);
  // Takes the step ends that are known by now.
  Status CollectEnds();
  // After the last step.
  void BeginTeardown() { ordinal_ = 0; }
  // After the backend has been synchronised: writes what is left and fills the totals and times of `summary`.
  Status Finish(uint64_t warmup, RunSummary& summary);

 private:
  struct Pending {
    StepRow row;
    bool launched = false;  // its end is still to come, unless it has
    bool mergeable = false;
    size_t calls = 0;  // of pending_calls_
  };

  void OnCall(const CallRecord& record) override;
  Status Settle(int64_t end);
  Status Emit(const Pending& pending);
  Status Flush();

  Instrument& instrument_;
  RunListener* listener_;
  Backend& backend_;
  bool merge_idle_;
  bool collect_ends_;
  uint64_t ordinal_ = 0;
  int64_t last_end_ = 0;

  std::deque<Pending> pending_;  // steps whose end is not known yet
  std::deque<StepCallRow> pending_calls_;
  std::vector<StepEnd> ends_;
  std::vector<StepRow> rows_;  // complete, not yet told to the listener
  std::vector<StepCallRow> row_calls_;
  std::vector<CallRow> detail_;
  bool last_row_open_ = false;  // rows_.back() is a stretch that may grow

  std::vector<int64_t> step_ns_;
  std::vector<int64_t> remap_ns_;
  std::vector<int64_t> wait_ns_;
};

}  // namespace remaplab

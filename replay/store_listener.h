// Writes a run into the results store while it goes on: begun at once as `running`, so that a killed replay shows.
#pragma once

#include <string>

#include "analysis/store.h"
#include "replay/replayer.h"

namespace remaplab {

class StoreListener final : public RunListener {
 public:
  // What the replayer does not know about a run; copied into each run row.
  struct Context {
    std::string trace_name;
    std::string command_line;
    std::string tag;
    std::string cell;  // of a sweep
    std::optional<int64_t> position;
    std::optional<CampaignInfo> campaign;
  };

  // The store must outlive it.
  StoreListener(Store& store, Context context) : store_(store), context_(std::move(context)) {}

  Status OnStart(const RunInfo& info) override;
  Status OnSteps(std::span<const StepRow> steps, std::span<const StepCallRow> calls) override;
  Status OnCalls(std::span<const CallRow> calls) override;

  // After ReplayProgram returned: details, summary, status.
  Status Finish(const ProgramRun& run);
  // After ReplayProgram returned an error.
  Status Abort(const Error& error);

 private:
  Store& store_;
  Context context_;
  RunId run_ = 0;
};

}  // namespace remaplab

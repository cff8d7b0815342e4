#include "replay/store_listener.h"

#include <array>

#include "replay/host_identity.h"

namespace remaplab {

Status StoreListener::OnStart(const RunInfo& info) {
  RunInfo row = info;
  row.trace.name = context_.trace_name;
  row.command_line = context_.command_line;
  row.tag = context_.tag;
  row.cell = context_.cell;
  row.position = context_.position;
  row.campaign = context_.campaign;
  row.host = HostIdentity();
  REMAPLAB_ASSIGN(run_, store_.BeginRun(row));
  return {};
}

Status StoreListener::OnSteps(std::span<const StepRow> steps, std::span<const StepCallRow> calls) {
  return store_.AppendSteps(run_, steps, calls);
}

Status StoreListener::OnCalls(std::span<const CallRow> calls) { return store_.AppendCalls(run_, calls); }

Status StoreListener::Finish(const ProgramRun& run) {
  REMAPLAB_TRY(store_.AppendFaults(run_, run.faults));
  REMAPLAB_TRY(store_.AppendMismatches(run_, run.mismatches));
  REMAPLAB_TRY(store_.AppendDiagnostics(run_, run.diagnostics));
  REMAPLAB_TRY(store_.AddChurn(run_, run.churn));
  return store_.FinishRun(run_, run.summary);
}

Status StoreListener::Abort(const Error& error) {
  if (run_ == 0) {
    return {};
  }
  const std::array<DiagnosticRow, 1> why = {{{Severity::kError, error.message()}}};
  REMAPLAB_TRY(store_.AppendDiagnostics(run_, why));
  RunSummary summary;
  summary.status = RunStatus::kFailed;
  return store_.FinishRun(run_, summary);
}

}  // namespace remaplab

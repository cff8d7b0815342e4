#include "replay/replayer.h"

#include "backends/profiles/cost_profile.h"
#include "replay/program_replay.h"
#include "replay/replay_parts.h"

namespace remaplab {

Status CheckReplay(const Trace& trace, std::span<const ProgramSteps> programs, std::span<const std::string> strategies,
                   const ReplayOptions& options) {
  for (const ProgramSteps& program : programs) {
    REMAPLAB_ASSIGN(const std::unique_ptr<Backend> backend, MakeBackendFor(program, options));
    REMAPLAB_ASSIGN(const uint64_t granularity, ResolveGranularity(trace, options, backend->capabilities()));
    REMAPLAB_TRY(LoadCostProfile(options.backend_options.cost_profile, options.backend_options.what_if));
    const ProgramSpec spec = MakeProgramSpec(FirstDeclaration(trace, program), options, granularity);
    for (const std::string& strategy : strategies) {
      REMAPLAB_TRY(MakeStrategy(strategy, {.program = spec,
                                           .capabilities = backend->capabilities(),
                                           .driver = backend->info().driver_profile,
                                           .stage = StageFor(program, options)}));
    }
  }
  return {};
}

Result<ProgramRun> ReplayProgram(const Trace& trace, const ProgramSteps& program, std::string_view strategy,
                                 const ReplayOptions& options, RunListener* listener) {
  REMAPLAB_ASSIGN(const std::unique_ptr<ProgramReplay> replay,
                  ProgramReplay::Create(trace, program, strategy, options, listener));
  for (const ProgramEvent& event : program.events) {
    REMAPLAB_TRY(replay->Handle(event));
    if (replay->ended()) {
      break;
    }
  }
  return replay->Finish();
}

}  // namespace remaplab

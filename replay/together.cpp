#include "replay/together.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "backends/sim/sim_process.h"
#include "replay/program_replay.h"

namespace remaplab {
namespace {

// The steps that devices take together: the same module's same step, once per device.
class StepGroup {
 public:
  StepGroup(SimProcess& process, const Trace& trace) : process_(process), trace_(trace) {}

  bool Takes(const ProgramSteps& program, uint32_t step) const {
    return !members_.empty() && module_ == program.module && step_ == trace_.step_number[step] &&
           std::find(devices_.begin(), devices_.end(), program.device) == devices_.end();
  }

  void Add(ProgramReplay& replay, const ProgramSteps& program, uint32_t step) {
    module_ = program.module;
    step_ = trace_.step_number[step];
    devices_.push_back(program.device);
    members_.push_back(&replay);
  }

  Status Close() {
    if (members_.size() > 1) {
      process_.JoinStep();
    }
    for (ProgramReplay* member : members_) {
      REMAPLAB_TRY(member->CollectEnds());
    }
    members_.clear();
    devices_.clear();
    return {};
  }

 private:
  SimProcess& process_;
  const Trace& trace_;
  std::string module_;
  uint64_t step_ = 0;
  std::vector<int32_t> devices_;
  std::vector<ProgramReplay*> members_;
};

struct Turn {
  uint32_t at;
  uint32_t program;
  uint32_t event;
};

// All events in file order; programs made by CopiesOf share theirs and take them in order of their devices.
std::vector<Turn> TurnsOf(std::span<const ProgramSteps> programs) {
  std::vector<Turn> turns;
  for (uint32_t program = 0; program < programs.size(); ++program) {
    for (uint32_t event = 0; event < programs[program].events.size(); ++event) {
      turns.push_back({programs[program].events[event].at, program, event});
    }
  }
  std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.at < b.at; });
  return turns;
}

}  // namespace

std::vector<ProgramSteps> CopiesOf(const ProgramSteps& program, uint32_t devices) {
  std::vector<ProgramSteps> copies(devices, program);
  for (uint32_t device = 0; device < devices; ++device) {
    copies[device].device = static_cast<int32_t>(device);
  }
  return copies;
}

Result<std::vector<ProgramRun>> ReplayTogether(const Trace& trace, std::span<const ProgramSteps> programs,
                                               std::string_view strategy, const ReplayOptions& options,
                                               std::span<RunListener* const> listeners) {
  ReplayOptions shared = options;
  shared.backend_options.sim_process = std::make_shared<SimProcess>();
  std::vector<std::unique_ptr<ProgramReplay>> replays;
  for (size_t i = 0; i < programs.size(); ++i) {
    RunListener* listener = listeners.empty() ? nullptr : listeners[i];
    REMAPLAB_ASSIGN(replays.emplace_back(), ProgramReplay::Create(trace, programs[i], strategy, shared, listener));
  }
  StepGroup group(*shared.backend_options.sim_process, trace);
  for (const Turn& turn : TurnsOf(programs)) {
    const ProgramSteps& program = programs[turn.program];
    const ProgramEvent& event = program.events[turn.event];
    ProgramReplay& replay = *replays[turn.program];
    const bool step = event.type == ProgramEvent::Type::kStep;
    if (step && !group.Takes(program, event.ref)) {
      REMAPLAB_TRY(group.Close());
    }
    REMAPLAB_TRY(replay.Handle(event));
    if (replay.ended()) {
      break;
    }
    if (step) {
      group.Add(replay, program, event.ref);
    }
  }
  REMAPLAB_TRY(group.Close());
  std::vector<ProgramRun> runs;
  for (const std::unique_ptr<ProgramReplay>& replay : replays) {
    runs.push_back(replay->Finish());
  }
  return runs;
}

}  // namespace remaplab

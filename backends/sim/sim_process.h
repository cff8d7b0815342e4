// What the simulated backends of one process share: a CPU thread and a GPU per device, and the driver's process-wide
// lock. A backend that is alone makes its own.
//
//   auto process = std::make_shared<SimProcess>();
//   per program: BackendOptions options; options.device = ...; options.sim_process = process; MakeBackend("sim", ...)
//   per step: each program's step in turn, then process->JoinStep(), then TakeStepEnds of each
//
// Two programs on one device share its thread and its GPU: their steps follow each other. Programs on different devices
// run at the same time, each on its own clocks; their calls into the driver take the lock in the order in which the
// backends are used, each at the first moment at or after its own time when the lock is free long enough.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "backends/backend.h"

namespace remaplab {

class SimProcess {
 public:
  struct DeviceClocks {
    int64_t cpu = 0;  // t of definitions.md section 3
    int64_t gpu = 0;  // G
  };
  // Where one backend notes the ends of its steps.
  struct StepLine {
    std::vector<int64_t> recent;   // of the last steps, launched or not; the newest last
    std::vector<StepEnd> untaken;  // of launched steps
    bool joinable = false;         // the newest end may still be moved by JoinStep
    bool newest_untaken = false;   // the newest of `recent` is also the newest of `untaken`
  };

  DeviceClocks& Device(int ordinal) { return devices_[ordinal]; }
  void Join(StepLine& line) { lines_.push_back(&line); }
  void Leave(StepLine& line);

  // When a driver call that is ready at `ready` and takes `ns` may begin.
  int64_t TakeLock(int64_t ready, int64_t ns);
  // Whether any device's GPU is busy at `t`, and when the last of them is done.
  bool AnyBusy(int64_t t) const;
  int64_t AllIdleAt() const;

  // Collectives keep devices in step: every device's GPU is as late as the latest, and the step that each backend ended
  // last ends then.
  void JoinStep();

 private:
  std::map<int, DeviceClocks> devices_;
  std::vector<StepLine*> lines_;
  std::map<int64_t, int64_t> locked_;  // begin -> end, apart from each other
};

}  // namespace remaplab

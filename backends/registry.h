// Backends by name: what `remaplab list --backends` shows and `--backend` picks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "base/result.h"

namespace remaplab {

class SimProcess;
class TimelineListener;

// What a backend may be told when it is made; each takes what concerns it.
struct BackendOptions {
  uint32_t devices = 1;
  uint64_t granularity = 0;  // 0: the driver's recommended one
  Touch touch = Touch::kNone;
  uint32_t run_ahead = 1;               // steps that the CPU may be ahead of the device
  int64_t host_step_ns = 0;             // CPU work per step outside the calls
  std::string driver_profile = "cuda";  // sim only
  std::string cost_profile = "h200";    // sim only: a built-in name, or the path of a profile file
  double jitter = 0;                    // sim only: relative spread of call costs, 0 is off
  uint64_t seed = 1;                    // of the jitter
  std::vector<std::string> what_if;     // sim only: cost terms to replace, "unmap.fixed=10us"
  int device = 0;                       // ordinal that the backend stands for
  // sim only: backends of one simulated process share its driver lock and device clocks (sim/sim_process.h).
  std::shared_ptr<SimProcess> sim_process;
  // sim only: is told everything that takes simulated time (sim/timeline.h). Owned by the caller, must outlive the
  // backend; null costs nothing.
  TimelineListener* timeline = nullptr;
};

struct BackendEntry {
  std::string_view name;
  std::string_view description;
  // Why it cannot run here, found before what is needed; nothing when it can. May probe a device.
  std::optional<std::string> (*unavailable)();
  // Fails with that reason when it cannot run here.
  Result<std::unique_ptr<Backend>> (*make)(const BackendOptions& options);
};

std::span<const BackendEntry> Backends();

// Error kUsage with the known names, or the reason why it cannot run here.
Result<std::unique_ptr<Backend>> MakeBackend(std::string_view name, const BackendOptions& options);

}  // namespace remaplab

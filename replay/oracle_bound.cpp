#include "replay/oracle_bound.h"

#include <vector>

#include "engine/oracle.h"
#include "replay/profile_costs.h"
#include "replay/replay_parts.h"

namespace remaplab {

Result<OracleBound> ComputeOracleBound(const Trace& trace, const ProgramSteps& program, const ReplayOptions& options) {
  const BackendOptions& backend = options.backend_options;
  REMAPLAB_ASSIGN(const CostProfile profile, LoadCostProfile(backend.cost_profile, backend.what_if));
  const ProfileCosts costs(profile);
  REMAPLAB_ASSIGN(const std::unique_ptr<Backend> driver, MakeBackendFor(program, options));
  REMAPLAB_ASSIGN(const uint64_t granularity, ResolveGranularity(trace, options, driver->capabilities()));
  Oracle oracle(costs, backend.run_ahead, backend.host_step_ns, options.warmup);
  std::vector<uint32_t> engine_slot;
  std::vector<SlotChange> changes;
  for (const ProgramEvent& event : program.events) {
    if (event.type == ProgramEvent::Type::kDeclare) {
      const TraceProgram& declaration = trace.programs[event.ref];
      const ProgramSpec spec = MakeProgramSpec(declaration, options, granularity);
      engine_slot = EngineSlots(declaration, spec);
      oracle.Declare(spec);
    } else if (event.type == ProgramEvent::Type::kStep) {
      changes.clear();
      const std::span<const uint32_t> slots = trace.BoundSlots(event.ref);
      const std::span<const uint32_t> backings = trace.BoundBackings(event.ref);
      for (size_t i = 0; i < slots.size(); ++i) {
        if (engine_slot[slots[i]] != kNoEngineSlot) {
          SlotChange& change = changes.emplace_back();
          change.slot = engine_slot[slots[i]];
          change.binding.backing = backings[i] == kUnboundSlot ? kNoBacking : backings[i];
        }
      }
      oracle.Step(changes, GpuTimeOf(trace, program, event.ref, options));
    }
  }
  return OracleBound{program.id, program.module, profile.name, oracle.TotalNs()};
}

}  // namespace remaplab

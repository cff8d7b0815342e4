// Strategies: what to do when buffers move between steps. A strategy is two policies put together (definitions.md
// section 2): a SlotPolicy puts every slot into a class, a RemapPolicy keeps the mapped ones current. Each named
// strategy lives in one file under engine/strategies/, registered by name with typed parameters.
//
// Policies only plan. They look at a PlanView, add calls to a StepPlan, and own no driver state: what is mapped, baked
// or in flight is the session's to know, and is still true after a call that failed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "base/result.h"
#include "engine/mapped_set.h"
#include "engine/step_plan.h"
#include "engine/types.h"

namespace remaplab {

// How a policy tells whether a slot still holds what is mapped for it (semantics, section 3).
enum class Identity : uint8_t { kBacking, kAddress };

// How much a set_access call covers after a remap.
enum class AccessGrain : uint8_t { kRange, kRun, kSlot };

// What a policy may know when it plans a step.
struct PlanView {
  const ProgramSpec& program;
  const Capabilities& capabilities;
  const Layout& layout;
  std::span<const SlotClass> classes;
  std::span<const Binding> bindings;  // this step's, by slot
  std::span<const uint32_t> changed;  // slots whose backing differs from the previous step's, ascending
  uint64_t ordinal = 0;               // 1 for the session's first step
  bool fresh_table = false;           // first step with this slot table: every slot must be classified
  int64_t gpu_ns = 0;                 // the step's GPU time
  std::vector<MappedSet>& sets;       // SparseSet::Sorted() sorts in place; nothing else may change here
};

// Which slots are mapped, shadowed, dynamic.
class SlotPolicy {
 public:
  virtual ~SlotPolicy() = default;
  // Called before every step is planned, with the classes that it chose last. Returns true after changing any of them;
  // that costs a wait, a new reservation and a new capture.
  virtual bool Classify(const PlanView& view, std::span<SlotClass> classes) = 0;
  // False while steps run without a command buffer, to watch (skip_profiled).
  virtual bool UsesCommandBuffer(uint64_t ordinal) const {
    (void)ordinal;
    return true;
  }
  // Which of the two copies a shadowed slot needs (semantics, rule 12).
  virtual bool CopiesIn(const SlotSpec& slot) const {
    (void)slot;
    return true;
  }
  virtual bool CopiesOut(const SlotSpec& slot) const {
    (void)slot;
    return true;
  }
  // What a parameter `auto` became and why, for people; empty when there was nothing to resolve (yet).
  virtual std::string Resolved() const { return {}; }
  // For strategies that learn: the ordinal of the step with which what has been learned so far took effect, 0 when
  // nothing has. Up to that step a run pays for learning.
  virtual uint64_t LearnedAt() const { return 0; }
};

// How the mapped slots are kept current.
class RemapPolicy {
 public:
  virtual ~RemapPolicy() = default;
  virtual Identity identity() const { return Identity::kBacking; }
  // Which set serves this step, out of view.sets; one past the end asks for a new one.
  virtual uint32_t PickSet(const PlanView& view) {
    (void)view;
    return 0;
  }
  // Another one with the same parameters that has seen nothing.
  virtual std::unique_ptr<RemapPolicy> Fresh() const = 0;
  // Adds the calls that bring a set in which something is mapped up to date: waits, unmaps, maps, set-accesses.
  virtual void PlanRemap(const PlanView& view, uint32_t set, StepPlan& plan) = 0;
};

struct Strategy {
  std::string text;  // canonical: parameters as the user gave them
  std::unique_ptr<SlotPolicy> slots;
  std::unique_ptr<RemapPolicy> remap;
};

// Makes a backend with simulated time (the run's cost and driver profile, devices, run-ahead and host work; no jitter,
// nothing touched) on which a strategy tries candidates out before it decides.
using StageMaker = std::function<Result<std::unique_ptr<Backend>>()>;

// What a strategy is made for.
struct StrategyContext {
  const ProgramSpec& program;
  const Capabilities& capabilities;
  std::string_view driver;  // for messages
  StageMaker stage = {};    // may be empty: then what decides by trying is refused. Copied into the strategy
};

struct ParameterInfo {
  std::string_view name;
  std::string_view values;         // "backing|address", "BYTES|auto"
  std::string_view default_value;  // as text
  std::string_view description;
};

struct StrategyInfo {
  std::string_view name;
  std::string_view description;  // one line
  std::span<const ParameterInfo> parameters;
};

// All strategies, in the order in which `remaplab list` shows them.
std::vector<StrategyInfo> Strategies();

// What runs where nobody says otherwise (semantics, rule 10): skip_remap on ROCm, full_remap elsewhere; shadows only on
// demand. `driver` is a driver profile's name.
std::string_view DefaultStrategy(std::string_view driver);

// Makes the strategy that `text` spells, e.g. "skip_remap(identity=address)+copy_shadow(threshold=65536)". Errors:
// kUsage for unknown names, parameters, values and for combinations that mean nothing, with the reason; kUnsupported
// for what the driver cannot carry out.
Result<Strategy> MakeStrategy(std::string_view text, const StrategyContext& context);

// --- Building blocks for remap policies -----------------------------------------------------------------------------

// Wait for the set's own last use, if it has one.
void PlanWait(uint32_t set, StepPlan& plan);
// Unmap everything mapped in `set`: one call per stretch, or one per mapping where the driver needs that.
void PlanUnmapAll(const PlanView& view, uint32_t set, StepPlan& plan);
// Map every bound slot and give every device access to all of it.
void PlanMapAll(const PlanView& view, uint32_t set, StepPlan& plan);
// Wait, unmap the runs that changed, map what is bound there now, give access: skip_remap's later step.
void PlanRemapChanged(const PlanView& view, uint32_t set, AccessGrain grain, StepPlan& plan);

}  // namespace remaplab

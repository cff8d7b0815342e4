// How strategies that learn find out what suits a program: they remember the last steps, and play them through with
// other slot classes on a stage, a backend with simulated time. The session, the remap policy and the time model are
// the real ones, so that what is compared is what would happen.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/session.h"
#include "engine/strategies/entries.h"

namespace remaplab {

// The last steps of a session: work and memory in proportion to what changed.
class StepHistory {
 public:
  static constexpr size_t kSteps = 8;

  // To be called once per step, from SlotPolicy::Classify.
  void Note(const PlanView& view);

  struct NotedStep {
    std::vector<SlotChange> changes;  // since the step before
    int64_t gpu_ns = 0;
  };
  size_t steps() const { return count_; }
  // The bindings of the oldest step, by slot.
  std::span<const Binding> first() const { return first_; }
  // 0 is the oldest.
  const NotedStep& step(size_t i) const { return ring_[(begin_ + i) % kSteps]; }
  // On how many of the steps but the oldest the slot's memory changed.
  std::vector<uint32_t> ChangesBySlot() const;

 private:
  std::vector<Binding> first_;
  std::vector<NotedStep> ring_ = std::vector<NotedStep>(kSteps);
  size_t begin_ = 0;
  size_t count_ = 0;
};

class Rehearsal {
 public:
  // The history must outlive the rehearsal.
  static Result<Rehearsal> Make(const StageMaker& stage, const ProgramSpec& program, const StepHistory& history);

  // Simulated times.
  struct Outcome {
    int64_t step_ns = 0;    // of one step, once things are settled
    int64_t set_up_ns = 0;  // what the first step takes longer than its GPU work
    int64_t take_down_ns = 0;
  };
  Result<Outcome> Try(std::span<const SlotClass> classes, CopyDirection direction, std::unique_ptr<RemapPolicy> remap);

 private:
  Rehearsal(std::unique_ptr<Backend> stage, const ProgramSpec& program, const StepHistory& history)
      : stage_(std::move(stage)), program_(program), history_(history) {}
  Status CreateMemory(const Binding& binding);
  SlotChange OnStage(uint32_t slot, const Binding& binding) const;

  std::unique_ptr<Backend> stage_;
  const ProgramSpec& program_;
  const StepHistory& history_;
  std::unordered_map<BackingId, Memory> memory_;  // on the stage
  std::vector<StepEnd> ends_;

  static constexpr size_t kSettling = 4;  // steps that set things up and are not counted
  static_assert(kSettling < StepHistory::kSteps);
};

// The sizes at which a threshold makes a difference, ascending: each size that some slot has, or as many of them as are
// worth a try, evenly spread.
std::vector<uint64_t> ThresholdsOf(const ProgramSpec& program);

}  // namespace remaplab

// A session on the null backend, with steps prepared beforehand, so that nothing but planning and bookkeeping is left
// to count or to time. Changed slots go round three memories, as inputs in rotation do.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/registry.h"
#include "engine/session.h"

namespace remaplab {

class PlanningRig {
 public:
  // `changed` of the `slots` slots change on every step, evenly spread.
  PlanningRig(std::string_view strategy, uint32_t slots, uint32_t changed) {
    BackendOptions options;
    backend_ = MakeBackend("null", options).value();
    ProgramSpec program{.module = "jit_step", .granularity = kSize, .commands = 100, .slots = {}};
    for (uint32_t slot = 0; slot < slots; ++slot) {
      // Every fourth slot is small, so that shadows have something to do.
      const uint64_t size = slot % 4 == 0 ? 4 : kSize;
      program.slots.push_back({.index = slot, .recorded_size = size, .size = size, .mapped_size = kSize});
    }
    options.cost_profile = "h200";
    Strategy made = MakeStrategy(strategy, {.program = program,
                                            .capabilities = backend_->capabilities(),
                                            .driver = "cuda",
                                            .stage = [options] { return MakeBackend("sim", options); }})
                        .value();
    for (uint32_t slot = 0; slot < slots; ++slot) {
      all_.push_back({slot, NewBinding()});
    }
    for (uint32_t i = 0; i < changed; ++i) {
      const uint32_t slot = static_cast<uint32_t>(uint64_t{i} * slots / changed);
      rounds_[0].push_back(all_[slot]);
      rounds_[1].push_back({slot, NewBinding()});
      rounds_[2].push_back({slot, NewBinding()});
    }
    session_ = std::make_unique<RemapSession>(*backend_, std::move(program), std::move(made));
    session_->ReserveBackings(next_);
    ends_.reserve(4);
    Run(all_);
  }

  // One step; false when it failed.
  bool Step() { return Run(rounds_[++steps_ % rounds_.size()]); }
  void Step(uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) {
      Step();
    }
  }

  RemapSession& session() { return *session_; }

 private:
  static constexpr uint64_t kSize = 2 << 20;

  bool Run(const std::vector<SlotChange>& changes) {
    const bool done = session_->Step({.step = steps_, .gpu_ns = 1000, .changes = changes, .unproven = {}}).has_value();
    ends_.clear();
    return backend_->TakeStepEnds(ends_).has_value() && done;
  }
  Binding NewBinding() {
    const BackingId id = next_++;
    return Binding{id, (id + 1) << 32, backend_->Create(kSize, 0, 0, 0).value()};
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<RemapSession> session_;
  BackingId next_ = 0;
  uint64_t steps_ = 0;
  std::vector<SlotChange> all_;
  std::array<std::vector<SlotChange>, 3> rounds_;
  std::vector<StepEnd> ends_;
};

}  // namespace remaplab

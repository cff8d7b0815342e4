#include "traces/inspector.h"

#include <algorithm>
#include <map>

namespace remaplab {
namespace {

constexpr size_t kMovers = 10;

size_t ClassOf(uint64_t size) {
  size_t i = 0;
  while (size > kSizeClasses[i].largest) {
    ++i;
  }
  return i;
}

uint64_t Rounded(uint64_t size, uint64_t granularity) { return (size + granularity - 1) / granularity * granularity; }

template <typename T>
T LowerMiddle(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename T>
T AddHeld(T a, T b) {
  return a > std::numeric_limits<T>::max() - b ? std::numeric_limits<T>::max() : a + b;
}

// What is gathered for one declaration while the steps go by.
struct Movement {
  std::vector<uint32_t> bound;
  std::vector<uint64_t> changes;
  bool stepped = false;
};

class Inspector {
 public:
  Inspector(const Trace& trace, uint64_t granularity) : trace_(trace), movements_(trace.programs.size()) {
    info_.granularity = granularity > 0 ? granularity : std::max<uint64_t>(1, trace.header.granularity);
  }

  TraceSummary Inspect() {
    CountEvents();
    for (size_t step = 0; step < trace_.steps(); ++step) {
      Step(step);
    }
    for (size_t declaration = 0; declaration < trace_.programs.size(); ++declaration) {
      Declaration(declaration);
    }
    for (auto& [id, program] : programs_) {
      Finish(program);
      info_.programs.push_back(std::move(program.info));
    }
    return std::move(info_);
  }

 private:
  struct Program {
    ProgramSummary info;
    std::vector<uint64_t> changed;  // per step that follows another one
    std::vector<int64_t> durations;
    size_t shown = 0;  // the declaration whose slots are shown
    bool shown_stepped = false;
  };

  void CountEvents() {
    info_.backings = trace_.backings();
    for (const Trace::Event& event : trace_.events) {
      ++info_.events[static_cast<size_t>(event.type)];
    }
    const uint64_t allocs = info_.events[static_cast<size_t>(TraceEventType::kAlloc)];
    info_.reused_allocs = allocs - trace_.backings();
    info_.unknown_addresses = static_cast<uint64_t>(
        std::count(trace_.backing_address.begin(), trace_.backing_address.end(), kUnknownAddress));
    std::map<std::string, TimingInfo> timings;
    for (const TraceTiming& timing : trace_.timings) {
      TimingInfo& sum = timings[timing.kind];
      sum.kind = timing.kind;
      ++sum.events;
      sum.ns = AddHeld(sum.ns, timing.ns);
      sum.count = AddHeld(sum.count, timing.count);
    }
    for (auto& [kind, sum] : timings) {
      info_.timings.push_back(std::move(sum));
    }
  }

  void Step(size_t step) {
    const uint32_t declaration = trace_.step_program[step];
    Program& program = programs_[trace_.programs[declaration].id];
    Movement& movement = movements_[declaration];
    const bool first = !movement.stepped;
    if (first) {
      const size_t slots = trace_.programs[declaration].slots.size();
      movement = {std::vector<uint32_t>(slots, kUnboundSlot), std::vector<uint64_t>(slots), true};
    }
    ++program.info.steps;
    if (trace_.step_duration[step] != kUnknownTime) {
      program.durations.push_back(trace_.step_duration[step]);
    }
    const auto slots = trace_.BoundSlots(step);
    const auto backings = trace_.BoundBackings(step);
    for (size_t i = 0; i < slots.size(); ++i) {
      uint32_t& bound = movement.bound[slots[i]];
      if (!first) {
        ++movement.changes[slots[i]];
        program.info.same_address_changes += SameAddress(bound, backings[i]) ? 1 : 0;
        program.info.runs += i == 0 || slots[i] != slots[i - 1] + 1 ? 1 : 0;
      }
      bound = backings[i];
    }
    if (!first) {
      program.changed.push_back(slots.size());
    }
  }

  bool SameAddress(uint32_t a, uint32_t b) const {
    return a != kUnboundSlot && b != kUnboundSlot && trace_.backing_address[a] != kUnknownAddress &&
           trace_.backing_address[a] == trace_.backing_address[b];
  }

  void Declaration(size_t declaration) {
    const TraceProgram& declared = trace_.programs[declaration];
    Program& program = programs_[declared.id];
    ++program.info.declarations;
    const bool stepped = movements_[declaration].stepped;
    if (stepped || !program.shown_stepped) {
      program.shown = declaration;
      program.shown_stepped = stepped;
    }
  }

  void Finish(Program& program) {
    ProgramSummary& info = program.info;
    const TraceProgram& declared = trace_.programs[program.shown];
    info.id = declared.id;
    info.module = declared.module;
    info.device = declared.device;
    info.commands = declared.commands;
    info.slots = declared.slots.size();
    if (!program.changed.empty()) {
      const auto [least, most] = std::minmax_element(program.changed.begin(), program.changed.end());
      info.changed_min = *least;
      info.changed_max = *most;
      for (const uint64_t changed : program.changed) {
        info.changed_slot_steps += changed;
        info.changed_steps += changed > 0 ? 1 : 0;
      }
      info.changed_median = LowerMiddle(program.changed);
    }
    if (!program.durations.empty()) {
      info.duration_median = LowerMiddle(program.durations);
    }
    Slots(declared, movements_[program.shown], info);
    CountBackings(static_cast<uint32_t>(program.shown), info.movers);
  }

  void Slots(const TraceProgram& declared, const Movement& movement, ProgramSummary& info) const {
    for (size_t i = 0; i < declared.slots.size(); ++i) {
      const TraceSlot& slot = declared.slots[i];
      const uint64_t changes = movement.stepped ? movement.changes[i] : 0;
      SlotTally& tally = info.tally[static_cast<size_t>(slot.kind)][ClassOf(slot.size)];
      ++tally.slots;
      tally.bytes += slot.size;
      tally.changes += changes;
      info.bytes += slot.size;
      info.bytes_mapped += Rounded(slot.size, info_.granularity);
      if (changes > 0) {
        info.movers.push_back({slot, changes, 0});
      }
    }
    std::stable_sort(info.movers.begin(), info.movers.end(),
                     [](const SlotMovement& a, const SlotMovement& b) { return a.changes > b.changes; });
    info.movers.resize(std::min(info.movers.size(), kMovers));
  }

  // Only the movers' backings are told apart: doing so for every slot would take more memory than the trace.
  void CountBackings(uint32_t declaration, std::vector<SlotMovement>& movers) const {
    const std::vector<TraceSlot>& slots = trace_.programs[declaration].slots;
    std::vector<std::vector<uint32_t>> backings(movers.size());
    std::vector<size_t> mover_at(slots.size(), movers.size());
    for (size_t i = 0; i < movers.size(); ++i) {
      const auto at = std::lower_bound(slots.begin(), slots.end(), movers[i].slot.index,
                                       [](const TraceSlot& slot, uint32_t index) { return slot.index < index; });
      mover_at[static_cast<size_t>(at - slots.begin())] = i;
    }
    for (size_t step = 0; step < trace_.steps(); ++step) {
      if (trace_.step_program[step] != declaration) {
        continue;
      }
      const auto bound_slots = trace_.BoundSlots(step);
      const auto bound_backings = trace_.BoundBackings(step);
      for (size_t i = 0; i < bound_slots.size(); ++i) {
        const size_t mover = mover_at[bound_slots[i]];
        if (mover < movers.size() && bound_backings[i] != kUnboundSlot) {
          backings[mover].push_back(bound_backings[i]);
        }
      }
    }
    for (size_t i = 0; i < movers.size(); ++i) {
      std::sort(backings[i].begin(), backings[i].end());
      movers[i].distinct_backings =
          static_cast<uint64_t>(std::unique(backings[i].begin(), backings[i].end()) - backings[i].begin());
    }
  }

  const Trace& trace_;
  TraceSummary info_;
  std::vector<Movement> movements_;  // by declaration
  std::map<uint32_t, Program> programs_;
};

}  // namespace

TraceSummary InspectTrace(const Trace& trace, uint64_t granularity) { return Inspector(trace, granularity).Inspect(); }

}  // namespace remaplab

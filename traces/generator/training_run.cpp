#include "traces/generator/training_run.h"

#include <algorithm>
#include <utility>

#include "traces/format.h"

namespace remaplab {
namespace {

constexpr int64_t kMicrosecond = 1000;

// Six operations a parameter and token, at 400,000 operations a nanosecond (an H200 at a usual utilisation), and
// something for the launches.
int64_t StepDuration(uint64_t parameters, uint64_t tokens) {
  constexpr uint64_t kMostParameters = uint64_t{1} << 44;
  constexpr uint64_t kLaunches = 100'000;
  const uint64_t thousands = std::min(parameters, kMostParameters) / 1000;
  return static_cast<int64_t>(std::min<uint64_t>(thousands * 6 * tokens / 400 + kLaunches, kLongestDuration / 2));
}

RequestKey KeyOf(uint32_t program, const TraceSlot& slot) { return (uint64_t{program} + 1) << 32 | slot.index; }

}  // namespace

TrainingRun::TrainingRun(const GeneratorOptions& options, const GeneratedTable& training,
                         const std::optional<GeneratedTable>& evaluation, TraceWriter& writer)
    : options_(options),
      churn_(options.churn),
      writer_(writer),
      random_(options.seed),
      model_(MakeAllocatorModel(options.allocator, options.granularity)) {
  const uint64_t tokens = options.table.batch * options.table.sequence;
  training_ = {0, &training, {}, {}, StepDuration(training.parameters, tokens)};
  if (evaluation) {
    evaluation_ = Program{1, &*evaluation, {}, {}, StepDuration(evaluation->parameters, tokens) / 3};
  }
  leaf_size_.resize(training.leaves);
  for (const GeneratedSlot& slot : training.slots) {
    if (slot.role == SlotRole::kState) {
      leaf_size_[slot.number] = slot.slot.size;
    }
  }
}

int64_t TrainingRun::Tick(uint64_t most) {
  t_ += static_cast<int64_t>(random_.Between(1, most));
  return t_;
}

MemoryId TrainingRun::Alloc(uint64_t size, RequestKey key) {
  const MemoryId memory = model_->Allocate(size, key);
  seen_.resize(model_->memories());
  writer_.Alloc({memory, model_->memory(memory).address, size, Tick(2 * kMicrosecond), seen_[memory]});
  seen_[memory] = true;
  return memory;
}

void TrainingRun::Free(MemoryId memory) {
  writer_.DeferredFree(memory, Tick(kMicrosecond));
  model_->Free(memory);
}

void TrainingRun::FreeAll(std::vector<MemoryId>& memories) {
  for (const MemoryId memory : memories) {
    Free(memory);
  }
  memories.clear();
}

void TrainingRun::Declare(Program& program, const char* module) {
  TraceProgram declaration{program.id, module, 0, program.table->commands, {}};
  for (const GeneratedSlot& slot : program.table->slots) {
    declaration.slots.push_back(slot.slot);
  }
  program.bound.assign(declaration.slots.size(), kNothing);
  program.now.assign(declaration.slots.size(), kNothing);
  writer_.Program(declaration, t_);
}

void TrainingRun::LoadState() {
  for (const uint64_t size : leaf_size_) {
    state_.push_back(Alloc(size, 0));
  }
}

std::vector<MemoryId> TrainingRun::LoadBatch() {
  std::vector<MemoryId> batch;
  for (const GeneratedSlot& slot : training_.table->slots) {
    if (slot.role == SlotRole::kInput) {
      batch.push_back(Alloc(slot.slot.size, KeyOf(0, slot.slot)));
    }
  }
  return batch;
}

void TrainingRun::Run() {
  Declare(training_, "jit_train_step");
  if (evaluation_) {
    Declare(*evaluation_, "jit_eval_step");
  }
  LoadState();
  for (uint32_t i = 0; i < std::max(churn_.prefetch, 1u); ++i) {
    batches_.push_back(LoadBatch());
  }
  for (step_ = 1; step_ <= options_.steps; ++step_) {
    MoveLeaves();
    TrainStep();
    Scratch();
    if (churn_.inputs > 0) {
      // The next batch comes before the old one goes.
      batches_.push_back(LoadBatch());
      FreeAll(batches_.front());
      batches_.pop_front();
    }
    if (evaluation_ && Due(churn_.evaluate)) {
      writer_.Mark({"evaluation", t_});
      EvaluationStep();
      EvaluationStep();
    }
    if (Due(churn_.checkpoint)) {
      Checkpoint();
    }
    if (Due(churn_.pressure)) {
      RelievePressure();
    }
  }
}

// Outputs and temp are allocated, the program runs, and what only it needs goes back at once.
void TrainingRun::TrainStep() {
  std::vector<MemoryId> next(state_);
  std::vector<MemoryId> metrics;
  std::vector<MemoryId> temporary;
  const std::vector<GeneratedSlot>& slots = training_.table->slots;
  for (size_t i = 0; i < slots.size(); ++i) {
    const GeneratedSlot& slot = slots[i];
    const auto allocate = [&] { return Alloc(slot.slot.size, KeyOf(training_.id, slot.slot)); };
    switch (slot.role) {
      case SlotRole::kState:
      case SlotRole::kAlias:
        training_.now[i] = state_[slot.number];
        break;
      case SlotRole::kNewState:
        training_.now[i] = next[slot.number] = allocate();
        break;
      case SlotRole::kInput:
        training_.now[i] = batches_.front()[slot.number];
        break;
      case SlotRole::kMetric:
        metrics.push_back(training_.now[i] = allocate());
        break;
      case SlotRole::kTuple:
      case SlotRole::kTemp:
        temporary.push_back(training_.now[i] = allocate());
        break;
    }
  }
  Execute(training_);
  FreeAll(temporary);
  HandOver(std::move(metrics));
  if (!churn_.donated) {
    // The loop drops the old state for the new one; a checkpoint that still reads it holds it for another step.
    held_states_.push_back(std::exchange(state_, std::move(next)));
    while (held_states_.size() > (Due(churn_.checkpoint) ? 1u : 0u)) {
      FreeAll(held_states_.front());
      held_states_.pop_front();
    }
  }
}

void TrainingRun::EvaluationStep() {
  std::vector<MemoryId> temporary;
  const std::vector<GeneratedSlot>& slots = evaluation_->table->slots;
  std::vector<MemoryId> batch = churn_.inputs > 0 ? LoadBatch() : std::vector<MemoryId>();
  for (size_t i = 0; i < slots.size(); ++i) {
    const GeneratedSlot& slot = slots[i];
    if (slot.role == SlotRole::kState) {
      evaluation_->now[i] = state_[slot.number];
    } else if (slot.role == SlotRole::kInput) {
      evaluation_->now[i] = batch.empty() ? batches_.front()[slot.number] : batch[slot.number];
    } else {
      temporary.push_back(evaluation_->now[i] = Alloc(slot.slot.size, KeyOf(evaluation_->id, slot.slot)));
    }
  }
  Execute(*evaluation_);
  FreeAll(temporary);
  FreeAll(batch);
}

void TrainingRun::Execute(Program& program) {
  std::vector<TraceBind> bind;
  for (size_t i = 0; i < program.now.size(); ++i) {
    if (program.now[i] != program.bound[i] || program.steps == 0) {
      program.bound[i] = program.now[i];
      bind.push_back({program.table->slots[i].slot.index, program.now[i]});
    }
  }
  const auto percent = static_cast<int64_t>(random_.Between(99, 101));
  const int64_t duration = program.duration / 100 * percent;
  writer_.Step({program.id, ++program.steps, Tick(20 * kMicrosecond), duration, bind});
  t_ += duration;
}

// The loop reads this step's metrics and drops older ones.
void TrainingRun::HandOver(std::vector<MemoryId> metrics) {
  metrics_.push_back(std::move(metrics));
  while (metrics_.size() > churn_.generations) {
    FreeAll(metrics_.front());
    metrics_.pop_front();
  }
}

void TrainingRun::MoveLeaves() {
  if (step_ == 1 || state_.empty()) {
    return;
  }
  for (uint32_t i = 0; i < churn_.moves; ++i) {
    const auto leaf = static_cast<size_t>(random_.Below(state_.size()));
    const MemoryId old = state_[leaf];
    state_[leaf] = Alloc(leaf_size_[leaf], 0);
    Free(old);
  }
}

// Little programs between the steps: each takes a buffer or two while an older one is still held.
void TrainingRun::Scratch() {
  std::vector<MemoryId> held;
  for (uint32_t i = 0; i < churn_.scratch; ++i) {
    held.push_back(Alloc(i % 2 == 0 ? 4 : 8, 0));
    if (held.size() > 2) {
      Free(held.front());
      held.erase(held.begin());
    }
  }
  FreeAll(held);
}

void TrainingRun::Checkpoint() {
  writer_.Mark({"checkpoint", t_});
  if (!churn_.donated) {
    return;  // TrainStep holds the old state
  }
  MemoryId staging = kNothing;
  for (const uint64_t size : leaf_size_) {
    const MemoryId copy = Alloc(size, 0);
    if (staging != kNothing) {
      Free(staging);
    }
    staging = copy;
  }
  if (staging != kNothing) {
    Free(staging);
  }
}

void TrainingRun::RelievePressure() {
  for (const MemoryId memory : model_->ReleaseKept()) {
    writer_.Free(memory, Tick(kMicrosecond));
  }
}

}  // namespace remaplab

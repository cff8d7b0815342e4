// The training loop of a generated trace: who allocates and frees what, in which order.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "traces/allocator/policy.h"
#include "traces/generator/generator.h"
#include "base/random.h"
#include "traces/generator/slot_table.h"
#include "traces/writer.h"

namespace remaplab {

class TrainingRun {
 public:
  // Everything must outlive the run.
  TrainingRun(const GeneratorOptions& options, const GeneratedTable& training,
              const std::optional<GeneratedTable>& evaluation, TraceWriter& writer);

  void Run();

 private:
  static constexpr MemoryId kNothing = ~MemoryId{0};

  // A program and the memory that its slots had on its last step.
  struct Program {
    uint32_t id;
    const GeneratedTable* table;
    std::vector<MemoryId> bound;
    std::vector<MemoryId> now;  // of the step under way
    int64_t duration;           // of a step, before jitter
    uint64_t steps = 0;
  };

  MemoryId Alloc(uint64_t size, RequestKey key);
  void Free(MemoryId memory);
  void FreeAll(std::vector<MemoryId>& memories);
  int64_t Tick(uint64_t most);

  void Declare(Program& program, const char* module);
  void LoadState();
  std::vector<MemoryId> LoadBatch();
  void TrainStep();
  void EvaluationStep();
  void Execute(Program& program);
  void HandOver(std::vector<MemoryId> metrics);
  void MoveLeaves();
  void Scratch();
  void Checkpoint();
  void RelievePressure();
  bool Due(uint32_t every) const { return every > 0 && step_ % every == 0; }

  const GeneratorOptions& options_;
  const Churn& churn_;
  TraceWriter& writer_;
  Random random_;
  std::unique_ptr<AllocatorModel> model_;
  std::vector<bool> seen_;  // by memory: was handed out before
  Program training_;
  std::optional<Program> evaluation_;

  std::vector<uint64_t> leaf_size_;
  std::vector<MemoryId> state_;                    // by leaf
  std::deque<std::vector<MemoryId>> batches_;      // on the device; the first is the current step's
  std::deque<std::vector<MemoryId>> metrics_;      // held; the newest last
  std::deque<std::vector<MemoryId>> held_states_;  // undonated, while a checkpoint reads them
  uint64_t step_ = 0;
  int64_t t_ = 0;
};

}  // namespace remaplab

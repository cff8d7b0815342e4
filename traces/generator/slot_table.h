// The slot table of a training step, from a model's shape: which buffers XLA gives such a program, how large, in which
// order.
//
// What the recordings show and this follows: allocations are numbered by falling size; a donated state leaf is one
// allocation (parameter and output at once), an undonated one is two; each weight has two optimizer moments of its size
// (AdamW, float32); the outputs' pointer table is a buffer of 8 bytes an output; numbers are left out where XLA has
// thread-local allocations; everything temporary is one buffer, the last.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "traces/generator/churn.h"
#include "traces/generator/model_shapes.h"
#include "traces/trace.h"

namespace remaplab {

enum class TrainingStyle : uint8_t {
  kPlain,    // a hand-written JAX step: weights, moments, one step counter
  kMaxText,  // also the dropout and quantization random states that MaxText carries: six a layer and six more
};

struct TableOptions {
  ModelShape model;
  uint32_t layers = 0;
  uint32_t shards = 1;  // FSDP: matrices are split, vectors are not
  bool scan = false;    // layers in one loop: one leaf for all layers' weights of a kind
  TrainingStyle style = TrainingStyle::kPlain;
  uint64_t batch = 2;  // per device
  uint64_t sequence = 512;
};

// What a slot is to the training loop.
enum class SlotRole : uint8_t { kState, kNewState, kInput, kAlias, kTuple, kMetric, kTemp };

struct GeneratedSlot {
  TraceSlot slot;
  SlotRole role;
  uint32_t number;  // which leaf, input or metric; an alias: which leaf it repeats
};

struct GeneratedTable {
  std::vector<GeneratedSlot> slots;  // ascending by slot.index
  uint32_t leaves = 0;               // of the state
  uint64_t parameters = 0;           // of the model, all shards
  uint32_t commands = 0;
};

// kUsage when sizes go beyond what a trace can say.
Result<GeneratedTable> TrainingTable(const TableOptions& options, const Churn& churn);

// The evaluation step that goes with it: reads the weights (state leaves whose number is in the training table's first
// third), takes the same inputs, gives two metrics.
Result<GeneratedTable> EvaluationTable(const TableOptions& options, const Churn& churn);

// `slots` leaves of `size` bytes and no more: for benchmarks.
Result<GeneratedTable> UniformTable(uint32_t slots, uint64_t size, const Churn& churn);

}  // namespace remaplab

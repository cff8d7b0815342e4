#include "traces/generator/slot_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "traces/format.h"

namespace remaplab {
namespace {

constexpr uint64_t kFloat = 4;  // weights, moments and metrics are float32
constexpr uint32_t kEvaluationMetrics = 2;

struct Leaf {
  uint64_t bytes;
  uint64_t elements;  // of all shards
};

class LeafList {
 public:
  explicit LeafList(const TableOptions& options) : options_(options) {}

  void Matrix(uint64_t rows, uint64_t columns, uint64_t copies) { Add(rows, columns, copies, options_.shards); }
  void Vector(uint64_t length, uint64_t copies) { Add(length, 1, copies, 1); }

  // The weights of one layer, or of all layers stacked.
  void Layer(uint64_t copies) {
    const ModelShape& model = options_.model;
    for (int i = 0; i < 3; ++i) {
      Matrix(model.hidden, model.ffn, copies * model.experts);
    }
    if (model.experts > 1) {
      Vector(model.hidden * model.experts, copies);
    }
    Matrix(model.hidden, model.heads * model.head_dimension, copies);     // query
    Matrix(model.hidden, model.kv_heads * model.head_dimension, copies);  // key
    Matrix(model.hidden, model.kv_heads * model.head_dimension, copies);  // value
    Matrix(model.heads * model.head_dimension, model.hidden, copies);     // output
    Vector(model.hidden, copies);
    Vector(model.hidden, copies);
  }

  void Model() {
    const ModelShape& model = options_.model;
    Matrix(model.vocabulary, model.hidden, 1);
    if (!model.tied_embeddings) {
      Matrix(model.hidden, model.vocabulary, 1);
    }
    for (uint32_t layer = 0; layer < (options_.scan ? 1 : options_.layers); ++layer) {
      Layer(options_.scan ? options_.layers : 1);
    }
    Vector(model.hidden, 1);
  }

  const std::vector<Leaf>& leaves() const { return leaves_; }

  // Whether some size is beyond what a trace can say; then the leaves are incomplete.
  bool too_large() const { return too_large_; }

 private:
  void Add(uint64_t rows, uint64_t columns, uint64_t copies, uint64_t shards) {
    uint64_t area = 0;
    uint64_t elements = 0;
    if (__builtin_mul_overflow(rows, columns, &area) || __builtin_mul_overflow(area, copies, &elements) ||
        elements / shards > kLargestSize / kFloat - 1) {
      too_large_ = true;
      return;
    }
    const uint64_t bytes = (elements + shards - 1) / shards * kFloat;
    total_ += bytes;
    too_large_ = too_large_ || total_ > kLargestTable / 8;  // room for moments, copies and the temp
    leaves_.push_back({bytes, elements});
  }

  const TableOptions& options_;
  std::vector<Leaf> leaves_;
  uint64_t total_ = 0;
  bool too_large_ = false;
};

tl::unexpected<Error> TooLarge() {
  return Fail(ErrorCode::kUsage, "the model's buffers are larger than a trace can say: use more shards");
}

uint64_t ElementsOf(const std::vector<Leaf>& leaves) {
  uint64_t sum = 0;
  for (const Leaf& leaf : leaves) {
    sum += leaf.elements;
  }
  return sum;
}

// The temporary buffer, fitted to six recordings (two to twelve layers, scanned and not, 1024 tokens) within 10 %:
// bfloat16 copies of the layers' weights (scanned: float32 gradients of all layers and one more), the logits, and a
// constant per token.
uint64_t TempBytes(const TableOptions& options) {
  const ModelShape& model = options.model;
  LeafList layer(options);
  layer.Layer(1);
  uint64_t bytes = 0;
  for (const Leaf& leaf : layer.leaves()) {
    bytes += leaf.bytes;
  }
  const uint64_t tokens = options.batch * options.sequence;
  const uint64_t weights = options.scan ? bytes * (options.layers + 1) : bytes * options.layers / 2;
  constexpr uint64_t kPerToken = 72 * 1024;
  return weights + tokens * model.vocabulary * kFloat + tokens * kPerToken;
}

// Gathers slots, then numbers them.
class TableMaker {
 public:
  void Add(uint64_t size, SlotKind kind, Access access, SlotRole role, uint32_t number) {
    TraceSlot slot;
    slot.size = size;
    slot.kind = kind;
    slot.access = access;
    slot.in_command_buffer = Tristate::kYes;
    table_.slots.push_back({slot, role, number});
  }

  // A leaf of the training state: one slot when donated, else the new value's and the old one's.
  void State(uint64_t size, bool donated) {
    const uint32_t number = table_.leaves++;
    if (donated) {
      Add(size, SlotKind::kParameter, Access::kBoth, SlotRole::kState, number);
    } else {
      Add(size, SlotKind::kOutput, Access::kWrite, SlotRole::kNewState, number);
      Add(size, SlotKind::kParameter, Access::kRead, SlotRole::kState, number);
    }
  }

  Result<GeneratedTable> Finish(uint64_t parameters, uint32_t commands) {
    table_.parameters = parameters;
    table_.commands = commands;
    Number();
    uint64_t total = 0;
    for (const GeneratedSlot& slot : table_.slots) {
      if (slot.slot.size > kLargestSize || (total += slot.slot.size) > kLargestTable) {
        return TooLarge();
      }
    }
    return std::move(table_);
  }

 private:
  // By falling size, new state before old and otherwise as added; the temp last; numbers missing as in the recordings:
  // behind the pointer table about half as many as there are leaves, before the temp about three times as many.
  void Number() {
    const auto order = [](const GeneratedSlot& slot) {
      return std::pair(slot.role == SlotRole::kTemp, ~slot.slot.size);
    };
    const auto late = [](const GeneratedSlot& slot) { return slot.role != SlotRole::kNewState; };
    std::stable_sort(table_.slots.begin(), table_.slots.end(), [&](const GeneratedSlot& a, const GeneratedSlot& b) {
      return std::tuple(order(a), late(a)) < std::tuple(order(b), late(b));
    });
    uint32_t index = 0;
    for (GeneratedSlot& slot : table_.slots) {
      if (slot.role == SlotRole::kTemp) {
        index += table_.leaves * 3;
      }
      slot.slot.index = index++;
      if (slot.role == SlotRole::kTuple) {
        index += table_.leaves / 2;
      }
    }
  }

  GeneratedTable table_;
};

constexpr uint64_t kPointer = 8;

void AddInputs(TableMaker& maker, const TableOptions& options, const Churn& churn) {
  // One plain batch holds inputs and targets, shifted by one; MaxText's arrays are separate.
  const uint64_t length = options.style == TrainingStyle::kPlain ? options.sequence + 1 : options.sequence;
  for (uint32_t i = 0; i < std::max(churn.inputs, 1u); ++i) {
    maker.Add(options.batch * length * 4, SlotKind::kParameter, Access::kRead, SlotRole::kInput, i);
  }
}

void AddTuple(TableMaker& maker, uint64_t outputs) {
  if (outputs > 0) {
    maker.Add(outputs * kPointer, SlotKind::kOutput, Access::kWrite, SlotRole::kTuple, 0);
  }
}

void AddMetrics(TableMaker& maker, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) {
    maker.Add(kFloat, SlotKind::kOutput, Access::kWrite, SlotRole::kMetric, i);
  }
}

uint32_t Commands(const TableOptions& options) {
  // 993 in the recorded unscanned step of eight layers.
  return options.scan ? 153 : 33 + 120 * options.layers;
}

Result<std::vector<Leaf>> WeightsOf(const TableOptions& options) {
  constexpr uint64_t kMostLayers = 100'000;
  constexpr uint64_t kMostTokens = uint64_t{1} << 24;
  if (options.layers == 0 || options.layers > kMostLayers) {
    return Fail(ErrorCode::kUsage, fmt::format("layers: {} is not from 1 to {}", options.layers, kMostLayers));
  }
  if (options.shards == 0) {
    return Fail(ErrorCode::kUsage, "shards: must be above 0");
  }
  if (options.batch == 0 || options.sequence == 0 || options.batch > kMostTokens / options.sequence) {
    return Fail(ErrorCode::kUsage, fmt::format("batch {} x sequence {} is not from 1 to {} tokens", options.batch,
                                               options.sequence, kMostTokens));
  }
  LeafList list(options);
  list.Model();
  if (list.too_large()) {
    return TooLarge();
  }
  return list.leaves();
}

}  // namespace

Result<GeneratedTable> TrainingTable(const TableOptions& options, const Churn& churn) {
  REMAPLAB_ASSIGN(const std::vector<Leaf> weights, WeightsOf(options));
  TableMaker maker;
  uint32_t leaves = 0;
  for (int copy = 0; copy < 3; ++copy) {  // the weight and its two moments
    for (const Leaf& leaf : weights) {
      maker.State(leaf.bytes, churn.donated);
      ++leaves;
    }
  }
  AddInputs(maker, options, churn);
  for (uint32_t i = 0; i < std::min(churn.aliases, leaves); ++i) {
    maker.Add(weights[i % weights.size()].bytes, SlotKind::kParameter, Access::kRead, SlotRole::kAlias, i);
  }
  const uint32_t random_states = options.style == TrainingStyle::kMaxText ? 6 * options.layers + 6 : 0;
  const uint32_t counters = options.style == TrainingStyle::kMaxText ? random_states + 3 : 1;
  for (uint32_t i = 0; i < random_states; ++i) {
    maker.State(16, churn.donated);
  }
  // Scalars in the recorded order: MaxText's first two metrics stand between its counters.
  const uint32_t early = options.style == TrainingStyle::kMaxText ? std::min(churn.metrics, 2u) : 0;
  for (uint32_t i = 0; i < counters; ++i) {
    if (i == early) {
      AddMetrics(maker, 0, early);
    }
    maker.State(kFloat, churn.donated);
  }
  AddMetrics(maker, early, churn.metrics);
  AddTuple(maker, leaves + random_states + counters + churn.metrics);
  maker.Add(TempBytes(options), SlotKind::kTemp, Access::kBoth, SlotRole::kTemp, 0);
  return maker.Finish(ElementsOf(weights), Commands(options));
}

Result<GeneratedTable> EvaluationTable(const TableOptions& options, const Churn& churn) {
  REMAPLAB_ASSIGN(const std::vector<Leaf> weights, WeightsOf(options));
  TableMaker maker;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    maker.Add(weights[i].bytes, SlotKind::kParameter, Access::kRead, SlotRole::kState, i);
  }
  AddInputs(maker, options, churn);
  AddMetrics(maker, 0, kEvaluationMetrics);
  AddTuple(maker, kEvaluationMetrics);
  maker.Add(TempBytes(options) / 4, SlotKind::kTemp, Access::kBoth, SlotRole::kTemp, 0);
  return maker.Finish(ElementsOf(weights), Commands(options) / 3);
}

Result<GeneratedTable> UniformTable(uint32_t slots, uint64_t size, const Churn& churn) {
  if (slots == 0 || size == 0) {
    return Fail(ErrorCode::kUsage, "slots and their size must be above 0");
  }
  TableMaker maker;
  for (uint32_t i = 0; i < slots; ++i) {
    maker.State(size, churn.donated);
  }
  return maker.Finish(0, slots);
}

}  // namespace remaplab

// Whole training runs, made up: slot tables from real models' shapes, memory from a modelled allocator, and a training
// loop that allocates and frees as the recorded ones do. The same options give the same bytes on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "traces/allocator/policy.h"
#include "traces/generator/churn.h"
#include "traces/generator/slot_table.h"
#include "traces/trace.h"
#include "traces/writer.h"

namespace remaplab {

struct GeneratorOptions {
  TableOptions table;  // layers 0: the model's own number
  // Instead of a model: so many state leaves of one size, without inputs, outputs and temp.
  struct Uniform {
    uint32_t slots = 0;
    uint64_t size = 0;
  };
  std::optional<Uniform> uniform;
  uint64_t steps = 30;
  Churn churn;
  AllocatorPolicy allocator = AllocatorPolicy::kFifo;  // not kRecorded
  uint64_t granularity = 2097152;                      // of VMM policies
  uint64_t seed = 1;
};

// kUsage for options that mean nothing; kIo from the file.
Status GenerateTraceFile(const GeneratorOptions& options, const std::string& path);
Result<Trace> GenerateTrace(const GeneratorOptions& options);

}  // namespace remaplab

#include "traces/generator/generator.h"

#include <utility>

#include "base/json_writer.h"
#include "traces/generator/training_run.h"
#include "traces/reader.h"

namespace remaplab {
namespace {

TraceHeader HeaderOf(const GeneratorOptions& options) {
  const TableOptions& table = options.table;
  JsonWriter meta;
  meta.BeginObject();
  if (options.uniform) {
    meta.Key("slots").UInt(options.uniform->slots).Key("size").UInt(options.uniform->size);
  } else {
    meta.Key("model").String(table.model.name).Key("layers").UInt(table.layers).Key("shards").UInt(table.shards);
    meta.Key("scan").Bool(table.scan).Key("batch").UInt(table.batch).Key("sequence").UInt(table.sequence);
    meta.Key("style").String(table.style == TrainingStyle::kMaxText ? "maxtext" : "plain");
  }
  meta.Key("churn").String(ChurnText(options.churn)).Key("seed").UInt(options.seed).EndObject();
  TraceHeader header;
  header.source = "generator";
  header.tool = "remaplab";
  header.allocator = options.allocator == AllocatorPolicy::kFifo ? "vmm" : Name(options.allocator);
  header.granularity = IsArena(options.allocator) ? 0 : options.granularity;
  header.meta_json = meta.TakeText();
  return header;
}

// Options with every default filled in, and the tables that they mean.
struct Plan {
  GeneratorOptions options;
  GeneratedTable training;
  std::optional<GeneratedTable> evaluation;
};

Result<Plan> MakePlan(GeneratorOptions options) {
  if (options.steps == 0) {
    return Fail(ErrorCode::kUsage, "a trace has at least one step");
  }
  if (options.allocator == AllocatorPolicy::kRecorded) {
    return Fail(ErrorCode::kUsage, "there is no recording whose allocator could decide");
  }
  if (options.granularity == 0) {
    return Fail(ErrorCode::kUsage, "the granularity must be above 0");
  }
  if (options.table.layers == 0) {
    options.table.layers = options.table.model.layers;
  }
  Plan plan{options, {}, {}};
  if (options.uniform) {
    REMAPLAB_ASSIGN(plan.training, UniformTable(options.uniform->slots, options.uniform->size, options.churn));
    return plan;
  }
  REMAPLAB_ASSIGN(plan.training, TrainingTable(options.table, options.churn));
  if (options.churn.evaluate > 0) {
    REMAPLAB_ASSIGN(plan.evaluation, EvaluationTable(options.table, options.churn));
  }
  return plan;
}

TraceEnd Write(const Plan& plan, TraceWriter& writer) {
  TrainingRun run(plan.options, plan.training, plan.evaluation, writer);
  run.Run();
  TraceEnd end;
  end.identity = IsArena(plan.options.allocator) ? TraceIdentity::kAddress : TraceIdentity::kBacking;
  return end;
}

}  // namespace

Status GenerateTraceFile(const GeneratorOptions& options, const std::string& path) {
  REMAPLAB_ASSIGN(const Plan plan, MakePlan(options));
  REMAPLAB_ASSIGN(TraceWriter writer, TraceWriter::Create(path, HeaderOf(plan.options)));
  const TraceEnd end = Write(plan, writer);
  return writer.Finish(end);
}

Result<Trace> GenerateTrace(const GeneratorOptions& options) {
  REMAPLAB_ASSIGN(const Plan plan, MakePlan(options));
  TraceWriter writer = TraceWriter::InMemory(HeaderOf(plan.options));
  const TraceEnd end = Write(plan, writer);
  return ParseTrace(writer.FinishText(end), "generated trace");
}

}  // namespace remaplab

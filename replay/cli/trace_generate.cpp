// remaplab trace generate: training runs that nobody ran.
#include <fmt/format.h>

#include "base/parse.h"
#include "replay/cli/trace_verbs.h"
#include "traces/generator/generator.h"

namespace remaplab::cli {
namespace {

// Reads an unsigned option into `value` if it is given; 0 and what does not fit are refused.
template <typename Number>
Status ReadCount(const Arguments& arguments, const std::string& name, Number& value) {
  if (!arguments.Has(name)) {
    return {};
  }
  REMAPLAB_ASSIGN(const uint64_t number, ParseUInt(arguments.Get(name), "--" + name));
  if (number == 0 || number > std::numeric_limits<Number>::max()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("--{}: {} is not from 1 to {}", name, number, std::numeric_limits<Number>::max()));
  }
  value = static_cast<Number>(number);
  return {};
}

// What the recordings of that style show.
Churn UsualChurn(TrainingStyle style) {
  Churn churn;
  if (style == TrainingStyle::kMaxText) {
    churn.metrics = 11;
    churn.inputs = 5;
    churn.scratch = 30;
  }
  return churn;
}

Result<AllocatorPolicy> ReadAllocator(const Arguments& arguments) {
  if (!arguments.Has("allocator") || arguments.Get("allocator") == "vmm") {
    return AllocatorPolicy::kFifo;
  }
  return ParseAllocatorPolicy(arguments.Get("allocator"));
}

Status ReadTable(const Arguments& arguments, TableOptions& table) {
  REMAPLAB_ASSIGN(table.model, FindModelShape(arguments.Get("model")));
  if (arguments.Has("shape")) {
    REMAPLAB_TRY(ApplyShape(arguments.Get("shape"), table.model));
  }
  REMAPLAB_TRY(ReadCount(arguments, "layers", table.layers));
  REMAPLAB_TRY(ReadCount(arguments, "shards", table.shards));
  REMAPLAB_TRY(ReadCount(arguments, "batch", table.batch));
  REMAPLAB_TRY(ReadCount(arguments, "sequence", table.sequence));
  if (arguments.On("scan") && arguments.On("unscanned")) {
    return Fail(ErrorCode::kUsage, "--scan and --unscanned exclude each other");
  }
  table.scan = arguments.On("scan");
  const std::string& style = arguments.Get("style");
  if (style != "plain" && style != "maxtext") {
    return Fail(ErrorCode::kUsage, fmt::format("--style: '{}' is not one of plain, maxtext", style));
  }
  table.style = style == "maxtext" ? TrainingStyle::kMaxText : TrainingStyle::kPlain;
  return {};
}

Result<GeneratorOptions> ReadOptions(const Arguments& arguments) {
  GeneratorOptions options;
  REMAPLAB_TRY(ReadTable(arguments, options.table));
  options.churn = UsualChurn(options.table.style);
  if (arguments.Has("slots")) {
    options.uniform = GeneratorOptions::Uniform{};
    options.churn = Churn{};
    REMAPLAB_TRY(ApplyChurn("steady", options.churn));
    REMAPLAB_TRY(ReadCount(arguments, "slots", options.uniform->slots));
    REMAPLAB_ASSIGN(options.uniform->size, ParseBytes(arguments.Get("slot-size"), "--slot-size"));
  }
  if (arguments.Has("churn")) {
    REMAPLAB_TRY(ApplyChurn(arguments.Get("churn"), options.churn));
  }
  REMAPLAB_TRY(ReadCount(arguments, "steps", options.steps));
  REMAPLAB_ASSIGN(options.allocator, ReadAllocator(arguments));
  if (arguments.Has("granularity")) {
    REMAPLAB_ASSIGN(options.granularity, ParseBytes(arguments.Get("granularity"), "--granularity"));
  }
  REMAPLAB_ASSIGN(options.seed, ParseUInt(arguments.Get("seed"), "--seed"));
  return options;
}

std::string ModelNames() {
  std::string names;
  for (const ModelShape& shape : ModelShapes()) {
    names += (names.empty() ? "" : ", ") + std::string(shape.name);
  }
  return names;
}

}  // namespace

void DeclareGenerateOptions(po::options_description_easy_init& add) {
  static const std::string models = "generate: " + ModelNames();
  add("model", po::value<std::string>()->default_value("custom"), models.c_str());
  add("shape", po::value<std::string>(),
      "generate: changes the model: "
      "hidden=512,ffn=1408,vocabulary=2048,heads=8,kv_heads=8,head_dimension=64,experts=1");
  add("slots", po::value<std::string>(), "generate: instead of a model, so many equal slots");
  add("slot-size", po::value<std::string>()->default_value("2MiB"), "generate: their size");
  add("layers", po::value<std::string>(), "generate: default: the model's own");
  add("shards", po::value<std::string>(), "generate: devices that share the weights (FSDP); default: 1");
  add("scan", po::bool_switch(), "generate: layers in one loop, stacked weights");
  add("unscanned", po::bool_switch(), "generate: a slot for every layer's weight (default)");
  add("style", po::value<std::string>()->default_value("plain"), "generate: plain, or maxtext with its random states");
  add("batch", po::value<std::string>(), "generate: sequences per device; default: 2");
  add("sequence", po::value<std::string>(), "generate: tokens per sequence; default: 512");
  add("steps", po::value<std::string>(), "generate: default: 30");
  add("churn", po::value<std::string>(),
      "generate: what moves: donated, undonated, steady, metrics=N, generations=N, inputs=N, prefetch=N, scratch=N, "
      "moves=N, aliases=N, evaluate=N, checkpoint=N, pressure=N; default: as recorded for the style");
  add("seed", po::value<std::string>()->default_value("1"), "generate: the same seed gives the same bytes");
}

Result<int> TraceGenerateVerb(const Arguments& arguments) {
  if (!arguments.Has("output")) {
    return Fail(ErrorCode::kUsage, "generate: -o FILE is missing");
  }
  REMAPLAB_ASSIGN(const GeneratorOptions options, ReadOptions(arguments));
  REMAPLAB_TRY(GenerateTraceFile(options, arguments.Get("output")));
  return kOk;
}

}  // namespace remaplab::cli

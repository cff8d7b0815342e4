// remaplab recommend: which strategy, what it saves, what it costs, and the flags that give it.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>

#include "analysis/recommend.h"
#include "base/human.h"
#include "base/json_writer.h"
#include "base/parse.h"
#include "replay/cli/commands.h"
#include "replay/cli/interrupt.h"
#include "replay/cli/table.h"
#include "replay/cli/trial_replay.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  const auto text = [] { return po::value<std::string>(); };
  add("jaxlib", text(), "flags for this jaxlib, e.g. 0.11.2, or pr1001 (the ROCm/xla pull request); default: all");
  add("platform", text()->default_value("cuda"), "cuda or rocm");
  add("memory-budget", text(), "most memory that shadows and retained buffers may hold, e.g. 512MiB");
  add("program,p", text(), "only this program: its number or module name");
  add("strategy,s", po::value<std::vector<std::string>>()->composing(), "choose among these; default: all there are");
  add("cost-profile", text()->default_value("h200"), "TRACE: what calls cost: a name, or a profile file");
  add("driver-profile", text()->default_value("cuda"), "TRACE: what the driver accepts");
  add("devices", text()->default_value("1"), "TRACE: how many devices get access to a mapping");
  add("gpu-step", text(), "TRACE: GPU time of a step, e.g. 552ms; default: from the trace");
  add("format,f", text()->default_value("table"), "table, json or markdown");
}

bool IsStore(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  std::array<char, 15> start{};
  return file != nullptr && std::fread(start.data(), 1, start.size(), file.get()) == start.size() &&
         std::string_view(start.data(), start.size()) == "SQLite format 3";
}

Result<TrialOptions> ReadTrialOptions(const Arguments& arguments) {
  TrialOptions options;
  BackendOptions& backend = options.replay.backend_options;
  backend.cost_profile = arguments.Get("cost-profile");
  backend.driver_profile = arguments.Get("driver-profile");
  REMAPLAB_ASSIGN(const uint64_t devices, ParseUInt(arguments.Get("devices"), "--devices"));
  if (devices == 0 || devices > 1024) {
    return Fail(ErrorCode::kUsage, fmt::format("--devices {} is not between 1 and 1024", devices));
  }
  backend.devices = static_cast<uint32_t>(devices);
  if (arguments.Has("gpu-step")) {
    REMAPLAB_ASSIGN(options.replay.gpu_step_ns, ParseDuration(arguments.Get("gpu-step"), "--gpu-step"));
  }
  options.replay.stop = &InterruptFlag();
  options.strategies = arguments.GetAll("strategy");
  options.program = arguments.Has("program") ? arguments.Get("program") : std::string();
  options.command_line = arguments.command_line;
  return options;
}

struct Loaded {
  std::vector<RunRecord> runs;
  ProfileErrors errors;
};

Result<Loaded> Load(const std::string& path, const RunSelection& selection) {
  REMAPLAB_ASSIGN(Store store, Store::OpenForReading(path));
  Loaded loaded;
  REMAPLAB_ASSIGN(loaded.runs, LoadRuns(store, selection));
  REMAPLAB_ASSIGN(loaded.errors, LoadProfileErrors(store));
  if (loaded.runs.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("{} has no finished run to advise from", path));
  }
  return loaded;
}

Result<Loaded> LoadOrReplay(const Arguments& arguments) {
  const std::string& path = arguments.positional[0];
  if (IsStore(path)) {
    RunSelection selection;
    selection.strategies = arguments.GetAll("strategy");
    if (arguments.Has("program")) {
      selection.programs = {arguments.Get("program")};
    }
    return Load(path, selection);
  }
  REMAPLAB_ASSIGN(const TrialOptions options, ReadTrialOptions(arguments));
  REMAPLAB_ASSIGN(const ScratchDirectory scratch, ScratchDirectory::Make());
  const std::string store = scratch.path() + "/trials.sqlite";
  REMAPLAB_TRY(RunTrials(path, options, store));
  return Load(store, {});
}

std::string SavingText(const Saving& saving) {
  return saving.uncertainty ? fmt::format("{} \u00b1 {}", HumanTime(saving.ns), HumanTime(*saving.uncertainty))
                            : HumanTime(saving.ns);
}

std::string Standing(const Recommendation& advice, size_t i) {
  const StrategyAssessment& strategy = advice.strategies[i];
  if (advice.best == i) {
    return "recommended";
  }
  return !strategy.unsafe.empty() ? "not safe: " + strategy.unsafe : strategy.within_budget ? "" : "over the budget";
}

Table StrategyTable(const Recommendation& advice) {
  Table table{{"strategy", "step", "the recommended saves", "shadow", "retained", "address space", "command buffers",
               "calls per step", ""},
              {}};
  for (size_t i = 0; i < advice.strategies.size(); ++i) {
    const StrategyAssessment& strategy = advice.strategies[i];
    const RunRecord& run = strategy.run;
    table.rows.push_back({run.strategy, Cell::Number(HumanTime(strategy.step_ns)),
                          Cell::Number(advice.best ? SavingText(strategy.saving_of_best) : ""),
                          Cell::Number(HumanBytes(static_cast<uint64_t>(run.shadow_bytes))),
                          Cell::Number(HumanBytes(static_cast<uint64_t>(run.retained_bytes))),
                          Cell::Number(HumanBytes(static_cast<uint64_t>(run.peak_reserved))), run.command_buffers,
                          Cell::Number(fmt::format("{:.1f}", static_cast<double>(run.calls_in_steps()) /
                                                                 static_cast<double>(std::max<int64_t>(1, run.steps)))),
                          Standing(advice, i)});
  }
  return table;
}

Table FlagTable(const std::vector<XlaAvailability>& rows, std::optional<size_t> only) {
  Table table{{"jaxlib", "XLA_FLAGS", ""}, {}};
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!only || *only == i) {
      const XlaAvailability& row = rows[i];
      table.rows.push_back(
          {row.releases, row.available ? row.flags.empty() ? "(none needed)" : row.flags : "-", row.note});
    }
  }
  return table;
}

std::string ToText(const Recommendation& advice, const RecommendOptions& options, Format format) {
  std::string text = fmt::format("{}{}\n{}\n\n{}\n", format == Format::kMarkdown ? "### " : "", advice.what,
                                 advice.headline, StrategyTable(advice).Render(format));
  if (advice.best) {
    const StrategyAssessment& best = advice.strategies[*advice.best];
    const Saving& saving = advice.strategies[advice.reference].saving_of_best;
    if (!saving.basis.empty()) {
      text += fmt::format("Uncertainty of the saving: {}.\n\n", saving.basis);
    }
    text += fmt::format("How to get {} on {}:\n\n{}\n", best.run.strategy, Name(options.platform),
                        FlagTable(advice.flags, options.xla_row).Render(format));
    if (advice.best_available && advice.best_available != advice.best) {
      const StrategyAssessment& available = advice.strategies[*advice.best_available];
      text +=
          fmt::format("The best that this jaxlib has is {} ({} per step):\n\n{}\n", available.run.strategy,
                      HumanTime(available.step_ns), FlagTable(advice.available_flags, options.xla_row).Render(format));
    }
  }
  for (const std::string& caveat : advice.caveats) {
    text += fmt::format("{}{}\n", format == Format::kMarkdown ? "- note: " : "note: ", caveat);
  }
  return text;
}

void WriteMaybe(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  json.Key(key);
  value ? json.Double(*value) : json.Null();
}

void WriteStrategy(JsonWriter& json, const Recommendation& advice, size_t i) {
  const StrategyAssessment& strategy = advice.strategies[i];
  const RunRecord& run = strategy.run;
  json.BeginObject().Key("strategy").String(run.strategy).Key("resolved").String(run.resolved);
  json.Key("run").String(run.uuid).Key("runs").UInt(strategy.runs).Key("step_ns").Double(strategy.step_ns);
  json.Key("safe").Bool(strategy.unsafe.empty()).Key("unsafe_because").String(strategy.unsafe);
  json.Key("within_budget").Bool(strategy.within_budget);
  json.Key("saved_ns").Double(strategy.saving_of_best.ns);
  WriteMaybe(json, "saved_ns_uncertainty", strategy.saving_of_best.uncertainty);
  json.Key("uncertainty_basis").String(strategy.saving_of_best.basis);
  json.Key("memory")
      .BeginObject()
      .Key("shadow_bytes")
      .Int(run.shadow_bytes)
      .Key("retained_bytes")
      .Int(run.retained_bytes);
  json.Key("peak_reserved")
      .Int(run.peak_reserved)
      .Key("command_buffers")
      .Int(run.command_buffers)
      .EndObject()
      .EndObject();
}

void WriteFlags(JsonWriter& json, std::string_view key, const std::vector<XlaAvailability>& rows,
                std::optional<size_t> only) {
  json.Key(key).BeginArray();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!only || *only == i) {
      json.BeginObject().Key("jaxlib").String(rows[i].releases).Key("available").Bool(rows[i].available);
      json.Key("flags").String(rows[i].flags).Key("note").String(rows[i].note).EndObject();
    }
  }
  json.EndArray();
}

std::string ToJson(const std::vector<Recommendation>& all, const RecommendOptions& options) {
  JsonWriter json;
  json.BeginObject().Key("recommendations").BeginArray();
  for (const Recommendation& advice : all) {
    json.BeginObject().Key("what").String(advice.what).Key("headline").String(advice.headline).Key("best");
    advice.best ? json.String(advice.strategies[*advice.best].run.strategy) : json.Null();
    json.Key("reference").String(advice.strategies[advice.reference].run.strategy).Key("best_available");
    advice.best_available ? json.String(advice.strategies[*advice.best_available].run.strategy) : json.Null();
    WriteMaybe(json, "oracle_step_ns", advice.oracle_step_ns);
    json.Key("strategies").BeginArray();
    for (size_t i = 0; i < advice.strategies.size(); ++i) {
      WriteStrategy(json, advice, i);
    }
    json.EndArray();
    WriteFlags(json, "flags", advice.flags, options.xla_row);
    WriteFlags(json, "available_flags", advice.available_flags, options.xla_row);
    json.Key("notes").BeginArray();
    for (const std::string& caveat : advice.caveats) {
      json.String(caveat);
    }
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().TakeText() + "\n";
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  if (format == Format::kCsv) {
    return Fail(ErrorCode::kUsage, "--format: advice is table, json or markdown");
  }
  RecommendOptions options;
  REMAPLAB_ASSIGN(options.platform, ParseXlaPlatform(arguments.Get("platform")));
  if (arguments.Has("jaxlib")) {
    REMAPLAB_ASSIGN(options.xla_row, XlaRowOf(arguments.Get("jaxlib")));
  }
  if (arguments.Has("memory-budget")) {
    REMAPLAB_ASSIGN(options.memory_budget, ParseBytes(arguments.Get("memory-budget"), "--memory-budget"));
  }
  REMAPLAB_ASSIGN(const Loaded loaded, LoadOrReplay(arguments));
  const std::vector<Recommendation> all = Recommend(loaded.runs, loaded.errors, options);
  if (format == Format::kJson) {
    REMAPLAB_TRY(Print(ToJson(all, options)));
    return kOk;
  }
  std::string text;
  for (const Recommendation& advice : all) {
    text += (text.empty() ? "" : "\n") + ToText(advice, options, format);
  }
  REMAPLAB_TRY(Print(text));
  return kOk;
}

}  // namespace

const Command kRecommendCommand = {
    .name = "recommend",
    .summary = "the best safe strategy, what it saves and costs, and the XLA flags that give it",
    .positional = "STORE|TRACE",
    .example =
        "  remaplab recommend run.remaptrace.zst --program jit_train_step --jaxlib 0.11.2\n"
        "  replays the trace under every strategy on the simulator and says what to set\n"
        "  remaplab recommend results.sqlite --platform rocm --memory-budget 1GiB\n"
        "  advises from runs that are there, measured ones included",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli

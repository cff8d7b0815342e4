#include "replay/sweep/plan.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "backends/profiles/cost_profile.h"
#include "base/json_writer.h"
#include "base/parse.h"
#include "engine/strategy_text.h"
#include "traces/reader.h"

namespace remaplab {
namespace {

constexpr std::string_view kPlaceholder = "{threshold}";
constexpr std::string_view kBlanks = " \t\r";

constexpr std::array kWords = {
    PlanWord{"trace", "a .remaptrace file; may be repeated"},
    PlanWord{"program", "only this program: its id or module name; default: all, each a cell of its own"},
    PlanWord{"strategy", "a strategy; may be repeated, and may say {threshold}"},
    PlanWord{"threshold", "bytes that {threshold} stands for; may be repeated"},
    PlanWord{"repetitions", "how many times each cell is run"},
    PlanWord{"campaign", "a word that tells sweeps of the same plan apart"},
};

std::string HashText(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

const ReplayFlag* FindFlag(std::string_view name) {
  const std::span<const ReplayFlag> flags = ReplayFlagTable();
  const auto found =
      std::find_if(flags.begin(), flags.end(), [&](const ReplayFlag& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

bool IsWord(std::string_view name) {
  return FindFlag(name) != nullptr ||
         std::any_of(kWords.begin(), kWords.end(), [&](const PlanWord& word) { return word.name == name; });
}

bool NamesFile(std::string_view word, std::string_view value) {
  return word == "trace" ||
         (word == "cost-profile" && (value.find('/') != std::string_view::npos || value.ends_with(".json")));
}

std::vector<std::string> Take(ReplayFlags& words, std::string_view name) {
  const auto found = words.find(name);
  return found == words.end() ? std::vector<std::string>() : std::move(words.extract(found).mapped());
}

Result<std::string> TakeOne(ReplayFlags& words, std::string_view name) {
  std::vector<std::string> values = Take(words, name);
  if (values.size() > 1) {
    return Fail(ErrorCode::kUsage, fmt::format("{} is given {} times", name, values.size()));
  }
  return values.empty() ? std::string() : std::move(values[0]);
}

// Strategies with every threshold put in, in canonical spelling.
Result<std::vector<std::string>> ExpandStrategies(const SweepPlan& plan) {
  std::vector<std::string> expanded;
  bool used = false;
  for (const std::string& strategy : plan.strategies) {
    const size_t place = strategy.find(kPlaceholder);
    if (place == std::string::npos) {
      expanded.push_back(strategy);
      continue;
    }
    used = true;
    for (const std::string& threshold : plan.thresholds) {
      expanded.push_back(std::string(strategy).replace(place, kPlaceholder.size(), threshold));
    }
  }
  if (used && plan.thresholds.empty()) {
    return Fail(ErrorCode::kUsage, "a strategy says {threshold}, but no threshold is given");
  }
  if (!used && !plan.thresholds.empty()) {
    return Fail(ErrorCode::kUsage,
                "thresholds are given, but no strategy says {threshold}, e.g. copy_shadow(threshold={threshold})");
  }
  for (std::string& strategy : expanded) {
    REMAPLAB_ASSIGN(const std::vector<StrategyTerm> terms, ParseStrategyText(strategy));
    strategy = StrategyTextOf(terms);
  }
  return expanded;
}

// Every combination of the axes' values, the table's first flag outermost. Flags that a backend has no ear for are no
// axis there.
std::vector<ReplayFlags> CombineFlags(const ReplayFlags& flags) {
  std::vector<ReplayFlags> combinations = {{}};
  for (const ReplayFlag& flag : ReplayFlagTable()) {
    const auto found = flags.find(flag.name);
    if (found == flags.end()) {
      continue;
    }
    std::vector<ReplayFlags> next;
    for (const ReplayFlags& combination : combinations) {
      const auto backend = combination.find("backend");
      const bool sim = backend == combination.end() || backend->second[0] == "sim";
      if (flag.scope == ReplayFlag::Scope::kSim && !sim) {
        next.push_back(combination);
        continue;
      }
      if (flag.list) {
        next.push_back(combination);
        next.back()[found->first] = found->second;
        continue;
      }
      for (const std::string& value : found->second) {
        next.push_back(combination);
        next.back()[found->first] = {value};
      }
    }
    combinations = std::move(next);
  }
  return combinations;
}

// What makes a run what it is, one fact a line. A flag at its unset value says nothing, so that keys outlive new flags;
// what a cost profile holds counts, and not only its name.
Result<std::string> DescribeFlags(const ReplayFlags& flags) {
  std::string text;
  for (const auto& [name, values] : flags) {
    const ReplayFlag* flag = FindFlag(name);
    for (const std::string& value : values) {
      if (flag->list || flag->unset == nullptr || value != flag->unset) {
        text += fmt::format("{}={}\n", name, value);
      }
    }
  }
  const auto backend = flags.find("backend");
  if (backend == flags.end() || backend->second[0] == "sim") {
    const auto named = flags.find("cost-profile");
    REMAPLAB_ASSIGN(const CostProfile profile,
                    LoadCostProfile(named == flags.end() ? FindFlag("cost-profile")->unset : named->second[0]));
    text += fmt::format("costs={}\n", HashText(CostProfileToJson(profile)));
  }
  return text;
}

// 32 hex digits as a UUID (version 8: made by its own rule).
std::string UuidOf(std::string digits) {
  digits[12] = '8';
  digits[16] = "89ab"[static_cast<size_t>(digits[16]) % 4];
  for (const size_t place : {size_t{20}, size_t{16}, size_t{12}, size_t{8}}) {
    digits.insert(place, "-");
  }
  return digits;
}

std::string PlanToJson(const SweepPlan& plan, const SweepGrid& grid, uint32_t shards) {
  JsonWriter json;
  json.BeginObject().Key("name").String(plan.name).Key("plan_hash").String(grid.plan_hash);
  json.Key("shards").UInt(shards).Key("repetitions").UInt(plan.repetitions);
  const auto list = [&json](std::string_view name, std::span<const std::string> values) {
    json.Key(name).BeginArray();
    for (const std::string& value : values) {
      json.String(value);
    }
    json.EndArray();
  };
  json.Key("traces").BeginArray();
  for (const SweepTrace& trace : grid.traces) {
    json.BeginObject().Key("name").String(std::filesystem::path(trace.path).filename().string());
    json.Key("xxh3").String(trace.xxh3).EndObject();
  }
  json.EndArray();
  list("strategies", plan.strategies);
  list("thresholds", plan.thresholds);
  json.Key("flags").BeginObject();
  for (const auto& [name, values] : plan.flags) {
    list(name, values);
  }
  json.EndObject().Key("cells").BeginArray();
  for (const SweepCell& cell : grid.cells) {
    json.BeginArray().String(cell.key).UInt(ShardOf(cell, shards)).EndArray();
  }
  json.EndArray().EndObject();
  return json.TakeText();
}

// Appends the cells of one program under one combination of flags.
class CellWriter {
 public:
  CellWriter(const SweepPlan& plan, std::vector<std::string> strategies, std::vector<SweepCell>& cells)
      : plan_(plan), strategies_(std::move(strategies)), cells_(cells) {}

  Status Add(const SweepTrace& trace, size_t trace_index, size_t program_index, const ReplayFlags& flags) {
    REMAPLAB_ASSIGN(const std::string described, DescribeFlags(flags));
    const SweepTrace::Program& program = trace.programs[program_index];
    for (uint64_t repetition = 0; repetition < plan_.repetitions; ++repetition) {
      std::vector<std::string> order = strategies_;
      if (repetition % 2 == 1 && IsMeasured(flags)) {
        std::reverse(order.begin(), order.end());
      }
      for (const std::string& strategy : order) {
        SweepCell& cell = cells_.emplace_back();
        cell.trace = trace_index;
        cell.program = program_index;
        cell.strategy = strategy;
        cell.flags = flags;
        cell.repetition = repetition;
        cell.position = cells_.size() - 1;
        cell.block = block_;
        cell.key =
            HashText(fmt::format("cell 1\ntrace={}\nprogram={} {} {}\nstrategy={}\nrepetition={}\n{}", trace.xxh3,
                                 program.id, program.module, program.device, strategy, repetition, described));
        REMAPLAB_TRY(SeedRepetition(cell));
        block_ += IsMeasured(flags) ? 0 : 1;
      }
      block_ += IsMeasured(flags) ? 1 : 0;
    }
    return {};
  }

 private:
  // With jitter, repetitions differ by their seed.
  static Status SeedRepetition(SweepCell& cell) {
    if (cell.repetition == 0 || IsMeasured(cell.flags)) {
      return {};
    }
    std::vector<std::string>& seed = cell.flags["seed"];
    if (seed.empty()) {
      seed.emplace_back(FindFlag("seed")->unset);
    }
    REMAPLAB_ASSIGN(const uint64_t first, ParseUInt(seed[0], "seed"));
    seed[0] = std::to_string(first + cell.repetition);
    return {};
  }

  const SweepPlan& plan_;
  std::vector<std::string> strategies_;
  std::vector<SweepCell>& cells_;
  uint64_t block_ = 0;
};

}  // namespace

bool IsMeasured(const ReplayFlags& flags) {
  const auto backend = flags.find("backend");
  return backend != flags.end() && backend->second[0] != "sim" && backend->second[0] != "null";
}

std::span<const PlanWord> PlanWords() { return kWords; }

Result<ReplayFlags> ParsePlanFile(std::string_view text, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  ReplayFlags words;
  uint64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    const size_t blank = std::min(line.find_first_of(kBlanks), line.size());
    const std::string_view word = line.substr(0, blank);
    const std::string_view value = Trim(line.substr(blank));
    if (!IsWord(word)) {
      return Fail(ErrorCode::kInput,
                  fmt::format("{}:{}: '{}' is no word of a plan; a line is a word and its value, as the "
                              "options of remaplab sweep --help without their dashes",
                              path, number, word));
    }
    if (value.empty()) {
      return Fail(ErrorCode::kInput, fmt::format("{}:{}: {} has no value", path, number, word));
    }
    words[std::string(word)].push_back(NamesFile(word, value) ? (folder / value).string() : std::string(value));
  }
  return words;
}

Result<SweepPlan> MakeSweepPlan(ReplayFlags words) {
  SweepPlan plan;
  plan.traces = Take(words, "trace");
  plan.strategies = Take(words, "strategy");
  plan.thresholds = Take(words, "threshold");
  REMAPLAB_ASSIGN(plan.program, TakeOne(words, "program"));
  REMAPLAB_ASSIGN(plan.name, TakeOne(words, "campaign"));
  REMAPLAB_ASSIGN(const std::string repetitions, TakeOne(words, "repetitions"));
  if (!repetitions.empty()) {
    REMAPLAB_ASSIGN(plan.repetitions, ParseUInt(repetitions, "repetitions"));
  }
  if (plan.traces.empty()) {
    return Fail(ErrorCode::kUsage, "a sweep needs at least one trace");
  }
  if (plan.strategies.empty()) {
    return Fail(ErrorCode::kUsage, "a sweep needs at least one strategy");
  }
  if (plan.repetitions == 0 || plan.repetitions > 1'000'000) {
    return Fail(ErrorCode::kUsage, fmt::format("repetitions {} is not between 1 and 1000000", plan.repetitions));
  }
  for (const ReplayFlags& flags : CombineFlags(words)) {
    REMAPLAB_TRY(ParseReplayFlags(flags));
  }
  plan.flags = std::move(words);
  return plan;
}

Result<SweepTrace> IdentifyTrace(const std::string& path, std::string_view program) {
  REMAPLAB_ASSIGN(const Trace trace, LoadTrace(path));
  std::vector<ProgramSteps> programs = SplitPrograms(trace);
  if (programs.empty()) {
    return Fail(ErrorCode::kInput, fmt::format("{} has no steps", path));
  }
  if (!program.empty()) {
    Result<std::vector<ProgramSteps>> picked = PickPrograms(std::move(programs), program);
    if (!picked) {
      return Fail(std::move(picked).error().WithContext(path));
    }
    programs = *std::move(picked);
  }
  SweepTrace identity{.path = path, .xxh3 = trace.xxh3, .programs = {}};
  for (const ProgramSteps& one : programs) {
    identity.programs.push_back({one.id, one.module, one.device});
  }
  return identity;
}

Result<SweepGrid> EnumerateCells(const SweepPlan& plan, std::vector<SweepTrace> traces, uint32_t shards) {
  SweepGrid grid;
  grid.traces = std::move(traces);
  REMAPLAB_ASSIGN(std::vector<std::string> strategies, ExpandStrategies(plan));
  CellWriter writer(plan, std::move(strategies), grid.cells);
  const std::vector<ReplayFlags> combinations = CombineFlags(plan.flags);
  for (size_t trace = 0; trace < grid.traces.size(); ++trace) {
    for (size_t program = 0; program < grid.traces[trace].programs.size(); ++program) {
      for (const ReplayFlags& flags : combinations) {
        REMAPLAB_TRY(writer.Add(grid.traces[trace], trace, program, flags));
      }
    }
  }
  std::set<std::string_view> keys;
  std::string all = plan.name + "\n";
  for (const SweepCell& cell : grid.cells) {
    if (!keys.insert(cell.key).second) {
      return Fail(ErrorCode::kUsage, fmt::format("the plan has {} on {} twice; name each trace and each value once",
                                                 cell.strategy, grid.traces[cell.trace].path));
    }
    all += cell.key + "\n";
  }
  grid.plan_hash = HashText(all);
  grid.campaign.uuid = UuidOf(grid.plan_hash);
  grid.campaign.plan_json = PlanToJson(plan, grid, shards);
  return grid;
}

}  // namespace remaplab

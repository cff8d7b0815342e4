#include "analysis/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/identity.h"
#include "analysis/metrics.h"
#include "analysis/sqlite.h"
#include "analysis/statistics.h"
#include "base/json_writer.h"

namespace remaplab {
namespace {

constexpr double kDefaultFloor = 0.02;
constexpr double kMinEffect = 0.005;
constexpr double kSignificance = 0.05;
constexpr size_t kMinSelfComparisonRuns = 10;

using Side = std::vector<RunRecord>;

// Gated as integers, besides the calls of every kind. Waits are not gated: a faster host waits longer for the same GPU.
constexpr std::string_view kExactMetrics[] = {"failed_steps",        "verification_failures", "stale_mappings",
                                              "skips_on_assumption", "memory/bytes_mapped",   "memory/peak_reserved",
                                              "memory/shadow_bytes", "memory/retained_bytes", "memory/command_buffers",
                                              "step_ns/first",       "step_ns/total",         "remap_ns/total"};

std::optional<double> Ratio(double base, double cand) {
  return base != 0 ? std::optional<double>(cand / base) : std::nullopt;
}

Verdict Exact(std::string metric, int64_t base, int64_t cand) {
  Verdict verdict;
  verdict.metric = std::move(metric);
  verdict.base = static_cast<double>(base);
  verdict.cand = static_cast<double>(cand);
  verdict.ratio = Ratio(verdict.base, verdict.cand);
  verdict.result = cand > base   ? VerdictResult::kRegression
                   : cand < base ? VerdictResult::kImprovement
                                 : VerdictResult::kPass;
  if (cand != base) {
    verdict.reason = fmt::format("{} to {} ({:+})", base, cand, cand - base);
  }
  return verdict;
}

void JudgeExact(const RunRecord& base, const RunRecord& cand, std::vector<Verdict>& verdicts) {
  for (const std::string_view group : {"calls", "cleanup", "teardown"}) {
    for (const std::string_view kind : kCallKindNames) {
      std::string name = fmt::format("{}/{}", group, kind);
      const auto before = static_cast<int64_t>(*MetricValue(base, name));
      const auto after = static_cast<int64_t>(*MetricValue(cand, name));
      if (before != 0 || after != 0) {
        verdicts.push_back(Exact(std::move(name), before, after));
      }
    }
  }
  for (const std::string_view name : kExactMetrics) {
    if (IsExact(name, base.measured)) {
      verdicts.push_back(Exact(std::string(name), static_cast<int64_t>(*MetricValue(base, name)),
                               static_cast<int64_t>(*MetricValue(cand, name))));
    }
  }
}

// The process statistic of every measured metric that the run has.
std::map<std::string, double> MeasuredMetrics(const RunRecord& run) {
  std::vector<std::string> names = {"step_ns/median"};
  if (static_cast<uint64_t>(run.steps) >= kMinValuesForP99) {
    names.emplace_back("step_ns/p99");
  }
  for (const std::string_view kind : kCallKindNames) {
    // How long the CPU waits is the step's business, not the driver call's.
    if (kind == Name(CallKind::kWait)) {
      continue;
    }
    if (run.samples.contains(std::string(kind))) {
      names.push_back(fmt::format("call_ns/{}/median", kind));
      names.push_back(fmt::format("call_ns/{}/p99", kind));
    } else {
      names.push_back(fmt::format("call_ns/{}/mean", kind));
    }
  }
  std::map<std::string, double> metrics;
  for (const std::string& name : names) {
    if (const std::optional<double> value = MetricValue(run, name)) {
      metrics[name] = *value;
    }
  }
  return metrics;
}

std::map<std::string, std::vector<double>> Samples(std::span<const RunRecord> runs) {
  std::map<std::string, std::vector<double>> samples;
  for (const RunRecord& run : runs) {
    for (const auto& [metric, value] : MeasuredMetrics(run)) {
      samples[metric].push_back(value);
    }
  }
  return samples;
}

// Why the measured times of a pair cannot be compared; empty when they can.
std::string WhyInvalid(const Side& base, const Side& cand) {
  if (base.size() < kMinRunsPerSide || cand.size() < kMinRunsPerSide) {
    return fmt::format("{} and {} process runs, at least {} on each side are needed", base.size(), cand.size(),
                       kMinRunsPerSide);
  }
  for (const Side* side : {&base, &cand}) {
    for (const RunRecord& run : *side) {
      if (run.throttled) {
        return fmt::format("run {} ran with throttled clocks", run.uuid);
      }
      if (run.device_class != base.front().device_class) {
        return fmt::format("device class {} and {}", base.front().device_class, run.device_class);
      }
    }
  }
  return {};
}

double Floor(const Side& base, const Side& cand, const std::string& metric, std::span<const RunRecord> floor_runs,
             uint64_t seed) {
  std::vector<double> samples;
  for (const RunRecord& run : floor_runs) {
    if (run.tag == kSelfComparisonTag && run.host == base.front().host &&
        run.device_class == base.front().device_class &&
        ConfigurationKey(run, true) == ConfigurationKey(base.front(), true)) {
      const auto metrics = MeasuredMetrics(run);
      const auto found = metrics.find(metric);
      if (found != metrics.end()) {
        samples.push_back(found->second);
      }
    }
  }
  if (samples.size() < kMinSelfComparisonRuns) {
    return kDefaultFloor;
  }
  return std::max(kDefaultFloor, SelfComparisonFloor(samples, base.size(), cand.size(), seed));
}

void JudgeMeasured(const PairComparison& pair, std::span<const RunRecord> floor_runs, uint64_t seed,
                   std::vector<Verdict>& verdicts) {
  const std::string invalid = WhyInvalid(pair.base, pair.cand);
  auto base_samples = Samples(pair.base);
  auto cand_samples = Samples(pair.cand);
  for (auto& [metric, base] : base_samples) {
    const auto found = cand_samples.find(metric);
    if (found == cand_samples.end()) {
      continue;
    }
    std::vector<double>& cand = found->second;
    Verdict verdict;
    verdict.metric = metric;
    verdict.rule = kMeasuredRule;
    verdict.base = Median(base);
    verdict.cand = Median(cand);
    verdict.ratio = Ratio(verdict.base, verdict.cand);
    if (!invalid.empty() || base.size() < kMinRunsPerSide || cand.size() < kMinRunsPerSide || !verdict.ratio) {
      verdict.result = VerdictResult::kInvalid;
      verdict.reason = !invalid.empty() ? invalid : !verdict.ratio ? "the base is 0" : "some runs lack this metric";
    } else {
      const Interval interval = BootstrapRatio(base, cand, seed);
      verdict.low = interval.low;
      verdict.high = interval.high;
      verdict.p = MannWhitneyP(base, cand);
      verdict.floor = Floor(pair.base, pair.cand, metric, floor_runs, seed);
    }
    verdicts.push_back(std::move(verdict));
  }
}

VerdictResult Judge(const Verdict& verdict) {
  const double floor = *verdict.floor;
  const bool significant = *verdict.p < kSignificance;
  if (*verdict.low > 1 + kMinEffect && significant && *verdict.ratio > 1 + floor) {
    return VerdictResult::kRegression;
  }
  // The mirror image: the same distances, seen from the other side.
  if (1 / *verdict.high > 1 + kMinEffect && significant && 1 / *verdict.ratio > 1 + floor) {
    return VerdictResult::kImprovement;
  }
  return *verdict.low >= 1 - floor && *verdict.high <= 1 + floor ? VerdictResult::kPass : VerdictResult::kAmbiguous;
}

std::string Explain(const Verdict& verdict) {
  switch (verdict.result) {
    case VerdictResult::kPass:
      return fmt::format("the interval lies within {:.1f} %", 100 * *verdict.floor);
    case VerdictResult::kAmbiguous:
      return "neither a change nor its absence is shown; run more pairs";
    default:
      return fmt::format("{:+.2f} % (99 % interval {:+.2f} to {:+.2f} %)", 100 * (*verdict.ratio - 1),
                         100 * (*verdict.low - 1), 100 * (*verdict.high - 1));
  }
}

// Holm's correction needs all p-values of the gate, so the judgement comes after everything has been measured.
void JudgeTogether(Comparison& comparison) {
  std::vector<Verdict*> measured;
  std::vector<double> p;
  for (PairComparison& pair : comparison.pairs) {
    for (Verdict& verdict : pair.verdicts) {
      if (verdict.p) {
        measured.push_back(&verdict);
        p.push_back(*verdict.p);
      }
    }
  }
  const std::vector<double> adjusted = HolmAdjust(p);
  for (size_t i = 0; i < measured.size(); ++i) {
    measured[i]->p = adjusted[i];
    measured[i]->result = Judge(*measured[i]);
    measured[i]->reason = Explain(*measured[i]);
  }
}

Verdict Invalid(std::string metric, std::string reason) {
  Verdict verdict;
  verdict.metric = std::move(metric);
  verdict.result = VerdictResult::kInvalid;
  verdict.reason = std::move(reason);
  return verdict;
}

void JudgePair(PairComparison& pair, std::span<const RunRecord> floor_runs, uint64_t seed) {
  const RunRecord& base = pair.base.back();
  const RunRecord& cand = pair.cand.back();
  if (base.steps != cand.steps || base.slots != cand.slots) {
    pair.verdicts.push_back(Invalid("steps", fmt::format("{} steps of {} slots and {} steps of {} slots", base.steps,
                                                         base.slots, cand.steps, cand.slots)));
    return;
  }
  if (base.cost_profile_params != cand.cost_profile_params) {
    pair.verdicts.push_back(
        Invalid("cost_profile", fmt::format("the content of cost profile {} differs", base.cost_profile)));
    return;
  }
  JudgeExact(base, cand, pair.verdicts);
  if (base.measured) {
    JudgeMeasured(pair, floor_runs, seed, pair.verdicts);
  }
}

// The runs that stand for a configuration.
Side Representatives(Side runs) {
  std::optional<int64_t> accepted;
  for (const RunRecord& run : runs) {
    accepted = std::max(accepted, run.accepted);
  }
  if (accepted) {
    std::erase_if(runs, [&](const RunRecord& run) { return run.accepted != accepted; });
  }
  if (!runs.front().measured) {
    runs.erase(runs.begin(), runs.end() - 1);
  }
  return runs;
}

std::map<std::string, Side> Group(Side runs, bool with_strategy) {
  std::map<std::string, Side> groups;
  for (RunRecord& run : runs) {
    groups[ConfigurationKey(run, with_strategy)].push_back(std::move(run));
  }
  return groups;
}

std::string DescribeUnpaired(const RunRecord& run, const std::map<std::string, Side>& others, bool with_strategy) {
  std::string text = Describe(run, true);
  std::string closest;
  size_t differences = ~size_t{0};
  for (const auto& [key, side] : others) {
    if (with_strategy && side.front().strategy != run.strategy) {
      continue;
    }
    const std::string difference = DescribeDifference(run, side.front());
    const auto count = static_cast<size_t>(std::count(difference.begin(), difference.end(), ','));
    if (!difference.empty() && count < differences) {
      closest = difference;
      differences = count;
    }
  }
  return closest.empty() ? text : fmt::format("{}; the closest on the other side differs in {}", text, closest);
}

}  // namespace

std::string_view Name(VerdictResult result) {
  constexpr std::array<std::string_view, 5> kNames = {"pass", "improvement", "regression", "ambiguous", "invalid"};
  return kNames[static_cast<size_t>(result)];
}

size_t Comparison::Count(VerdictResult result) const {
  size_t n = 0;
  for (const PairComparison& pair : pairs) {
    n += static_cast<size_t>(std::count_if(pair.verdicts.begin(), pair.verdicts.end(),
                                           [&](const Verdict& verdict) { return verdict.result == result; }));
  }
  return n;
}

Comparison Compare(std::vector<RunRecord> base, std::vector<RunRecord> cand, std::span<const RunRecord> floor_runs,
                   const CompareOptions& options) {
  const bool with_strategy = !options.across_strategies;
  std::map<std::string, Side> base_groups = Group(std::move(base), with_strategy);
  std::map<std::string, Side> cand_groups = Group(std::move(cand), with_strategy);
  Comparison comparison;
  comparison.seed = options.seed;
  for (const auto& [key, runs] : base_groups) {
    const auto found = cand_groups.find(key);
    if (found == cand_groups.end()) {
      comparison.only_base.push_back(DescribeUnpaired(runs.back(), cand_groups, with_strategy));
      continue;
    }
    PairComparison pair;
    pair.base = Representatives(runs);
    pair.cand = Representatives(found->second);
    pair.what = with_strategy ? Describe(pair.base.back(), true)
                              : fmt::format("{}: {} to {}", Describe(pair.base.back(), false),
                                            pair.base.back().strategy, pair.cand.back().strategy);
    JudgePair(pair, floor_runs, options.seed);
    comparison.pairs.push_back(std::move(pair));
  }
  for (const auto& [key, runs] : cand_groups) {
    if (!base_groups.contains(key)) {
      comparison.only_cand.push_back(DescribeUnpaired(runs.back(), base_groups, with_strategy));
    }
  }
  JudgeTogether(comparison);
  return comparison;
}

int GateExitCode(const Comparison& comparison, bool allow_unpaired) {
  const bool unpaired = !comparison.only_base.empty() || !comparison.only_cand.empty();
  if (comparison.pairs.empty() || (unpaired && !allow_unpaired)) {
    return 4;
  }
  if (comparison.Count(VerdictResult::kRegression) > 0) {
    return 1;
  }
  if (comparison.Count(VerdictResult::kInvalid) > 0) {
    return 4;
  }
  return comparison.Count(VerdictResult::kAmbiguous) > 0 ? 3 : 0;
}

namespace {

std::string Uuids(const Side& runs) {
  JsonWriter json;
  json.BeginArray();
  for (const RunRecord& run : runs) {
    json.String(run.uuid);
  }
  return json.EndArray().TakeText();
}

Statement& BindMaybe(Statement& statement, int parameter, const std::optional<double>& value) {
  return value ? statement.BindDouble(parameter, *value) : statement.BindNull(parameter);
}

}  // namespace

Status StoreVerdicts(Store& store, const Comparison& comparison, std::string_view gate) {
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(store.database()));
  REMAPLAB_ASSIGN(
      Statement insert,
      store.database().Prepare(
          "INSERT INTO verdict (uuid, time, gate, pair, rule, rule_version, metric, base_runs, cand_runs, base_value, "
          "cand_value, result, reason, ratio, low, high, p, floor, seed) VALUES "
          "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  for (const PairComparison& pair : comparison.pairs) {
    const std::string base_runs = Uuids(pair.base);
    const std::string cand_runs = Uuids(pair.cand);
    for (const Verdict& verdict : pair.verdicts) {
      insert.Bind(1, NewUuid()).Bind(2, WallClockNs()).Bind(3, gate).Bind(4, pair.what).Bind(5, verdict.rule);
      insert.Bind(6, int64_t{kRuleVersion}).Bind(7, verdict.metric).Bind(8, base_runs).Bind(9, cand_runs);
      insert.BindDouble(10, verdict.base).BindDouble(11, verdict.cand);
      insert.Bind(12, Name(verdict.result)).Bind(13, verdict.reason);
      BindMaybe(insert, 14, verdict.ratio);
      BindMaybe(insert, 15, verdict.low);
      BindMaybe(insert, 16, verdict.high);
      BindMaybe(insert, 17, verdict.p);
      BindMaybe(insert, 18, verdict.floor);
      insert.Bind(19, verdict.low ? std::optional<int64_t>(static_cast<int64_t>(comparison.seed)) : std::nullopt);
      REMAPLAB_TRY(insert.Run());
    }
  }
  return transaction.Commit();
}

Status AcceptRuns(Store& store, std::span<const std::string> uuids, std::string_view reason) {
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(store.database()));
  REMAPLAB_ASSIGN(Statement insert, store.database().Prepare("INSERT INTO acceptance (uuid, time, run, reason) "
                                                             "SELECT ?, ?, id, ? FROM run WHERE uuid = ?"));
  const int64_t now = WallClockNs();  // one acceptance, one time
  for (const std::string& uuid : uuids) {
    REMAPLAB_TRY(insert.Bind(1, NewUuid()).Bind(2, now).Bind(3, reason).Bind(4, uuid).Run());
    if (store.database().changes() != 1) {
      return Fail(ErrorCode::kInternal, fmt::format("{}: run {} is not in the store", store.path(), uuid));
    }
  }
  return transaction.Commit();
}

}  // namespace remaplab

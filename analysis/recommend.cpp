#include "analysis/recommend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/compare.h"
#include "analysis/sqlite.h"
#include "analysis/statistics.h"
#include "base/human.h"

namespace remaplab {
namespace {

constexpr int64_t kFewSteps = 10;

double StepNs(const RunRecord& run) {
  return run.counted_steps() > 0 ? static_cast<double>(run.step_ns.total) / static_cast<double>(run.counted_steps())
                                 : static_cast<double>(run.step_ns.first);
}

std::vector<double> ProcessMedians(std::span<const RunRecord> runs) {
  std::vector<double> medians;
  for (const RunRecord& run : runs) {
    medians.push_back(static_cast<double>(run.step_ns.median));
  }
  return medians;
}

std::string WhyUnsafe(const RunRecord& run) {
  if (run.status != "finished" || run.failed_steps > 0) {
    return fmt::format("{} of {} steps failed", run.failed_steps, run.steps);
  }
  if (run.verification_failures > 0) {
    return fmt::format("{} wrong reads were found", run.verification_failures);
  }
  if (run.stale_mappings > 0) {
    return fmt::format("read stale memory on {} steps", run.stale_steps);
  }
  if (run.strategy.find("identity=address") != std::string::npos) {
    return "compares addresses, and an address may come back with other memory behind it";
  }
  if (run.skips_on_assumption > 0) {
    return fmt::format("{} skips rest on an assumption that the recording cannot prove", run.skips_on_assumption);
  }
  return {};
}

// The runs of one strategy in one configuration.
using StrategyRuns = std::vector<RunRecord>;

Saving SimulatedSaving(const RunRecord& other, const RunRecord& best, const ProfileErrors& errors) {
  Saving saving;
  saving.ns = StepNs(other) - StepNs(best);
  const auto profile = errors.find(best.cost_profile_params);
  if (profile == errors.end() || profile->second.empty()) {
    saving.basis = fmt::format("unknown: cost profile {} has no residuals", best.cost_profile);
    return saving;
  }
  double total = 0;
  std::string without;
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    const auto ns = [kind](const RunRecord& run) {
      return static_cast<double>(run.calls[static_cast<size_t>(RunPhase::kSteps)][kind].ns) /
             static_cast<double>(std::max<int64_t>(1, run.steps));
    };
    const double difference = std::abs(ns(other) - ns(best));
    if (difference == 0 || kCallKindNames[kind] == Name(CallKind::kWait)) {
      continue;
    }
    const auto error = profile->second.find(std::string(kCallKindNames[kind]));
    if (error == profile->second.end()) {
      without += fmt::format("{}{}", without.empty() ? "" : ", ", kCallKindNames[kind]);
    } else {
      total += difference * error->second;
    }
  }
  saving.uncertainty = total;
  saving.basis = fmt::format("residuals of cost profile {}{}", best.cost_profile,
                             without.empty() ? "" : fmt::format(" (none for {})", without));
  return saving;
}

Saving MeasuredSaving(const StrategyRuns& other, const StrategyRuns& best, uint64_t seed) {
  Saving saving;
  std::vector<double> theirs = ProcessMedians(other);
  std::vector<double> ours = ProcessMedians(best);
  const double median = Median(ours);
  saving.ns = Median(theirs) - median;
  if (theirs.size() < kMinRunsPerSide || ours.size() < kMinRunsPerSide) {
    saving.basis = fmt::format("unknown: {} and {} process runs, at least {} each are needed", theirs.size(),
                               ours.size(), kMinRunsPerSide);
    return saving;
  }
  const Interval interval = BootstrapRatio(ours, theirs, seed);
  saving.uncertainty = (interval.high - interval.low) / 2 * median;
  saving.basis = fmt::format("99 % bootstrap interval over {} and {} process runs", theirs.size(), ours.size());
  return saving;
}

Saving MakeSaving(const StrategyRuns& other, const StrategyRuns& best, const ProfileErrors& errors,
                  const RecommendOptions& options) {
  return best.back().measured ? MeasuredSaving(other, best, options.seed)
                              : SimulatedSaving(other.back(), best.back(), errors);
}

StrategyAssessment Assess(const StrategyRuns& runs, const RecommendOptions& options) {
  StrategyAssessment assessment;
  assessment.run = runs.back();
  assessment.runs = runs.size();
  std::vector<double> medians = ProcessMedians(runs);
  assessment.step_ns = runs.back().measured ? Median(medians) : StepNs(runs.back());
  for (const RunRecord& run : runs) {
    assessment.unsafe = assessment.unsafe.empty() ? WhyUnsafe(run) : assessment.unsafe;
  }
  assessment.within_budget = !options.memory_budget || assessment.extra_bytes() <= *options.memory_budget;
  return assessment;
}

// Faster first; of equally fast ones the one that holds less memory, then the one with fewer calls.
bool IsBetter(const StrategyAssessment& a, const StrategyAssessment& b) {
  if (a.step_ns != b.step_ns) {
    return a.step_ns < b.step_ns;
  }
  const auto held = [](const StrategyAssessment& s) {
    return std::pair(s.extra_bytes() + static_cast<uint64_t>(s.run.peak_reserved), s.run.calls_in_steps());
  };
  return held(a) < held(b);
}

size_t FindReference(std::span<const StrategyAssessment> strategies) {
  for (const std::string_view name : {"no_remap", "full_remap"}) {
    for (size_t i = 0; i < strategies.size(); ++i) {
      if (strategies[i].run.strategy == name) {
        return i;
      }
    }
  }
  return strategies.size() - 1;
}

void AddCaveats(const RunRecord& best, Recommendation& recommendation) {
  std::vector<std::string>& caveats = recommendation.caveats;
  const std::string& quality = best.cost_profile_quality;
  if (!best.measured) {
    if (best.cost_profile.empty()) {
      caveats.emplace_back("these runs have no cost profile: their times mean nothing, only counts do");
    } else if (quality == "uncalibrated") {
      caveats.push_back(
          fmt::format("cost profile {} is uncalibrated: nobody measured these costs on a device; "
                      "calibrate before acting on the times",
                      best.cost_profile));
    } else if (quality != "measured") {
      caveats.push_back(fmt::format("cost profile {} is {}, not measured: the times are as good as that",
                                    best.cost_profile, quality));
    }
    caveats.emplace_back("the times are simulated; replay on the device to confirm them");
  }
  if (!best.unsure_terms.empty()) {
    caveats.push_back(fmt::format("costs that nobody measured on this device: {}", best.unsure_terms));
  }
  if (best.steps < kFewSteps) {
    caveats.push_back(fmt::format("the recording has only {} steps", best.steps));
  }
  if (best.gpu_step_ns == 0) {
    caveats.emplace_back("the GPU step is 0 ns: driver calls hide behind nothing, so savings are upper bounds");
  }
  for (const StrategyAssessment& strategy : recommendation.strategies) {
    if (strategy.step_ns < recommendation.strategies[*recommendation.best].step_ns && !strategy.unsafe.empty()) {
      caveats.push_back(fmt::format("{} is faster ({} per step) but not safe: {}", strategy.run.strategy,
                                    HumanTime(strategy.step_ns), strategy.unsafe));
    }
  }
}

std::string Headline(const Recommendation& recommendation) {
  const StrategyAssessment& best = recommendation.strategies[*recommendation.best];
  const StrategyAssessment& reference = recommendation.strategies[recommendation.reference];
  std::string text = fmt::format("Use {}: {} per step", best.run.strategy, HumanTime(best.step_ns));
  if (recommendation.reference != *recommendation.best) {
    const Saving& saving = reference.saving_of_best;
    const std::string uncertainty =
        saving.uncertainty ? fmt::format(" \u00b1 {}", HumanTime(*saving.uncertainty)) : std::string();
    text += fmt::format(", which saves {}{} ({:.1f} %) against {}", HumanTime(saving.ns), uncertainty,
                        reference.step_ns > 0 ? 100 * saving.ns / reference.step_ns : 0.0, reference.run.strategy);
  } else if (recommendation.strategies.size() > 1) {
    text += ", and nothing that was run beats it";
  }
  if (recommendation.oracle_step_ns && *recommendation.oracle_step_ns > 0) {
    text += fmt::format("; {:.1f} % above the oracle's lower bound",
                        100 * (best.step_ns / *recommendation.oracle_step_ns - 1));
  }
  return text + ".";
}

Recommendation RecommendFor(const std::vector<StrategyRuns>& groups, const ProfileErrors& errors,
                            const RecommendOptions& options) {
  Recommendation recommendation;
  recommendation.what = Describe(groups.front().back(), false);
  std::vector<std::pair<StrategyAssessment, const StrategyRuns*>> assessed;
  for (const StrategyRuns& runs : groups) {
    assessed.emplace_back(Assess(runs, options), &runs);
  }
  std::stable_sort(assessed.begin(), assessed.end(),
                   [](const auto& a, const auto& b) { return IsBetter(a.first, b.first); });
  for (const auto& [assessment, runs] : assessed) {
    recommendation.strategies.push_back(assessment);
  }
  recommendation.reference = FindReference(recommendation.strategies);
  for (size_t i = 0; i < recommendation.strategies.size(); ++i) {
    const StrategyAssessment& strategy = recommendation.strategies[i];
    if (!strategy.unsafe.empty() || !strategy.within_budget) {
      continue;
    }
    const std::vector<XlaAvailability> flags =
        XlaFlagsFor(strategy.run.strategy, strategy.run.resolved, options.platform);
    if (!recommendation.best) {
      recommendation.best = i;
      recommendation.flags = flags;
    }
    if (options.xla_row && !recommendation.best_available && flags[*options.xla_row].available) {
      recommendation.best_available = i;
      recommendation.available_flags = flags;
    }
  }
  if (!recommendation.best) {
    recommendation.headline = "None of the strategies that were run is safe and within the budget.";
    return recommendation;
  }
  const RunRecord& best = recommendation.strategies[*recommendation.best].run;
  for (size_t i = 0; i < assessed.size(); ++i) {
    recommendation.strategies[i].saving_of_best =
        MakeSaving(*assessed[i].second, *assessed[*recommendation.best].second, errors, options);
  }
  if (best.oracle_ns && best.counted_steps() > 0) {
    recommendation.oracle_step_ns = static_cast<double>(*best.oracle_ns) / static_cast<double>(best.counted_steps());
  }
  AddCaveats(best, recommendation);
  recommendation.headline = Headline(recommendation);
  return recommendation;
}

}  // namespace

Result<ProfileErrors> LoadProfileErrors(Store& store) {
  ProfileErrors errors;
  REMAPLAB_ASSIGN(
      Statement rows,
      store.database().Prepare(
          "SELECT params, json_extract(entry.value, '$.kind'), json_extract(entry.value, '$.predicted_ns'), "
          "json_extract(entry.value, '$.measured_ns') FROM cost_profile, "
          "json_each(iif(json_valid(params), params, '{}'), '$.residuals') AS entry"));
  std::map<std::pair<std::string, std::string>, std::pair<double, int>> sums;
  while (true) {
    REMAPLAB_ASSIGN(const bool row, rows.Step());
    if (!row) {
      break;
    }
    const double predicted = rows.Double(2);
    if (predicted > 0) {
      const double error = rows.Double(3) / predicted - 1;
      auto& [sum, n] = sums[{std::string(rows.Text(0)), std::string(rows.Text(1))}];
      sum += error * error;
      ++n;
    }
  }
  for (const auto& [key, sum] : sums) {
    errors[key.first][key.second] = std::sqrt(sum.first / sum.second);
  }
  return errors;
}

std::vector<Recommendation> Recommend(std::span<const RunRecord> runs, const ProfileErrors& errors,
                                      const RecommendOptions& options) {
  std::vector<std::pair<std::string, std::vector<StrategyRuns>>> configurations;
  for (const RunRecord& run : runs) {
    const std::string key = ConfigurationKey(run, false);
    auto configuration = std::find_if(configurations.begin(), configurations.end(),
                                      [&](const auto& entry) { return entry.first == key; });
    if (configuration == configurations.end()) {
      configuration = configurations.insert(configurations.end(), {key, {}});
    }
    auto& groups = configuration->second;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const StrategyRuns& other) { return other.front().strategy == run.strategy; });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), StrategyRuns());
    }
    group->push_back(run);
  }
  std::vector<Recommendation> recommendations;
  for (const auto& [key, groups] : configurations) {
    recommendations.push_back(RecommendFor(groups, errors, options));
  }
  return recommendations;
}

}  // namespace remaplab

// Compares two sets of runs, pair by pair and metric by metric. Counts, bytes and simulated time are exact and compared
// as integers; measured time is noise with a signal in it and judged by a rule that was fixed beforehand:
//
//   a sample is one process run; ratio of the medians of the two sides; 99 % bootstrap interval over process runs;
//   two-sided Mann-Whitney p, adjusted by Holm over everything that is gated together; a floor under which nothing is
//   believed: 2 %, or what stored runs of a thing beside itself (tag "aa") reach.
//
//   regression   interval's lower end above 1.005, p < 0.05, ratio above 1 + floor
//   improvement  the mirror image
//   pass         the whole interval within the floor
//   ambiguous    anything else: run more pairs
//   invalid      fewer than 5 runs on a side, throttled clocks, another device class, another cost profile's content
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/run_record.h"
#include "base/result.h"

namespace remaplab {

enum class VerdictResult : uint8_t { kPass, kImprovement, kRegression, kAmbiguous, kInvalid };
std::string_view Name(VerdictResult result);

inline constexpr std::string_view kExactRule = "exact";
inline constexpr std::string_view kMeasuredRule = "bootstrap+mann-whitney";
inline constexpr int kRuleVersion = 1;
inline constexpr size_t kMinRunsPerSide = 5;
inline constexpr std::string_view kSelfComparisonTag = "aa";

struct CompareOptions {
  bool across_strategies = false;  // the sides hold one strategy each, paired with each other
  uint64_t seed = 1;               // of the bootstrap; stored with the verdict
};

struct Verdict {
  std::string metric;  // as in analysis/metrics.h
  std::string_view rule = kExactRule;
  double base = 0;
  double cand = 0;
  std::optional<double> ratio;  // cand / base, where base is not 0
  std::optional<double> low;    // measured only, from here
  std::optional<double> high;
  std::optional<double> p;  // adjusted
  std::optional<double> floor;
  VerdictResult result = VerdictResult::kPass;
  std::string reason;
};

struct PairComparison {
  std::string what;  // Describe() of the pair
  std::vector<RunRecord> base;
  std::vector<RunRecord> cand;
  std::vector<Verdict> verdicts;
};

struct Comparison {
  std::vector<PairComparison> pairs;
  std::vector<std::string> only_base;  // unpaired configurations, each with what is closest on the other side
  std::vector<std::string> only_cand;
  uint64_t seed = 0;

  size_t Count(VerdictResult result) const;
};

// Pairs and judges. Where a side has accepted runs for a configuration, its latest accepted ones stand for it; of
// simulated configurations the latest run does. `floor_runs` are where self-comparison runs are looked for.
Comparison Compare(std::vector<RunRecord> base, std::vector<RunRecord> cand, std::span<const RunRecord> floor_runs,
                   const CompareOptions& options);

// What a gate says: 0 pass or improvement, 1 regression, 3 ambiguous, 4 invalid or unpaired (definitions.md section 7).
int GateExitCode(const Comparison& comparison, bool allow_unpaired);

// Stores every verdict with rule, version and seed under the name of one gate run.
Status StoreVerdicts(Store& store, const Comparison& comparison, std::string_view gate);

// Makes these runs of `store` the baseline, with the reason why. They must be in the store.
Status AcceptRuns(Store& store, std::span<const std::string> uuids, std::string_view reason);

}  // namespace remaplab

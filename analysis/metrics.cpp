#include "analysis/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace remaplab {
namespace {

struct PlainMetric {
  std::string_view name;
  int64_t RunRecord::*member;
};
constexpr PlainMetric kPlain[] = {{"memory/bytes_mapped", &RunRecord::bytes_mapped},
                                  {"memory/peak_reserved", &RunRecord::peak_reserved},
                                  {"memory/shadow_bytes", &RunRecord::shadow_bytes},
                                  {"memory/retained_bytes", &RunRecord::retained_bytes},
                                  {"memory/command_buffers", &RunRecord::command_buffers},
                                  {"failed_steps", &RunRecord::failed_steps},
                                  {"verification_failures", &RunRecord::verification_failures},
                                  {"stale_mappings", &RunRecord::stale_mappings},
                                  {"skips_on_assumption", &RunRecord::skips_on_assumption},
                                  {"changed_slot_steps", &RunRecord::changed_slot_steps}};

struct TimeMetric {
  std::string_view name;
  DurationSummary RunRecord::*member;
};
constexpr TimeMetric kTimes[] = {
    {"step_ns", &RunRecord::step_ns}, {"remap_ns", &RunRecord::remap_ns}, {"wait_ns", &RunRecord::wait_ns}};

struct TimeStatistic {
  std::string_view name;
  int64_t DurationSummary::*member;
};
constexpr TimeStatistic kTimeStatistics[] = {{"first", &DurationSummary::first},
                                             {"total", &DurationSummary::total},
                                             {"median", &DurationSummary::median},
                                             {"p99", &DurationSummary::p99}};

struct CallGroup {
  std::string_view name;
  RunPhase phase;
};
constexpr CallGroup kCallGroups[] = {
    {"calls", RunPhase::kSteps}, {"cleanup", RunPhase::kCleanup}, {"teardown", RunPhase::kTeardown}};

constexpr std::array<std::string_view, 3> kCallStatistics = {"mean", "median", "p99"};

std::optional<double> CallTime(const RunRecord& run, std::string_view kind, std::string_view statistic) {
  const std::optional<CallKind> call = ParseCallKind(kind);
  if (!call) {
    return std::nullopt;
  }
  const KindTotal& total = run.calls[static_cast<size_t>(RunPhase::kSteps)][static_cast<size_t>(*call)];
  if (statistic == "mean") {
    return total.n == 0 ? std::nullopt
                        : std::optional<double>(static_cast<double>(total.ns) / static_cast<double>(total.n));
  }
  const auto sample = run.samples.find(std::string(kind));
  if (sample == run.samples.end()) {
    return std::nullopt;
  }
  const Distribution& distribution = sample->second;
  if (statistic == "median") {
    return static_cast<double>(distribution.median);
  }
  return distribution.n >= kMinValuesForP99 ? std::optional<double>(static_cast<double>(distribution.p99))
                                            : std::nullopt;
}

}  // namespace

std::vector<std::string> MetricNames() {
  std::vector<std::string> names;
  for (const TimeMetric& time : kTimes) {
    for (const TimeStatistic& statistic : kTimeStatistics) {
      names.push_back(fmt::format("{}/{}", time.name, statistic.name));
    }
  }
  for (const CallGroup& group : kCallGroups) {
    for (const std::string_view kind : kCallKindNames) {
      names.push_back(fmt::format("{}/{}", group.name, kind));
    }
  }
  for (const std::string_view kind : kCallKindNames) {
    for (const std::string_view statistic : kCallStatistics) {
      names.push_back(fmt::format("call_ns/{}/{}", kind, statistic));
    }
  }
  for (const PlainMetric& metric : kPlain) {
    names.emplace_back(metric.name);
  }
  return names;
}

Status CheckMetricName(std::string_view name) {
  const std::vector<std::string> names = MetricNames();
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    return {};
  }
  std::string similar;
  const std::string_view word = name.substr(0, name.find('/'));
  for (const std::string& candidate : names) {
    if (candidate.find(word) != std::string::npos) {
      similar += (similar.empty() ? "" : ", ") + candidate;
    }
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("no metric '{}'; {}", name,
                          similar.empty() ? "step_ns/median, calls/map and memory/peak_reserved are some"
                                          : "there are " + similar));
}

std::optional<double> MetricValue(const RunRecord& run, std::string_view name) {
  for (const PlainMetric& metric : kPlain) {
    if (metric.name == name) {
      return static_cast<double>(run.*metric.member);
    }
  }
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view group = name.substr(0, slash);
  const std::string_view rest = name.substr(slash + 1);
  for (const TimeMetric& time : kTimes) {
    for (const TimeStatistic& statistic : kTimeStatistics) {
      if (time.name == group && statistic.name == rest) {
        return static_cast<double>(run.*time.member.*statistic.member);
      }
    }
  }
  if (group == "call_ns") {
    const size_t second = rest.find('/');
    return CallTime(run, rest.substr(0, second), second == std::string_view::npos ? "" : rest.substr(second + 1));
  }
  const std::optional<CallKind> kind = ParseCallKind(rest);
  for (const CallGroup& calls : kCallGroups) {
    if (calls.name == group && kind) {
      return static_cast<double>(run.calls[static_cast<size_t>(calls.phase)][static_cast<size_t>(*kind)].n);
    }
  }
  return std::nullopt;
}

bool IsExact(std::string_view name, bool measured) {
  return !measured || name.substr(0, name.find('/')).find("_ns") == std::string_view::npos;
}

}  // namespace remaplab

#include "analysis/history.h"

#include <algorithm>
#include <map>

#include "analysis/metrics.h"

namespace remaplab {
namespace {

struct Group {
  HistoryPoint point;
  std::vector<double> values;
};

std::string Revision(const RunRecord& run) { return run.git_revision + (run.git_dirty ? "+" : ""); }

std::vector<ChangePoint> ExactChanges(std::span<const HistoryPoint> points) {
  std::vector<ChangePoint> changes;
  for (size_t i = 1; i < points.size(); ++i) {
    if (points[i].value != points[i - 1].value) {
      changes.push_back({i, points[i - 1].value, points[i].value, 0});
    }
  }
  return changes;
}

// Runs of one revision need not be neighbours in time: a revision is one point, at its first run.
std::vector<HistoryPoint> MakePoints(std::span<const RunRecord* const> runs, std::string_view metric,
                                     HistoryAxis axis) {
  std::vector<Group> groups;
  for (const RunRecord* run : runs) {
    const std::string revision = Revision(*run);
    auto group = groups.end();
    if (axis == HistoryAxis::kRevision) {
      group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.point.revision == revision; });
    }
    if (group == groups.end()) {
      group = groups.emplace(groups.end());
      group->point.time = run->start;
      group->point.revision = revision;
    }
    group->values.push_back(*MetricValue(*run, metric));
  }
  std::vector<HistoryPoint> points;
  for (Group& group : groups) {
    group.point.runs = group.values.size();
    group.point.value = Median(group.values);
    points.push_back(std::move(group.point));
  }
  return points;
}

}  // namespace

std::vector<HistorySeries> MakeHistory(std::span<const RunRecord> runs, std::string_view metric, HistoryAxis axis,
                                       uint64_t seed) {
  std::map<std::string, std::vector<const RunRecord*>> configurations;
  for (const RunRecord& run : runs) {
    if (MetricValue(run, metric)) {
      configurations[ConfigurationKey(run, true)].push_back(&run);
    }
  }
  std::vector<HistorySeries> all;
  for (const auto& [key, members] : configurations) {
    HistorySeries series;
    series.what = Describe(*members.front(), true);
    series.exact = IsExact(metric, members.front()->measured);
    series.points = MakePoints(members, metric, axis);
    if (series.exact) {
      series.changes = ExactChanges(series.points);
    } else {
      std::vector<double> values;
      for (const HistoryPoint& point : series.points) {
        values.push_back(point.value);
      }
      series.changes = FindChangePoints(values, seed);
    }
    all.push_back(std::move(series));
  }
  return all;
}

}  // namespace remaplab

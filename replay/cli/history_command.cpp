// remaplab history: a metric over revisions or dates, and where it changed.
#include <fmt/format.h>

#include "analysis/history.h"
#include "analysis/metrics.h"
#include "base/human.h"
#include "base/json_writer.h"
#include "base/parse.h"
#include "replay/cli/commands.h"
#include "replay/cli/table.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  const auto texts = [] { return po::value<std::vector<std::string>>()->composing(); };
  add("by", po::value<std::string>()->default_value("revision"), "one point per revision, or per run: revision, date");
  add("strategy,s", texts(), "only this strategy");
  add("program,p", texts(), "only this program: module name or number");
  add("backend,b", texts(), "only runs on this backend");
  add("tag", texts(), "only runs with this tag");
  add("seed", po::value<std::string>()->default_value("1"), "of the permutation test");
  add("format,f", po::value<std::string>()->default_value("table"), "table, json, csv or markdown");
}

Result<HistoryAxis> ParseAxis(std::string_view text) {
  if (text == "revision" || text == "date") {
    return text == "revision" ? HistoryAxis::kRevision : HistoryAxis::kDate;
  }
  return Fail(ErrorCode::kUsage, fmt::format("--by {} is not one of revision, date", text));
}

const ChangePoint* ChangeAt(const HistorySeries& series, size_t index) {
  for (const ChangePoint& change : series.changes) {
    if (change.index == index) {
      return &change;
    }
  }
  return nullptr;
}

std::string ToJson(std::string_view metric, const std::vector<HistorySeries>& all) {
  JsonWriter json;
  json.BeginObject().Key("metric").String(metric).Key("series").BeginArray();
  for (const HistorySeries& series : all) {
    json.BeginObject().Key("what").String(series.what).Key("exact").Bool(series.exact).Key("points").BeginArray();
    for (const HistoryPoint& point : series.points) {
      json.BeginObject().Key("time").Int(point.time).Key("revision").String(point.revision);
      json.Key("runs").UInt(point.runs).Key("value").Double(point.value).EndObject();
    }
    json.EndArray().Key("changes").BeginArray();
    for (const ChangePoint& change : series.changes) {
      json.BeginObject().Key("index").UInt(change.index).Key("revision").String(series.points[change.index].revision);
      json.Key("before").Double(change.before).Key("after").Double(change.after).Key("p").Double(change.p).EndObject();
    }
    json.EndArray().EndObject();
  }
  return json.EndArray().EndObject().TakeText() + "\n";
}

Table ToTable(const std::vector<HistorySeries>& all) {
  Table table{{"what", "date", "revision", "runs", "value", "change"}, {}};
  for (const HistorySeries& series : all) {
    for (size_t i = 0; i < series.points.size(); ++i) {
      const HistoryPoint& point = series.points[i];
      const ChangePoint* change = ChangeAt(series, i);
      table.rows.push_back({series.what, HumanDate(point.time), point.revision, uint64_t{point.runs},
                            Cell::Number(fmt::format("{}", point.value)),
                            change == nullptr ? "" : fmt::format("{} to {}", change->before, change->after)});
    }
  }
  return table;
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  REMAPLAB_ASSIGN(const HistoryAxis axis, ParseAxis(arguments.Get("by")));
  REMAPLAB_ASSIGN(const uint64_t seed, ParseUInt(arguments.Get("seed"), "--seed"));
  const std::string& metric = arguments.positional[1];
  REMAPLAB_TRY(CheckMetricName(metric));
  REMAPLAB_ASSIGN(Store store, Store::OpenForReading(arguments.positional[0]));
  RunSelection selection;
  selection.strategies = arguments.GetAll("strategy");
  selection.programs = arguments.GetAll("program");
  selection.backends = arguments.GetAll("backend");
  selection.tags = arguments.GetAll("tag");
  REMAPLAB_ASSIGN(const std::vector<RunRecord> runs, LoadRuns(store, selection));
  const std::vector<HistorySeries> all = MakeHistory(runs, metric, axis, seed);
  REMAPLAB_TRY(Print(format == Format::kJson ? ToJson(metric, all) : ToTable(all).Render(format)));
  return kOk;
}

}  // namespace

const Command kHistoryCommand = {
    .name = "history",
    .summary = "a metric over revisions or dates, with its change points",
    .positional = "STORE METRIC",
    .example =
        "  remaplab history results.sqlite step_ns/median --strategy skip_remap --format json\n"
        "  one point per git revision and where the level changed, for a dashboard; calls/map and\n"
        "  memory/peak_reserved are other metrics",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli

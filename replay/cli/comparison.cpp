#include "replay/cli/comparison.h"

#include <fmt/format.h>

#include <array>

#include "base/json_writer.h"
#include "base/parse.h"

namespace remaplab::cli {
namespace {

// Counts and times as integers, medians of an even number of runs with their half.
std::string Number(double value) {
  return value == static_cast<double>(static_cast<int64_t>(value)) ? fmt::format("{}", static_cast<int64_t>(value))
                                                                   : fmt::format("{:.1f}", value);
}

Result<RunSelection> SelectSide(const Arguments& arguments, const std::string& side) {
  RunSelection selection;
  selection.runs = arguments.GetAll(side + "-run");
  selection.tags = arguments.GetAll(side + "-tag");
  selection.revisions = arguments.GetAll(side + "-revision");
  if (arguments.Has(side + "-strategy")) {
    selection.strategies = {arguments.Get(side + "-strategy")};
  }
  return selection;
}

Result<std::vector<RunRecord>> LoadSide(Store& store, const RunSelection& selection, const Arguments& arguments) {
  RunSelection both = selection;
  both.backends = arguments.GetAll("backend");
  both.programs = arguments.GetAll("program");
  REMAPLAB_ASSIGN(std::vector<RunRecord> runs, LoadRuns(store, both));
  if (selection.runs.empty() && selection.tags.empty()) {
    // Runs of a thing beside itself are there for the floors.
    std::erase_if(runs, [](const RunRecord& run) { return run.tag == kSelfComparisonTag; });
  }
  return runs;
}

std::string Change(const Verdict& verdict) {
  if (verdict.rule == kExactRule && verdict.result != VerdictResult::kInvalid) {
    const auto difference = static_cast<int64_t>(verdict.cand - verdict.base);
    return difference == 0 ? "0" : fmt::format("{:+}", difference);
  }
  return verdict.ratio ? fmt::format("{:+.2f} %", 100 * (*verdict.ratio - 1)) : "";
}

std::string IntervalText(const Verdict& verdict) {
  return verdict.low ? fmt::format("{:+.2f} to {:+.2f} %", 100 * (*verdict.low - 1), 100 * (*verdict.high - 1)) : "";
}

std::string Describe(const Comparison& comparison, int exit_code) {
  std::string text = fmt::format("{}: {} pair{}", OutcomeName(exit_code), comparison.pairs.size(),
                                 comparison.pairs.size() == 1 ? "" : "s");
  for (const VerdictResult result : {VerdictResult::kRegression, VerdictResult::kImprovement, VerdictResult::kAmbiguous,
                                     VerdictResult::kInvalid, VerdictResult::kPass}) {
    if (const size_t n = comparison.Count(result); n > 0) {
      text += fmt::format(", {} {}", n, Name(result));
    }
  }
  text += '\n';
  for (const std::string& run : comparison.only_base) {
    text += fmt::format("only in BASE: {}\n", run);
  }
  for (const std::string& run : comparison.only_cand) {
    text += fmt::format("only in CAND: {}\n", run);
  }
  return text;
}

Table ShownTable(const Comparison& comparison, bool all) {
  Table table{{"pair", "metric", "base", "cand", "change", "99 % interval", "p", "verdict", "why"}, {}};
  for (const PairComparison& pair : comparison.pairs) {
    for (const Verdict& verdict : pair.verdicts) {
      if (all || verdict.result != VerdictResult::kPass) {
        table.rows.push_back(
            {pair.what, verdict.metric, Cell::Number(Number(verdict.base)), Cell::Number(Number(verdict.cand)),
             Cell::Number(Change(verdict)), IntervalText(verdict), verdict.p ? fmt::format("{:.2g}", *verdict.p) : "",
             Name(verdict.result),
             verdict.rule == kExactRule && verdict.result != VerdictResult::kInvalid ? "" : verdict.reason});
      }
    }
  }
  return table;
}

Cell MaybeNumber(const std::optional<double>& value) {
  return value ? Cell::Number(fmt::format("{}", *value)) : Cell::Null();
}

Table FullTable(const Comparison& comparison) {
  Table table{{"pair", "metric", "rule", "rule_version", "base", "cand", "ratio", "low", "high", "p", "floor", "result",
               "reason"},
              {}};
  for (const PairComparison& pair : comparison.pairs) {
    for (const Verdict& verdict : pair.verdicts) {
      table.rows.push_back({pair.what, verdict.metric, verdict.rule, kRuleVersion, Cell::Number(Number(verdict.base)),
                            Cell::Number(Number(verdict.cand)), MaybeNumber(verdict.ratio), MaybeNumber(verdict.low),
                            MaybeNumber(verdict.high), MaybeNumber(verdict.p), MaybeNumber(verdict.floor),
                            Name(verdict.result), verdict.reason});
    }
  }
  return table;
}

void WriteStrings(JsonWriter& json, std::string_view key, const std::vector<std::string>& values) {
  json.Key(key).BeginArray();
  for (const std::string& value : values) {
    json.String(value);
  }
  json.EndArray();
}

void WriteRuns(JsonWriter& json, std::string_view key, const std::vector<RunRecord>& runs) {
  json.Key(key).BeginArray();
  for (const RunRecord& run : runs) {
    json.String(run.uuid);
  }
  json.EndArray();
}

void WriteMaybe(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  json.Key(key);
  value ? json.Double(*value) : json.Null();
}

std::string RenderJson(const Comparison& comparison, int exit_code) {
  JsonWriter json;
  json.BeginObject().Key("outcome").String(OutcomeName(exit_code)).Key("exit_code").Int(exit_code);
  json.Key("seed").UInt(comparison.seed).Key("pairs").BeginArray();
  for (const PairComparison& pair : comparison.pairs) {
    json.BeginObject().Key("pair").String(pair.what);
    WriteRuns(json, "base_runs", pair.base);
    WriteRuns(json, "cand_runs", pair.cand);
    json.Key("verdicts").BeginArray();
    for (const Verdict& verdict : pair.verdicts) {
      json.BeginObject().Key("metric").String(verdict.metric).Key("rule").String(verdict.rule);
      json.Key("rule_version").Int(kRuleVersion);
      json.Key("base").Raw(Number(verdict.base)).Key("cand").Raw(Number(verdict.cand));
      WriteMaybe(json, "ratio", verdict.ratio);
      WriteMaybe(json, "low", verdict.low);
      WriteMaybe(json, "high", verdict.high);
      WriteMaybe(json, "p", verdict.p);
      WriteMaybe(json, "floor", verdict.floor);
      json.Key("result").String(Name(verdict.result)).Key("reason").String(verdict.reason).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
  WriteStrings(json, "only_base", comparison.only_base);
  WriteStrings(json, "only_cand", comparison.only_cand);
  return json.EndObject().TakeText() + "\n";
}

}  // namespace

void DeclareSides(po::options_description_easy_init& add) {
  const auto texts = [] { return po::value<std::vector<std::string>>()->composing(); };
  for (const std::string side : {"base", "cand"}) {
    add((side + "-run").c_str(), texts(), "only these runs: id in the store, or the beginning of a uuid");
    add((side + "-tag").c_str(), texts(), "only runs with this tag");
    add((side + "-revision").c_str(), texts(), "only runs of this git revision (its beginning)");
    add((side + "-strategy").c_str(), po::value<std::string>(), "compare this strategy with the other side's");
  }
  add("program,p", texts(), "only this program: module name or number");
  add("backend,b", texts(), "only runs on this backend");
  add("seed", po::value<std::string>()->default_value("1"), "of the bootstrap");
  add("all", po::bool_switch(), "show what did not change, too");
  add("format,f", po::value<std::string>()->default_value("table"), "table, json, csv or markdown");
}

Result<Sides> CompareSides(const Arguments& arguments) {
  Sides sides;
  sides.base_path = arguments.positional[0];
  sides.cand_path = arguments.positional.size() > 1 ? arguments.positional[1] : sides.base_path;
  REMAPLAB_ASSIGN(const RunSelection base_selection, SelectSide(arguments, "base"));
  REMAPLAB_ASSIGN(const RunSelection cand_selection, SelectSide(arguments, "cand"));
  if (base_selection.strategies.empty() != cand_selection.strategies.empty()) {
    return Fail(ErrorCode::kUsage, "--base-strategy and --cand-strategy belong together");
  }
  if (sides.base_path == sides.cand_path && base_selection.empty() && cand_selection.empty()) {
    return Fail(ErrorCode::kUsage,
                "one store has two sides only with a selection, e.g. --base-tag before --cand-tag after");
  }
  CompareOptions options;
  options.across_strategies = !base_selection.strategies.empty();
  REMAPLAB_ASSIGN(options.seed, ParseUInt(arguments.Get("seed"), "--seed"));
  REMAPLAB_ASSIGN(Store base_store, Store::OpenForReading(sides.base_path));
  REMAPLAB_ASSIGN(Store cand_store, Store::OpenForReading(sides.cand_path));
  REMAPLAB_ASSIGN(std::vector<RunRecord> base, LoadSide(base_store, base_selection, arguments));
  REMAPLAB_ASSIGN(std::vector<RunRecord> cand, LoadSide(cand_store, cand_selection, arguments));
  REMAPLAB_ASSIGN(const std::vector<RunRecord> floor_runs, LoadRuns(base_store, {}));
  sides.comparison = Compare(std::move(base), std::move(cand), floor_runs, options);
  return sides;
}

std::string_view OutcomeName(int exit_code) {
  constexpr std::array<std::string_view, 5> kNames = {"pass", "regression", "error", "ambiguous", "invalid"};
  return kNames[static_cast<size_t>(exit_code)];
}

std::string RenderComparison(const Comparison& comparison, int exit_code, Format format, bool all) {
  if (format == Format::kJson) {
    return RenderJson(comparison, exit_code);
  }
  if (format == Format::kCsv) {
    return FullTable(comparison).Render(format);
  }
  const Table table = ShownTable(comparison, all);
  const std::string rows = table.rows.empty() ? std::string() : table.Render(format) + "\n";
  return rows + Describe(comparison, exit_code);
}

}  // namespace remaplab::cli

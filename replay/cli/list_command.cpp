// remaplab list: strategies, backends, cost and driver profiles.
#include <fmt/format.h>

#include "backends/profiles/cost_profile.h"
#include "backends/registry.h"
#include "backends/sim/driver_profile.h"
#include "engine/strategy.h"
#include "replay/cli/command.h"
#include "replay/cli/commands.h"
#include "replay/cli/table.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  add("strategies", po::bool_switch(), "only the strategies with their parameters");
  add("backends", po::bool_switch(), "only the backends, and why one cannot run here");
  add("profiles", po::bool_switch(), "only the cost and driver profiles");
  add("format,f", po::value<std::string>()->default_value("table"), "table, json, csv or markdown");
}

Table StrategyTable() {
  Table table{{"strategy", "parameters", "what it does"}, {}};
  for (const StrategyInfo& info : Strategies()) {
    std::string parameters;
    for (const ParameterInfo& parameter : info.parameters) {
      fmt::format_to(std::back_inserter(parameters), "{}{}={} ({})", parameters.empty() ? "" : ", ", parameter.name,
                     parameter.default_value, parameter.values);
    }
    table.rows.push_back({info.name, parameters, info.description});
  }
  return table;
}

Table BackendTable() {
  Table table{{"backend", "can run here", "what it is"}, {}};
  for (const BackendEntry& entry : Backends()) {
    const std::optional<std::string> why_not = entry.unavailable();
    table.rows.push_back({entry.name, why_not ? fmt::format("no: {}", *why_not) : "yes", entry.description});
  }
  return table;
}

Table CostProfileTable() {
  Table table{{"cost profile", "quality", "device", "driver", "date", "origin"}, {}};
  for (const CostProfile& profile : BuiltinCostProfiles()) {
    table.rows.push_back({profile.name, profile.quality, profile.device, profile.driver, profile.date, profile.origin});
  }
  return table;
}

Table DriverProfileTable() {
  Table table{{"driver profile", "what it is"}, {}};
  for (const DriverProfile& profile : DriverProfiles()) {
    table.rows.push_back({profile.name, profile.description});
  }
  return table;
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  const bool all = !arguments.On("strategies") && !arguments.On("backends") && !arguments.On("profiles");
  std::vector<std::pair<std::string_view, Table>> tables;
  if (all || arguments.On("strategies")) {
    tables.emplace_back("strategies", StrategyTable());
  }
  if (all || arguments.On("backends")) {
    tables.emplace_back("backends", BackendTable());
  }
  if (all || arguments.On("profiles")) {
    tables.emplace_back("cost_profiles", CostProfileTable());
    tables.emplace_back("driver_profiles", DriverProfileTable());
  }
  std::string text;
  for (const auto& [name, table] : tables) {
    if (format == Format::kJson) {
      std::string rows = table.Render(format);
      rows.pop_back();
      text += fmt::format("{}\"{}\":{}", text.empty() ? "{" : ",", name, rows);
    } else {
      text += (text.empty() ? "" : "\n") + table.Render(format);
    }
  }
  REMAPLAB_TRY(Print(format == Format::kJson ? text + "}\n" : text));
  return kOk;
}

}  // namespace

const Command kListCommand = {
    .name = "list",
    .summary = "strategies, backends and profiles, with descriptions",
    .positional = "",
    .example =
        "  remaplab list --profiles\n"
        "  which cost profiles were measured, which were fitted, and where their numbers come from",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli

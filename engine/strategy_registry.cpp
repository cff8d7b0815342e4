// The table of strategies, and how a text becomes one.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/parse.h"
#include "engine/strategies/entries.h"
#include "engine/strategy.h"

namespace remaplab {
namespace {

constexpr std::array<const StrategyEntry*, 9> kEntries = {&kFullRemap, &kSkipRemap,  &kCopyShadow,
                                                          &kNoRemap,   &kSkipTemp,   &kSkipProfiled,
                                                          &kTwoRanges, &kCachedSets, &kAdaptive};

Result<const StrategyEntry*> FindEntry(std::string_view name) {
  std::string known;
  for (const StrategyEntry* entry : kEntries) {
    if (entry->info.name == name) {
      return entry;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry->info.name);
  }
  if (name == "oracle") {
    return Fail(ErrorCode::kUsage,
                "oracle is not a strategy: it is a computed bound that replay prints beside every strategy on sim");
  }
  return Fail(ErrorCode::kUsage, fmt::format("unknown strategy '{}'; known are {}", name, known));
}

Status CheckParameterNames(const StrategyTerm& term, const StrategyInfo& info) {
  for (const auto& [name, value] : term.parameters) {
    bool found = false;
    std::string known;
    for (const ParameterInfo& parameter : info.parameters) {
      found |= parameter.name == name;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", parameter.name);
    }
    if (!found) {
      return Fail(ErrorCode::kUsage, fmt::format("{} has no parameter '{}'{}{}", info.name, name,
                                                 known.empty() ? "; it has none" : "; it has ", known));
    }
  }
  return {};
}

// Whether `term` can follow `before`, if that is not empty.
Status CheckCombination(std::string_view before, const StrategyTerm& term) {
  REMAPLAB_ASSIGN(const StrategyEntry* entry, FindEntry(term.name));
  REMAPLAB_TRY(CheckParameterNames(term, entry->info));
  if (before.empty()) {
    return {};
  }
  REMAPLAB_ASSIGN(const StrategyEntry* base, FindEntry(before));
  if (entry->modify == nullptr) {
    return Fail(ErrorCode::kUsage,
                fmt::format("'{}+{}' means nothing: both say how the mapped slots are kept current; only copy_shadow "
                            "can follow another strategy",
                            before, term.name));
  }
  if (base == entry) {
    return Fail(ErrorCode::kUsage, fmt::format("'{0}+{0}' means nothing: one threshold decides", term.name));
  }
  if (!base->unmodifiable.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("'{}+{}' means nothing: {}", before, term.name, base->unmodifiable));
  }
  return {};
}

// A reservation holds one mapping at most where map and unmap act on whole reservations (ROCm 6.1).
Status CheckSubRangeMapping(std::string_view name, const StrategyContext& context) {
  if (context.capabilities.sub_range_mapping || name == "no_remap") {
    return {};
  }
  const std::vector<SlotSpec>& slots = context.program.slots;
  const auto mapped = std::count_if(slots.begin(), slots.end(), [&](const SlotSpec& slot) {
    return name != "skip_temp" || slot.kind == SlotKind::kTemp;
  });
  if (mapped <= 1) {
    return {};
  }
  return Fail(ErrorCode::kUnsupported,
              fmt::format("{} maps {} slots into one reservation, and {} maps and unmaps whole reservations only; use "
                          "no_remap",
                          name, mapped, context.driver));
}

}  // namespace

std::string_view Parameters::Text(std::string_view name) const {
  for (const auto& [given, value] : term_.parameters) {
    if (given == name) {
      return value;
    }
  }
  for (const ParameterInfo& parameter : info_.parameters) {
    if (parameter.name == name) {
      return parameter.default_value;
    }
  }
  return {};
}

Result<size_t> Parameters::OneOf(std::string_view name, std::initializer_list<std::string_view> allowed) const {
  const std::string_view text = Text(name);
  std::string choices;
  size_t position = 0;
  for (const std::string_view value : allowed) {
    if (value == text) {
      return position;
    }
    choices += fmt::format("{}{}", choices.empty() ? "" : ", ", value);
    ++position;
  }
  return Fail(ErrorCode::kUsage, fmt::format("{}: {}={} is not one of {}", info_.name, name, text, choices));
}

Result<uint64_t> Parameters::Count(std::string_view name, uint64_t minimum, uint64_t maximum) const {
  REMAPLAB_ASSIGN(const uint64_t value, ParseUInt(Text(name), fmt::format("{}: {}", info_.name, name)));
  if (value < minimum || value > maximum) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}: {}={} is not between {} and {}", info_.name, name, value, minimum, maximum));
  }
  return value;
}

Result<AccessGrain> ReadAccessGrain(const Parameters& parameters, const StrategyContext& context) {
  REMAPLAB_ASSIGN(const size_t grain, parameters.OneOf("access", {"range", "run", "slot"}));
  using Partial = Capabilities::PartialAccess;
  const Partial partial = context.capabilities.partial_access;
  const bool for_peers = context.program.devices > 1;
  if (grain != 0 && (partial == Partial::kNone || (partial == Partial::kOwnerOnly && for_peers))) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("access={} needs set access on part of a range, which {} refuses{} (rule 6); use access=range",
                    parameters.Text("access"), context.driver, partial == Partial::kNone ? "" : " for peers"));
  }
  return static_cast<AccessGrain>(grain);
}

std::vector<StrategyInfo> Strategies() {
  std::vector<StrategyInfo> infos;
  infos.reserve(kEntries.size());
  for (const StrategyEntry* entry : kEntries) {
    infos.push_back(entry->info);
  }
  return infos;
}

std::string_view DefaultStrategy(std::string_view driver) {
  return driver.starts_with("rocm") ? "skip_remap" : "full_remap";
}

Result<Strategy> MakeStrategy(std::string_view text, const StrategyContext& context) {
  REMAPLAB_ASSIGN(const std::vector<StrategyTerm> terms, ParseStrategyText(text));
  std::string_view before;
  for (const StrategyTerm& term : terms) {
    REMAPLAB_TRY(CheckCombination(before, term));
    before = term.name;
  }
  REMAPLAB_TRY(CheckSubRangeMapping(terms.front().name, context));
  Strategy strategy;
  for (const StrategyTerm& term : terms) {
    REMAPLAB_ASSIGN(const StrategyEntry* entry, FindEntry(term.name));
    const Parameters parameters(term, entry->info);
    REMAPLAB_TRY(&term == &terms.front() ? entry->make(parameters, context, strategy)
                                         : entry->modify(parameters, context, strategy));
  }
  strategy.text = StrategyTextOf(terms);
  return strategy;
}

}  // namespace remaplab

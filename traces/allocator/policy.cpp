#include "traces/allocator/policy.h"

#include <fmt/format.h>

#include <array>

#include "traces/allocator/arena_model.h"
#include "traces/allocator/best_fit_model.h"
#include "traces/allocator/size_class_models.h"

namespace remaplab {
namespace {

constexpr uint64_t kUsualGranularity = 2097152;

constexpr std::array<AllocatorPolicyInfo, 7> kPolicies = {{
    {AllocatorPolicy::kRecorded, "recorded", "what the recording's allocator did"},
    {AllocatorPolicy::kFifo, "fifo",
     "memory of the same rounded size, freed longest ago (XLA's VMM allocator). Never waits; buffers that outlive a "
     "step "
     "make their whole size class move on every step"},
    {AllocatorPolicy::kSmallest, "smallest",
     "memory of the same rounded size, lowest address. Wins when the same requests come back in the same order; loses "
     "when another program's requests come between"},
    {AllocatorPolicy::kBestFit, "best_fit",
     "the smallest kept memory that is large enough. Takes the least from the device; loses stability to whatever "
     "small "
     "request sits in a large memory"},
    {AllocatorPolicy::kIdStable, "id_stable",
     "memory of its own for each program's slot. A slot whose buffers outlive a step by k goes round in k + 1 "
     "memories, so "
     "that sets of bindings repeat exactly: with cached_sets(k=2) the cheapest for runs that do not donate. Loses a "
     "little "
     "memory: what is free for one slot is not given to another"},
    {AllocatorPolicy::kArena, "arena",
     "one range, first fit, split and merged. No rounding to the granularity; every size change moves what comes after "
     "it"},
    {AllocatorPolicy::kBfc, "bfc", "one range, best fit, split and merged (XLA's arena allocator)"},
}};

}  // namespace

std::span<const AllocatorPolicyInfo> AllocatorPolicies() { return kPolicies; }

Result<AllocatorPolicy> ParseAllocatorPolicy(std::string_view name) {
  std::string names;
  for (const AllocatorPolicyInfo& info : kPolicies) {
    if (info.name == name) {
      return info.policy;
    }
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  return Fail(ErrorCode::kUsage, fmt::format("allocator '{}' is not one of {}", name, names));
}

std::string_view Name(AllocatorPolicy policy) { return kPolicies[static_cast<size_t>(policy)].name; }

std::unique_ptr<AllocatorModel> MakeAllocatorModel(AllocatorPolicy policy, uint64_t granularity) {
  const uint64_t rounding = granularity == 0 ? kUsualGranularity : granularity;
  switch (policy) {
    case AllocatorPolicy::kFifo:
      return std::make_unique<FifoModel>(rounding);
    case AllocatorPolicy::kSmallest:
      return std::make_unique<SmallestModel>(rounding);
    case AllocatorPolicy::kBestFit:
      return std::make_unique<BestFitModel>(rounding);
    case AllocatorPolicy::kIdStable:
      return std::make_unique<IdStableModel>(rounding);
    case AllocatorPolicy::kArena:
      return std::make_unique<ArenaModel>(ArenaModel::Fit::kFirst);
    case AllocatorPolicy::kBfc:
      return std::make_unique<ArenaModel>(ArenaModel::Fit::kBest);
    case AllocatorPolicy::kRecorded:
      break;
  }
  return nullptr;
}

}  // namespace remaplab

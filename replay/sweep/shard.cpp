#include "replay/sweep/shard.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/parse.h"

namespace remaplab {
namespace {

constexpr uint64_t kMaxShards = 1'000'000;

struct Source {
  std::string_view name;
  const char* index;
  const char* count;
  const char* first;  // value of the lowest index; nullptr: 0
  const char* step;   // between indices; nullptr: 1
};

constexpr std::array<Source, 4> kSources = {{
    {"Slurm array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", nullptr, nullptr},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr, nullptr},
    {"PMI", "PMI_RANK", "PMI_SIZE", nullptr, nullptr},
}};

constexpr std::array<const char*, 3> kLocalRanks = {"SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"};
constexpr std::array<const char*, 3> kVisibleDevices = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                                        "CUDA_VISIBLE_DEVICES"};

Result<uint64_t> Number(const Environment& environment, const char* name, uint64_t unset) {
  const char* text = name == nullptr ? nullptr : environment(name);
  return text == nullptr ? Result<uint64_t>(unset) : ParseUInt(text, name);
}

bool IsSet(const Source& source, const Environment& environment) {
  return environment(source.index) != nullptr && environment(source.count) != nullptr;
}

Result<Shard> ReadSource(const Source& source, const Environment& environment) {
  REMAPLAB_ASSIGN(const uint64_t id, Number(environment, source.index, 0));
  REMAPLAB_ASSIGN(const uint64_t count, Number(environment, source.count, 1));
  REMAPLAB_ASSIGN(const uint64_t first, Number(environment, source.first, 0));
  REMAPLAB_ASSIGN(const uint64_t step, Number(environment, source.step, 1));
  if (count == 0 || count > kMaxShards) {
    return Fail(ErrorCode::kUsage, fmt::format("{}={} is not between 1 and {}", source.count, count, kMaxShards));
  }
  if (step == 0 || id < first || (id - first) % step != 0 || (id - first) / step >= count) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}={} is none of {} evenly spaced numbers from {}; say which part with --shard i/n",
                            source.index, id, count, first));
  }
  return Shard{.index = static_cast<uint32_t>((id - first) / step),
               .count = static_cast<uint32_t>(count),
               .source = fmt::format("{} ({}={})", source.name, source.index, id),
               .unused = {}};
}

}  // namespace

Result<Shard> ParseShard(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return Fail(ErrorCode::kUsage, fmt::format("--shard {} is not of the form i/n", text));
  }
  REMAPLAB_ASSIGN(const uint64_t index, ParseUInt(text.substr(0, slash), "--shard"));
  REMAPLAB_ASSIGN(const uint64_t count, ParseUInt(text.substr(slash + 1), "--shard"));
  if (count == 0 || count > kMaxShards || index >= count) {
    return Fail(
        ErrorCode::kUsage,
        fmt::format("--shard {} means nothing: i/n counts i from 0 to n - 1, with n at most {}", text, kMaxShards));
  }
  return Shard{
      .index = static_cast<uint32_t>(index), .count = static_cast<uint32_t>(count), .source = "--shard", .unused = {}};
}

Result<std::optional<Shard>> ShardFromEnvironment(const Environment& environment) {
  std::optional<Shard> shard;
  for (const Source& source : kSources) {
    if (!IsSet(source, environment)) {
      continue;
    }
    if (!shard) {
      REMAPLAB_ASSIGN(shard, ReadSource(source, environment));
    } else {
      shard->unused += fmt::format("{}{}", shard->unused.empty() ? "" : ", ", source.name);
    }
  }
  return shard;
}

Result<std::optional<uint32_t>> LocalRankFromEnvironment(const Environment& environment) {
  for (const char* name : kVisibleDevices) {
    if (environment(name) != nullptr) {
      return std::nullopt;
    }
  }
  for (const char* name : kLocalRanks) {
    if (environment(name) == nullptr) {
      continue;
    }
    REMAPLAB_ASSIGN(const uint64_t rank, Number(environment, name, 0));
    if (rank > std::numeric_limits<uint32_t>::max()) {
      return Fail(ErrorCode::kUsage, fmt::format("{}={} is out of range", name, rank));
    }
    return static_cast<uint32_t>(rank);
  }
  return std::nullopt;
}

}  // namespace remaplab

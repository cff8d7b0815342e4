// Which part of a sweep this process does, as the command line or the cluster's scheduler says. No scheduler is linked
// or spoken to: the environment variables that it sets are all that is read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace remaplab {

struct Shard {
  uint32_t index = 0;  // from 0
  uint32_t count = 1;
  std::string source;  // who said so, for people: "--shard", "Slurm array (SLURM_ARRAY_TASK_ID=3)"
  std::string unused;  // sources further down the order that were set too, for people; empty: none
};

// "i/n" with i from 0 to n - 1. Error kUsage.
Result<Shard> ParseShard(std::string_view text);

// Looks a variable up; nullptr when it is not set.
using Environment = std::function<const char*(const char* name)>;

// The first of these that is set, in this order: Slurm array, srun, Open MPI, PMI. Nothing when none is.
//   Slurm array  SLURM_ARRAY_TASK_ID, _COUNT, _MIN, _STEP; an array without even steps (--array=1,5,6) is refused
//   srun         SLURM_PROCID, SLURM_NTASKS
//   Open MPI     OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
//   PMI          PMI_RANK, PMI_SIZE (MPICH, Cray)
// A source with only a rank and no count is passed over. Error kUsage when a variable is no number or out of range.
Result<std::optional<Shard>> ShardFromEnvironment(const Environment& environment);

// The process's number on its host (SLURM_LOCALID, OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID), which picks its GPU.
// Nothing when none is set, or when somebody has narrowed the visible devices already.
Result<std::optional<uint32_t>> LocalRankFromEnvironment(const Environment& environment);

}  // namespace remaplab

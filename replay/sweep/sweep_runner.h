// Carries out cells of a sweep: worker threads in one process, one store. Cells that the store has finished already are
// left out, so that a sweep goes on where it was stopped.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/store.h"
#include "base/result.h"
#include "replay/sweep/plan.h"

namespace remaplab {

struct SweepProgress {
  uint64_t cells = 0;    // to be done by this process, skipped ones not counted
  uint64_t done = 0;     // finished by now
  uint64_t failed = 0;   // of those, with failed steps that nobody asked for, wrong tags, or a failed clean-up
  uint64_t skipped = 0;  // finished by an earlier run of the sweep
  std::chrono::nanoseconds elapsed{};
};

// Called after each cell, by the thread that did it; calls never overlap.
class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void OnCell(const SweepProgress& progress) = 0;
};

struct SweepOptions {
  uint32_t jobs = 1;                        // worker threads; 1 for anything measured, which they would disturb
  const std::atomic<bool>* stop = nullptr;  // set from outside: finish the cells that are running, begin no more
  std::string command_line;
  std::string tag;
};

// The shard's cells that the store has no finished run of.
Result<std::vector<const SweepCell*>> UnfinishedCells(const SweepGrid& grid, const Shard& shard, Store& store);

// Finds out before anything is stored whether every cell of the shard can be carried out here. Errors name the cell;
// kUsage when measured cells are to be run by more than one thread.
Status CheckCells(const SweepGrid& grid, const Shard& shard, uint32_t jobs);

// The first error stops the sweep, after the cells that are running; the store keeps what is finished and stays open.
// Being stopped is no error: then fewer are done than there are cells.
Result<SweepProgress> RunCells(const SweepGrid& grid, std::span<const SweepCell* const> cells, uint64_t skipped,
                               Store& store, const SweepOptions& options, SweepObserver& observer);

}  // namespace remaplab

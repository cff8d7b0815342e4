// The oracle: a lower bound on the simulated time of one program under one cost model, printed beside the strategies.
// It is not a strategy and makes no calls (definitions.md section 2).
//
// What it bounds. Let end[k] be the end of step k on the device, A the run-ahead, W the number of leading steps that a
// run's total leaves out (1 unless asked otherwise): the total is end[S] - end[W]. The bound is the larger of
//
//   GPU   the GPU time of steps W+1..S;
//   CPU   the host work of steps W+1+A..S, and for each of these steps the cheapest way to make those (slot, backing)
//         pairs visible that appear on it for the first time.
//
// Why nothing is below it.
//   GPU: a step's GPU work begins after the previous step's last operation, so end[k] >= end[k-1] + gpu[k]; copies only
//   add to that.
//   CPU: rule 1 of the time model lets step k begin only after end[k-1-A]; so all CPU time of steps W+1+A..S lies
//   after end[W], one call after the other, and what is counted of it precedes the last launch. (The CPU time of steps
//   W+1..W+A may hide behind step W, so it is not counted.)
//   First appearances: no command buffer has seen the pair, so its step must, by the slot's class,
//     mapped:    map it and give each device access: one map, and its part of D set_access calls;
//     shadowed:  copy at least one way: one enqueue, on every step;
//     dynamic:   write its address: its part of one update, or of one capture, when the layout changes.
//   What such calls cost besides (their fixed part, and a command buffer's commands) is due once per step for each kind
//   that is used; every mixture of classes is compared and the cheapest one counted. Waits, unmaps, captures and
//   shadows' GPU time are counted as nothing, and each call as idle or contended, whichever is cheaper.
//   Steps without a command buffer (skip_profiled watches so after each declaration of the slot table) need not make
//   anything visible. So the bound takes the best number P of such steps: P watched steps are free, then comes a
//   capture. Every P that still makes a command buffer is covered, and skip_profiled's default; a longer watch makes
//   nothing visible at all, and is not compared.
//
// Parts of calls are rounded down, so that sums of parts never exceed the rounded whole.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "engine/cost_model.h"
#include "engine/session.h"
#include "engine/types.h"

namespace remaplab {

// Fed with what a session is fed with: Declare before the first step and wherever the session is told to Redeclare,
// Step for each step. Work in proportion to what changed. The cost model must outlive it.
class Oracle {
 public:
  Oracle(const CostModel& costs, uint32_t run_ahead, int64_t host_step_ns, uint64_t warmup = 1);

  void Declare(const ProgramSpec& program);
  void Step(std::span<const SlotChange> changes, int64_t gpu_ns);

  // Over the steps after the warm-up.
  int64_t TotalNs() const;

 private:
  // The least that each class pays for a pair, by slot.
  struct SlotShares {
    int64_t copy_ns = 0;
    int64_t map_ns = 0;  // map and set_access
  };
  // What comes once per step, and per address that changes.
  struct Baking {
    int64_t once_ns = 0;
    int64_t each_ns = 0;
  };

  int64_t Cheapest(const CallShape& shape) const;
  int64_t Part(CallShape whole, CallShape without) const;
  Baking BakingCost(CallKind kind, uint32_t commands) const;
  // Whether all CPU time of this step lies after the warm-up's end.
  bool Counted(uint64_t step) const { return step > warmup_ + run_ahead_; }
  bool AppearsFirst(uint32_t slot_index, BackingId backing);
  int64_t CheapestMixture() const;

  const CostModel& costs_;
  uint32_t run_ahead_;
  int64_t host_step_ns_;
  uint64_t warmup_;

  std::vector<SlotSpec> slots_;
  std::vector<SlotShares> shares_;
  int64_t access_once_ns_ = 0;
  Baking update_;
  Baking capture_;

  // Most backings only ever serve one slot: that one is kept by backing, the others as pairs.
  std::vector<uint32_t> first_slot_;
  std::unordered_set<uint64_t> other_pairs_;
  std::vector<uint32_t> fresh_;  // scratch: slots whose pair appears first on this step

  uint64_t steps_ = 0;
  int64_t gpu_ns_ = 0;
  int64_t host_ns_ = 0;

  // From one declaration to the next.
  struct Segment {
    int64_t capture_ns = 0;
    uint64_t first_step = 0;
    std::vector<int64_t> visible_ns;  // by step: what its first appearances cost, 0 where not counted
  };
  std::vector<Segment> segments_;
};

}  // namespace remaplab

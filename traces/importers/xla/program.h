// One executable on one device: its slots, and how each execution's lines become a step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/importers/xla/address_table.h"
#include "traces/importers/xla/assignment.h"
#include "traces/importers/xla/backings.h"
#include "traces/importers/xla/execution.h"
#include "traces/writer.h"

namespace remaplab::xla {

// What happened to slots that a cut table hid. One per (slot, step).
struct HiddenCounts {
  uint64_t recovered = 0;          // an allocator line or a "Mapping allocation" line tells the address
  uint64_t without_address = 0;    // known to be new or changed, but nothing tells where it is
  uint64_t assumed_unchanged = 0;  // nothing tells whether it changed
  uint64_t misaligned = 0;         // executions whose allocator lines do not fit the assignment
};

class Program {
 public:
  // `assignment`: nullptr without one. `commands`: 0 when unknown.
  Program(uint32_t id, const Execution& execution, const Assignment* assignment, uint32_t commands);

  // Whether `assignment` can be the one of an executable that printed `table` and allocated `execution.allocated`.
  static bool Fits(const Assignment& assignment, const Execution& execution, uint64_t granularity);

  // Takes the execution's table over. False: it is another executable's.
  bool Take(const Execution& execution, uint64_t granularity);

  // Writes the execution whose table was taken as the program's next step. `changed_lines`: the log has "changed
  // address" lines, so that their absence means something.
  void WriteStep(const Execution& execution, bool changed_lines, Backings& backings, TraceWriter& writer,
                 HiddenCounts& hidden);

  uint32_t id() const { return id_; }
  const std::string& module() const { return declaration_.module; }
  int32_t device() const { return declaration_.device; }
  size_t slots() const { return declaration_.slots.size(); }
  uint64_t steps() const { return steps_; }
  bool assigned() const { return assigned_; }
  bool has_table() const { return has_table_; }
  const AddressTable& table() const { return table_; }

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  void DeclareSlots(const Execution& execution, const Assignment* assignment);
  uint32_t SlotOf(uint32_t index) const;  // kNoSlot when there is none
  void MapNewEntries();
  bool AlignAllocated(const Execution& execution, bool temps);
  void BindVisible(const Execution& execution, size_t position, Backings& backings);
  void BindHidden(const Execution& execution, uint32_t slot, bool aligned, bool changed_lines, Backings& backings,
                  HiddenCounts& hidden);
  void Bind(uint32_t slot, uint64_t backing);
  void BindUnknown(uint32_t slot, int64_t t, Backings& backings);
  void ReplaceEnded(int64_t t, Backings& backings);

  uint32_t id_;
  TraceProgram declaration_;
  bool assigned_;
  bool has_table_ = false;
  bool from_mapping_ = false;  // the table is made of "Mapping allocation" lines
  uint64_t steps_ = 0;
  bool remapped_before_ = false;
  uint64_t epoch_ = 0;

  AddressTable table_;
  std::vector<size_t> changed_;          // positions in table_ to look at
  std::vector<uint32_t> slot_of_entry_;  // per entry of table_; kNoSlot
  std::vector<uint32_t> per_execution_;  // slots that are allocated on each execution, ascending
  std::vector<uint64_t> aligned_;        // per slot: the address that an allocator line tells; 0 for none

  std::vector<uint64_t> bound_;    // per slot
  std::vector<bool> unknown_;      // per slot: bound to memory without address
  std::vector<uint32_t> rebound_;  // slots bound in this step
  std::vector<uint64_t> retired_;  // unknown memory that slots left in this step
  std::vector<TraceBind> bind_;
};

// "Buffer 3 -> 0x... (64 B); ..." of the "Mapping allocation" lines, for logs without address tables.
std::string TableOfMapped(std::span<const TableEntry> mapped);

}  // namespace remaplab::xla

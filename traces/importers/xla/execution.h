// What one thread has printed about one execution of a program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "traces/importers/xla/address_table.h"
#include "traces/trace.h"

namespace remaplab::xla {

struct AllocatedLine {
  uint64_t address = 0;
  uint64_t size = 0;
};

struct Execution {
  bool open = false;
  bool has_table = false;
  bool has_changed = false;     // a "changed address" line was there
  bool changed_cut = false;     // and it was cut short
  bool remapped = false;        // some slots are bound to places in a reservation on this execution
  bool shadowed = false;        // small slots were copied, and have no "Mapping allocation" line
  bool copy_protected = false;  // outputs got fresh memory after the table was printed
  int32_t device = -1;
  int64_t t = kUnknownTime;
  uint32_t commands = 0;  // of the command buffers that were built in this execution
  std::string module;
  std::string table;
  std::vector<AllocatedLine> allocated;  // what this thread allocated before the table, oldest first
  std::vector<uint32_t> changed;         // indexes in the "changed address" line, ascending
  std::vector<TableEntry> mapped;        // the "Mapping allocation" lines, ascending by index
  std::vector<TraceTiming> timings;

  // Ready for the thread's next execution; keeps capacity.
  void Clear() {
    open = has_table = changed_cut = remapped = shadowed = copy_protected = false;
    device = -1;
    t = kUnknownTime;
    commands = 0;
    module.clear();
    table.clear();
    allocated.clear();
    changed.clear();
    mapped.clear();
    timings.clear();
  }

  bool ListedAsChanged(uint32_t index) const { return std::binary_search(changed.begin(), changed.end(), index); }

  // The "Mapping allocation" line of a slot; nullptr without one.
  const TableEntry* Mapped(uint32_t index) const {
    const auto found = std::lower_bound(mapped.begin(), mapped.end(), index,
                                        [](const TableEntry& entry, uint32_t wanted) { return entry.index < wanted; });
    return found != mapped.end() && found->index == index ? &*found : nullptr;
  }
};

}  // namespace remaplab::xla

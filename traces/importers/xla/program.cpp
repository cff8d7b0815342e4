#include "traces/importers/xla/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace remaplab::xla {
namespace {

constexpr size_t kMostSlotBytes = size_t{1} << 56;  // of a program, as the format has it

// The last sizes of `allocated` are those of `expected`, in order; `use(k, address)` for each. A temp may be missing.
template <typename SizeOf, typename Use>
bool AlignFromEnd(const std::vector<AllocatedLine>& allocated, size_t expected, SizeOf size_of, Use use) {
  size_t line = allocated.size();
  for (size_t k = expected; k-- > 0;) {
    if (line == 0 || allocated[line - 1].size != size_of(k)) {
      return false;
    }
    use(k, allocated[--line].address);
  }
  return true;
}

}  // namespace

std::string TableOfMapped(std::span<const TableEntry> mapped) {
  std::string table;
  for (const TableEntry& entry : mapped) {
    fmt::format_to(std::back_inserter(table), "{}Buffer {} -> {:#x} ({} B)", table.empty() ? "" : "; ", entry.index,
                   entry.address, entry.size);
  }
  return table;
}

bool Program::Fits(const Assignment& assignment, const Execution& execution, uint64_t granularity) {
  AddressTable table;
  if (execution.table.empty() || !table.Read(execution.table)) {
    // Only allocator lines: all that is allocated per execution must be there, in order.
    std::vector<uint64_t> sizes;
    for (const Allocation& allocation : assignment.allocations) {
      if (allocation.allocated_per_execution()) {
        sizes.push_back(allocation.size);
      }
    }
    return sizes.size() > 1 &&
           AlignFromEnd(
               execution.allocated, sizes.size(), [&](size_t k) { return sizes[k]; }, [](size_t, uint64_t) {});
  }
  const auto& allocations = assignment.allocations;
  const uint32_t last = table.entries().back().index;
  if (!table.cut() && execution.has_table && last < allocations.back().index) {
    return false;
  }
  size_t matched = 0;
  auto allocation = allocations.begin();
  for (const TableEntry& entry : table.entries()) {
    allocation =
        std::find_if(allocation, allocations.end(), [&](const Allocation& a) { return a.index >= entry.index; });
    if (allocation == allocations.end()) {
      break;  // passes after the dump may append allocations
    }
    if (allocation->index != entry.index) {
      return false;
    }
    if (allocation->thread_local_) {
      if (entry.address != 0) {
        return false;
      }
      continue;
    }
    if (allocation->constant) {
      continue;  // XLA gives them memory of other sizes
    }
    const bool rounded =
        granularity > 0 && (allocation->size + granularity - 1) / granularity * granularity == entry.size;
    if (entry.size != allocation->size && !rounded && entry.address != 0) {
      return false;
    }
    matched += entry.address != 0 ? 1 : 0;
  }
  return matched > 0;
}

Program::Program(uint32_t id, const Execution& execution, const Assignment* assignment, uint32_t commands)
    : id_(id), assigned_(assignment != nullptr) {
  declaration_.id = id;
  declaration_.module = execution.module;
  declaration_.device = std::max(execution.device, 0);
  declaration_.commands = commands;
  from_mapping_ = !execution.has_table && !execution.mapped.empty();
  has_table_ = !execution.table.empty() && table_.Read(execution.table);
  DeclareSlots(execution, assignment);
  MapNewEntries();
  for (size_t position = 0; position < table_.visible(); ++position) {
    changed_.push_back(position);
  }
}

void Program::DeclareSlots(const Execution& execution, const Assignment* assignment) {
  std::vector<TraceSlot>& slots = declaration_.slots;
  uint32_t beyond = 0;  // entries from this index on are not in the assignment
  if (assignment != nullptr) {
    for (const Allocation& allocation : assignment->allocations) {
      beyond = allocation.index + 1;
      if (allocation.is_slot() && (!from_mapping_ || execution.Mapped(allocation.index) != nullptr)) {
        if (allocation.allocated_per_execution()) {
          per_execution_.push_back(static_cast<uint32_t>(slots.size()));
        }
        slots.push_back({allocation.index, allocation.size, allocation.space, allocation.kind(), allocation.access()});
      }
    }
  }
  for (const TableEntry& entry : table_.entries()) {
    if (entry.index >= beyond && entry.address != 0 && entry.size > 0) {
      slots.push_back({entry.index, entry.size});
      beyond = entry.index + 1;
    }
  }
  // What the cut table hides and the mapping lines show.
  for (const TableEntry& entry : execution.mapped) {
    if (entry.index >= beyond && entry.size > 0) {
      slots.push_back({entry.index, entry.size});
    }
  }
  uint64_t total = 0;
  for (TraceSlot& slot : slots) {
    if (!execution.mapped.empty()) {
      slot.in_command_buffer = execution.Mapped(slot.index) != nullptr ? Tristate::kYes
                               : execution.shadowed                    ? Tristate::kUnknown
                                                                       : Tristate::kNo;
    }
    total += slot.size;
  }
  if (total > kMostSlotBytes) {
    slots.clear();  // damaged sizes; no memory is that large
    per_execution_.clear();
  }
  bound_.assign(slots.size(), kNullBacking);
  unknown_.assign(slots.size(), false);
  aligned_.assign(slots.size(), 0);
}

uint32_t Program::SlotOf(uint32_t index) const {
  const auto& slots = declaration_.slots;
  const auto slot = std::lower_bound(slots.begin(), slots.end(), index,
                                     [](const TraceSlot& a, uint32_t wanted) { return a.index < wanted; });
  return slot != slots.end() && slot->index == index ? static_cast<uint32_t>(slot - slots.begin()) : kNoSlot;
}

void Program::MapNewEntries() {
  for (size_t position = slot_of_entry_.size(); position < table_.entries().size(); ++position) {
    slot_of_entry_.push_back(SlotOf(table_.entries()[position].index));
  }
}

bool Program::Take(const Execution& execution, uint64_t granularity) {
  if (execution.table.empty()) {
    changed_.clear();
    return true;
  }
  if (!has_table_ || table_.Update(execution.table, granularity, changed_) != AddressTable::Match::kSame) {
    return false;
  }
  MapNewEntries();
  return true;
}

bool Program::AlignAllocated(const Execution& execution, bool temps) {
  const auto& slots = declaration_.slots;
  std::vector<uint32_t> expected;
  for (const uint32_t slot : per_execution_) {
    if (temps || slots[slot].kind != SlotKind::kTemp) {
      expected.push_back(slot);
    }
  }
  std::fill(aligned_.begin(), aligned_.end(), 0);
  bool fits = AlignFromEnd(
      execution.allocated, expected.size(), [&](size_t k) { return slots[expected[k]].size; },
      [&](size_t k, uint64_t address) { aligned_[expected[k]] = address; });
  // What the table shows must agree.
  for (size_t position = 0; fits && !execution.table.empty() && position < table_.visible(); ++position) {
    const uint32_t slot = slot_of_entry_[position];
    fits = slot == kNoSlot || aligned_[slot] == 0 || aligned_[slot] == table_.entries()[position].address;
  }
  if (!fits) {
    std::fill(aligned_.begin(), aligned_.end(), 0);
  }
  return fits;
}

void Program::Bind(uint32_t slot, uint64_t backing) {
  if (bound_[slot] == backing) {
    return;
  }
  if (unknown_[slot]) {
    retired_.push_back(bound_[slot]);
    unknown_[slot] = false;
  }
  bound_[slot] = backing;
  rebound_.push_back(slot);
}

void Program::BindUnknown(uint32_t slot, int64_t t, Backings& backings) {
  Bind(slot, backings.BindUnknown(declaration_.slots[slot].size, t));
  unknown_[slot] = true;
}

void Program::BindVisible(const Execution& execution, size_t position, Backings& backings) {
  const uint32_t slot = slot_of_entry_[position];
  if (slot == kNoSlot) {
    return;
  }
  const TableEntry& entry = table_.entries()[position];
  Bind(slot, entry.address == 0
                 ? kNullBacking
                 : backings.Bind(device(), entry.address, std::max<uint64_t>(entry.size, 1), execution.t));
}

void Program::BindHidden(const Execution& execution, uint32_t slot, bool aligned, bool changed_lines,
                         Backings& backings, HiddenCounts& hidden) {
  const TraceSlot& declared = declaration_.slots[slot];
  const TableEntry* mapped = execution.Mapped(declared.index);
  const uint64_t address = mapped != nullptr ? mapped->address : aligned_[slot];
  if (address != 0) {
    ++hidden.recovered;
    Bind(slot, backings.Bind(device(), address, declared.size, execution.t));
    return;
  }
  const bool first = steps_ == 0;
  if (declared.kind == SlotKind::kTemp && aligned) {
    // The allocator lines fit without the temps: those are allocated inside the reservation, once, and stay there.
    if (!unknown_[slot]) {
      ++hidden.without_address;
      BindUnknown(slot, execution.t, backings);
    }
    return;
  }
  bool changed = first;
  bool known = first;
  if (!first && changed_lines && !(execution.changed_cut && declared.index > execution.changed.back())) {
    // With remapping, the line compares addresses after it: what moved into the reservation on this execution is
    // listed though its memory is the same, and what is in it already never is.
    changed = execution.ListedAsChanged(declared.index) && (!execution.remapped || remapped_before_);
    known = !execution.remapped || changed;
  }
  if (changed) {
    ++hidden.without_address;
    BindUnknown(slot, execution.t, backings);
  } else if (!known) {
    ++hidden.assumed_unchanged;
  }
}

void Program::ReplaceEnded(int64_t t, Backings& backings) {
  for (uint32_t slot = 0; slot < bound_.size(); ++slot) {
    if (bound_[slot] != kNullBacking && backings.Ended(bound_[slot])) {
      unknown_[slot] = false;
      BindUnknown(slot, t, backings);
    }
  }
}

void Program::WriteStep(const Execution& execution, bool changed_lines, Backings& backings, TraceWriter& writer,
                        HiddenCounts& hidden) {
  const auto& slots = declaration_.slots;
  rebound_.clear();
  retired_.clear();
  const bool first = steps_ == 0;
  if (first) {
    writer.Program(declaration_, execution.t);
  }
  const size_t visible = execution.table.empty() ? 0 : table_.visible();
  if (epoch_ != backings.epoch()) {
    for (size_t position = 0; position < visible; ++position) {
      BindVisible(execution, position, backings);
    }
  } else {
    for (const size_t position : changed_) {
      BindVisible(execution, position, backings);
    }
  }
  if (execution.copy_protected) {
    // Some outputs got fresh memory after the table was printed; the mapping lines, if there are any, came later still.
    for (const TableEntry& entry : execution.mapped) {
      if (const uint32_t slot = SlotOf(entry.index); slot != kNoSlot && entry.address != 0 && entry.size > 0) {
        Bind(slot, backings.Bind(device(), entry.address, entry.size, execution.t));
      }
    }
  }
  const bool some_hidden = visible == 0 || table_.cut();
  if (some_hidden && !from_mapping_) {
    bool with_temps = !per_execution_.empty() && AlignAllocated(execution, true);
    const bool without_temps = !per_execution_.empty() && !with_temps && AlignAllocated(execution, false);
    hidden.misaligned += per_execution_.empty() || with_temps || without_temps ? 0 : 1;
    const uint32_t shown = visible == 0 ? 0 : table_.entries()[visible - 1].index + 1;
    const auto begin = std::lower_bound(slots.begin(), slots.end(), shown,
                                        [](const TraceSlot& a, uint32_t wanted) { return a.index < wanted; });
    for (auto slot = static_cast<uint32_t>(begin - slots.begin()); slot < slots.size(); ++slot) {
      BindHidden(execution, slot, without_temps, changed_lines, backings, hidden);
    }
  }
  if (epoch_ != backings.epoch()) {
    ReplaceEnded(execution.t, backings);
    epoch_ = backings.epoch();
  }
  if (first) {
    rebound_.clear();
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      rebound_.push_back(slot);
    }
  } else {
    std::sort(rebound_.begin(), rebound_.end());
    rebound_.erase(std::unique(rebound_.begin(), rebound_.end()), rebound_.end());
  }
  bind_.clear();
  for (const uint32_t slot : rebound_) {
    bind_.push_back({slots[slot].index, bound_[slot]});
  }
  writer.Step({id_, ++steps_, execution.t, kUnknownTime, bind_});
  for (const TraceTiming& timing : execution.timings) {
    writer.Timing(timing, execution.t);
  }
  for (const uint64_t backing : retired_) {
    backings.EndUnknown(backing, execution.t);
  }
  remapped_before_ = remapped_before_ || execution.remapped;
}

}  // namespace remaplab::xla

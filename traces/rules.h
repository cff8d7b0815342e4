// What may follow what in a trace (traces/FORMAT.md): lives of backings, declarations of programs, completeness of
// bindings. Costs work in proportion to a record, not to the slots or backings that exist.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "traces/backing_ids.h"
#include "traces/record.h"

namespace remaplab {

class TraceRules {
 public:
  explicit TraceRules(uint64_t granularity) : granularity_(granularity) {}

  // Checks `record` against the records before it and fills its dense fields. Errors are kInput and start with the
  // event's name; nothing may be applied after one.
  Status Apply(TraceRecord& record);

  size_t backings() const { return ids_.size(); }
  uint64_t backing_id(uint32_t dense) const { return ids_.id(dense); }
  uint64_t backing_address(uint32_t dense) const { return address_[dense]; }

  // The three arrays of Trace, once nothing more is applied.
  std::vector<uint64_t> TakeIds() && { return std::move(ids_).TakeIds(); }
  std::vector<uint64_t> TakeAddresses() && { return std::move(address_); }
  std::vector<uint64_t> TakeSizes() && { return std::move(size_); }

 private:
  enum class Life : uint8_t { kAlive, kKept, kEnded };  // kept: freed by its user, still the allocator's

  struct Declaration {
    uint32_t number = 0;
    std::vector<uint32_t> index;    // the slot table's indexes
    std::vector<uint32_t> current;  // dense backing per position; meaningful after the first step
    bool stepped = false;
    std::vector<uint32_t> ended;  // backings whose life ended while bound somewhere, since this program's last step
  };

  Status Alloc(TraceRecord& record);
  Status Free(TraceRecord& record);
  Status Program(TraceRecord& record);
  Status ProgramEnd(TraceRecord& record);
  Status Step(TraceRecord& record);
  Status ResolveBind(const Declaration& program, TraceRecord& record);
  Status BindAll(Declaration& program, const TraceRecord& record);
  void BindChanged(Declaration& program, TraceRecord& record);
  Status CheckEnded(Declaration& program, const TraceRecord& record);
  Result<uint32_t> Known(std::string_view event, uint64_t backing) const;
  void NoteEnded(Declaration& program, uint32_t backing);
  void Bind(uint32_t& slot, uint32_t backing);
  void Unbind(Declaration& program);

  uint64_t granularity_;
  BackingIds ids_;
  std::vector<uint64_t> address_;
  std::vector<uint64_t> size_;
  std::vector<Life> life_;
  std::vector<uint32_t> bound_slots_;  // per backing: how many slots of all programs hold it now
  std::unordered_map<uint32_t, Declaration> programs_;
  uint32_t declarations_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> order_;  // scratch for bindings that do not ascend
};

}  // namespace remaplab

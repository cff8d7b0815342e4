// What the format allows and a careful reader still wants to know: the notes of `trace validate`. Looks at one record
// at a time, in memory that grows with the backings.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/record.h"

namespace remaplab {

class TraceValidator {
 public:
  explicit TraceValidator(uint64_t granularity) : granularity_(granularity) {}

  void Observe(const TraceRecord& record);

  struct Note {
    std::string text;
    uint64_t count = 0;
    uint64_t first_line = 0;
  };
  std::vector<Note> Notes() const;  // those that occurred

  uint64_t events() const { return events_; }
  uint64_t steps() const { return steps_; }
  uint64_t programs() const { return programs_.size(); }
  uint64_t backings() const { return backings_.size(); }

 private:
  enum Finding : size_t {
    kTimeGoesBack,
    kStepsDoNotAscend,
    kSlotLargerThanBacking,
    kBoundWhileKept,
    kAddressesOverlap,
    kFindings
  };
  struct Backing {
    uint64_t address;
    uint64_t size;
    bool kept;
  };
  struct Program {
    std::vector<uint64_t> sizes;  // per slot
    uint64_t last_step = 0;
    bool stepped = false;
  };

  void Add(Finding finding, uint64_t line);
  void Alloc(const TraceRecord& record);
  void Free(const TraceRecord& record);
  void Step(const TraceRecord& record);

  uint64_t granularity_;
  std::array<Note, kFindings> notes_;
  std::vector<Backing> backings_;                   // by dense number
  std::map<uint64_t, uint32_t> at_address_;         // where allocated backings begin
  std::unordered_map<uint32_t, Program> programs_;  // by id
  int64_t last_t_ = kUnknownTime;
  uint64_t events_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace remaplab

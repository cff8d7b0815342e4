// XLA's buffer assignment dump ("...-buffer-assignment.txt", xla-capture.md section 6.1): which allocations an
// executable has, their sizes, kinds and memory spaces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/vocabulary.h"

namespace remaplab::xla {

struct Allocation {
  uint32_t index = 0;
  uint64_t size = 0;
  int32_t space = 0;
  int64_t parameter = -1;  // the entry parameter's number; -1 when it is none
  bool constant = false;
  bool thread_local_ = false;
  bool live_out = false;
  bool temp = false;
  uint32_t values = 0;  // that live in it at one time or another; a parameter's own is one of them

  // A parameter that is also an output is a parameter: that is where its memory comes from.
  SlotKind kind() const {
    return parameter >= 0 ? SlotKind::kParameter
           : live_out     ? SlotKind::kOutput
           : temp         ? SlotKind::kTemp
                          : SlotKind::kUnknown;
  }
  // A parameter's memory in which no other value ever lives is never written.
  Access access() const { return parameter >= 0 && !live_out && values == 1 ? Access::kRead : Access::kUnknown; }
  bool is_slot() const { return !constant && !thread_local_ && size > 0; }
  // The executable allocates it on each execution, in ascending order of index.
  bool allocated_per_execution() const { return is_slot() && parameter < 0 && (live_out || temp); }
};

struct Assignment {
  std::string name;                     // of the file, for messages
  std::vector<Allocation> allocations;  // ascending by index
};

// kInput with file and line when it is no such dump; kIo.
Result<Assignment> LoadAssignment(const std::string& path);
Result<Assignment> ParseAssignment(std::string_view text, std::string name);

}  // namespace remaplab::xla

// What an importer has to say about a recording that it turned into a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/trace.h"

namespace remaplab {

struct ImportReport {
  struct Program {
    uint32_t id = 0;
    std::string module;
    int32_t device = 0;
    size_t slots = 0;
    uint64_t steps = 0;
    bool assigned = false;  // an assignment says its kinds
  };

  uint64_t steps = 0;
  std::vector<Program> programs;
  uint64_t granularity = 0;
  TraceIdentity identity = TraceIdentity::kAddress;
  uint64_t lost_events = 0;
  std::vector<std::string> notes;  // whole sentences about what was lost, assumed or recovered; for stderr
};

}  // namespace remaplab

// What an import counted: how much of the log was read, and what of it was lost, assumed or recovered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/importers/xla/program.h"

namespace remaplab::xla {

struct ImportCounts {
  uint64_t runs = 1;
  uint64_t tables = 0;
  uint64_t cut_tables = 0;
  uint64_t uncompleted_tables = 0;  // cut, and no assignment says what is missing
  uint64_t nameless = 0;            // tables of no module
  uint64_t without_table = 0;       // executions that nothing tells about
  uint64_t torn = 0;                // lines
  uint64_t copy_protected = 0;      // executions whose outputs got memory that no line tells
  uint64_t unknown_frees = 0;
  uint64_t missing_frees = 0;
  uint64_t found = 0;  // memory in tables that no allocator line told of
  HiddenCounts hidden;

  // Events of the run that the trace does not have, or has without proof.
  uint64_t Lost() const;
  // The object of the trace's end line.
  std::string Json() const;
  // Sentences for people, about what is not 0.
  std::vector<std::string> Notes() const;
};

// "1 step", "3 steps"
std::string Plural(uint64_t count, std::string_view what);

}  // namespace remaplab::xla

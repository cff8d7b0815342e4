// A trace of one program whose slots move in turn, as large as a benchmark wants it.
#pragma once

#include <cstdint>
#include <string>

namespace remaplab::bench {

struct ChurnShape {
  uint32_t slots = 1000;
  uint64_t steps = 100'000;
  uint32_t changes = 10;  // slots that move on each step: spread evenly over the table, and others on the next step
};

// Writes it into the temporary folder and returns its path; a file of that shape that is there already is used again.
// Ends the program when it cannot be written.
std::string ChurnTrace(ChurnShape shape);

// Makes inputs a hundredth as long.
void SetQuick(bool quick);
uint64_t Shortened(uint64_t steps);

}  // namespace remaplab::bench

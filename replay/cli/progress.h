// A line on standard error that says how far long work has come, how fast it goes and how long it will take: redrawn in
// place on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace remaplab::cli {

class ProgressLine {
 public:
  // `unit` names what is counted: "cells".
  explicit ProgressLine(std::string unit);
  ~ProgressLine();  // leaves the cursor on a fresh line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `note` is put behind, e.g. "2 failed". One thread at a time.
  void Update(uint64_t done, uint64_t total, std::chrono::nanoseconds elapsed, std::string_view note = {});

 private:
  std::string unit_;
  bool terminal_;
  bool drawn_ = false;  // something is on the terminal's line
  std::chrono::steady_clock::time_point next_{};
};

// "12/240 cells, 3.4/s, 1 min 7 s left".
std::string ProgressText(uint64_t done, uint64_t total, std::string_view unit, std::chrono::nanoseconds elapsed);

}  // namespace remaplab::cli

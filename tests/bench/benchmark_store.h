// Benchmarks as runs in a results store, so that `remaplab gate` and `history` watch our own speed as they watch a
// driver's: backend "benchmark", the benchmark's name as strategy, and as measured step time what a thousand items
// take.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "analysis/store.h"

namespace remaplab::bench {

// Prints the console table and adds a run per benchmark and repetition to the store.
class StoreReporter final : public benchmark::ConsoleReporter {
 public:
  StoreReporter(Store& store, std::string command_line) : store_(store), command_line_(std::move(command_line)) {}

  void ReportRuns(const std::vector<Run>& runs) override;
  // The first error in writing.
  const Status& status() const { return status_; }

 private:
  Status Add(const Run& run);

  Store& store_;
  std::string command_line_;
  int64_t position_ = 0;
  Status status_;
};

}  // namespace remaplab::bench

// The CSV files of rocprofv3 (ROCm 6.2 and later; hip-vmm.md 5.2): NAME_hip_api_trace.csv, which has every call but no
// arguments, and NAME_memory_allocation_trace.csv, which has what was created and given back, with sizes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/importers/calls/recording_builder.h"
#include "traces/importers/calls/text_importer.h"

namespace remaplab::calls {

// By the first line, the names of the columns.
bool LooksLikeRocprofv3Csv(std::string_view head);

// A row of the allocation trace.
struct HandleRecord {
  bool created = false;  // else given back
  std::optional<uint64_t> size;
  int64_t start = 0;
  int64_t end = 0;
};

class Rocprofv3CsvImporter final : public TextImporter {
 public:
  // The allocation trace of the same run, by correlation id, when the file read is a trace of calls.
  using Handles = std::multimap<uint64_t, HandleRecord>;
  explicit Rocprofv3CsvImporter(Handles handles = {}) : handles_(std::move(handles)) {}

  // Errors kInput: not the columns of either file, fields missing or in excess, values that are no numbers.
  Status Line(const TextLine& line) override;
  Result<CallRecording> Finish() override;

  // After the last line of an allocation trace: its rows.
  Handles TakeHandles() { return std::move(handles_); }

 private:
  enum class Table : uint8_t { kUnknown, kCalls, kAllocations };

  Status Header();
  Status Call();
  Status Allocation();
  Result<int64_t> Time(size_t column) const;
  Result<uint64_t> Number(size_t column, std::string_view name) const;

  Table table_ = Table::kUnknown;
  std::vector<std::string> columns_;
  std::vector<std::string> fields_;
  std::array<size_t, 8> at_{};  // where the columns that are needed are, in the order of the table's list
  RecordingBuilder builder_;
  Handles handles_;
  std::string versions_;  // the domains that were seen
  uint64_t sized_ = 0;
  uint64_t other_allocations_ = 0;
  uint64_t cut_off_ = 0;
};

}  // namespace remaplab::calls

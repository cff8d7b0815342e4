#include "traces/importers/rocprofv3_csv/rocprofv3_csv_importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parse.h"
#include "traces/importers/rocprofv3_csv/csv_line.h"

namespace remaplab::calls {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

constexpr std::array<std::string_view, 7> kCallColumns = {
    "Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp"};
enum CallColumn : size_t { kDomain, kFunction, kProcess, kThread, kCorrelation, kStart, kEnd };

constexpr std::array<std::string_view, 6> kAllocationColumns = {"Operation",      "Allocation_Size", "Address",
                                                                "Correlation_Id", "Start_Timestamp", "End_Timestamp"};
enum AllocationColumn : size_t {
  kOperation,
  kSize,
  kAddress,
  kAllocationCorrelation,
  kAllocationStart,
  kAllocationEnd
};

bool Has(const std::vector<std::string>& columns, std::string_view name) {
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

bool HasAll(const std::vector<std::string>& columns, std::span<const std::string_view> names) {
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) { return Has(columns, name); });
}

bool IsStatistics(const std::vector<std::string>& columns) {
  return Has(columns, "Name") && Has(columns, "Calls") && Has(columns, "TotalDurationNs");
}

std::string_view WithoutCarriageReturn(std::string_view text) {
  if (text.ends_with('\r')) {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::string> ColumnsOf(std::string_view line) {
  if (line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  std::vector<std::string> columns;
  return SplitCsvLine(WithoutCarriageReturn(line), columns) ? columns : std::vector<std::string>();
}

}  // namespace

bool LooksLikeRocprofv3Csv(std::string_view head) {
  const std::vector<std::string> columns = ColumnsOf(head.substr(0, head.find('\n')));
  return HasAll(columns, kCallColumns) || HasAll(columns, kAllocationColumns) || IsStatistics(columns);
}

Status Rocprofv3CsvImporter::Header() {
  if (IsStatistics(columns_)) {
    return Fail(ErrorCode::kInput,
                "these are statistics, without single calls; give the _hip_api_trace.csv beside them");
  }
  const bool calls = HasAll(columns_, kCallColumns);
  if (!calls && !HasAll(columns_, kAllocationColumns)) {
    return Fail(ErrorCode::kInput,
                fmt::format("the columns are those of neither rocprofv3's hip_api_trace ({}) nor its "
                            "memory_allocation_trace ({})",
                            fmt::join(kCallColumns, ", "), fmt::join(kAllocationColumns, ", ")));
  }
  table_ = calls ? Table::kCalls : Table::kAllocations;
  const std::span<const std::string_view> names =
      calls ? std::span<const std::string_view>(kCallColumns) : std::span<const std::string_view>(kAllocationColumns);
  for (size_t i = 0; i < names.size(); ++i) {
    at_[i] = static_cast<size_t>(std::find(columns_.begin(), columns_.end(), names[i]) - columns_.begin());
  }
  return {};
}

Result<uint64_t> Rocprofv3CsvImporter::Number(size_t column, std::string_view name) const {
  return ParseUInt(fields_[at_[column]], name).map_error([](Error error) {
    return Error(ErrorCode::kInput, error.message());
  });
}

Result<int64_t> Rocprofv3CsvImporter::Time(size_t column) const {
  return ParseInt(fields_[at_[column]], "the time").map_error([](Error error) {
    return Error(ErrorCode::kInput, error.message());
  });
}

Status Rocprofv3CsvImporter::Line(const TextLine& line) {
  const auto name_line = [&](Status status) {
    return status ? Status() : Status(Fail(std::move(status.error()).WithContext(fmt::format("line {}", line.number))));
  };
  if (line.number == 1) {
    columns_ = ColumnsOf(line.text);
    return name_line(Header());
  }
  const std::string_view text = WithoutCarriageReturn(line.text);
  if (text.empty()) {
    return {};
  }
  Status split = SplitCsvLine(text, fields_);
  if (!line.terminated && (!split || fields_.size() < columns_.size())) {
    ++cut_off_;
    return {};
  }
  if (split && fields_.size() != columns_.size()) {
    split =
        Fail(ErrorCode::kInput, fmt::format("{} fields where there are {} columns", fields_.size(), columns_.size()));
  }
  if (!split) {
    return name_line(std::move(split));
  }
  return name_line(table_ == Table::kCalls ? Call() : Allocation());
}

Status Rocprofv3CsvImporter::Call() {
  REMAPLAB_ASSIGN(const int64_t start, Time(kStart));
  REMAPLAB_ASSIGN(const int64_t end, Time(kEnd));
  REMAPLAB_ASSIGN(const uint64_t pid, Number(kProcess, "Process_Id"));
  REMAPLAB_ASSIGN(const uint64_t tid, Number(kThread, "Thread_Id"));
  REMAPLAB_ASSIGN(const uint64_t correlation, Number(kCorrelation, "Correlation_Id"));
  const std::string& domain = fields_[at_[kDomain]];
  if (versions_.find(domain) == std::string::npos && domain.starts_with("HIP_RUNTIME")) {
    versions_ += (versions_.empty() ? "" : ", ") + domain;
  }
  Observed call{.name = fields_[at_[kFunction]], .start = start, .end = end};
  call.pid = pid;
  call.tid = tid;
  const Function function = FindFunction(call.name);
  if (function.role == Role::kCall && function.kind == CallKind::kCreate) {
    // Correlation ids of several processes may meet in one file, times within times do not.
    const auto [begin, finish] = handles_.equal_range(correlation);
    const auto own = std::find_if(begin, finish, [&](const auto& entry) {
      return entry.second.created && entry.second.start >= start && entry.second.end <= end;
    });
    if (own != finish) {
      call.size = own->second.size;
      ++sized_;
    }
  }
  return builder_.Add(call);
}

Status Rocprofv3CsvImporter::Allocation() {
  const std::string_view operation = fields_[at_[kOperation]];
  const bool created = operation.ends_with("VMEM_ALLOCATE");
  if (!created && !operation.ends_with("VMEM_FREE")) {
    ++other_allocations_;
    return {};
  }
  HandleRecord record;
  record.created = created;
  REMAPLAB_ASSIGN(record.start, Time(kAllocationStart));
  REMAPLAB_ASSIGN(record.end, Time(kAllocationEnd));
  REMAPLAB_ASSIGN(const uint64_t correlation, Number(kAllocationCorrelation, "Correlation_Id"));
  REMAPLAB_ASSIGN(const uint64_t size, Number(kSize, "Allocation_Size"));
  if (created && size > 0) {
    record.size = size;
  }
  Observed call{.name = created ? "hipMemCreate" : "hipMemRelease", .start = record.start, .end = record.end};
  call.size = record.size;
  REMAPLAB_TRY(builder_.Add(call));
  handles_.emplace(correlation, record);
  return {};
}

Result<CallRecording> Rocprofv3CsvImporter::Finish() {
  if (table_ == Table::kUnknown) {
    return Fail(ErrorCode::kInput, "is empty");
  }
  CallRecording recording = builder_.Finish();
  recording.source = "rocprofv3-csv";
  recording.source_version = versions_;
  recording.clock = "the profiler's clock, ns";
  const auto lose = [&](uint64_t count, std::string text) { recording.losses.push_back({count, std::move(text)}); };
  if (table_ == Table::kCalls) {
    lose(0,
         "CSV has no arguments and no return values: no addresses, devices or failures; rocprofv3's rocpd output has "
         "arguments");
    if (sized_ > 0) {
      lose(sized_, "creates have their size from the memory_allocation_trace.csv beside the file");
    }
  } else {
    recording.threads_known = false;
    lose(0,
         "an allocation trace has only what was created and given back, as HSA saw it, and no threads; give the "
         "_hip_api_trace.csv for all calls");
    if (other_allocations_ > 0) {
      lose(other_allocations_, "allocations are not made through the virtual memory API and are left out");
    }
  }
  if (cut_off_ > 0) {
    lose(cut_off_, "line at the end of the file is cut off and left out");
  }
  return recording;
}

}  // namespace remaplab::calls

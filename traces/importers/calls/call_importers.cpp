#include "traces/importers/calls/call_importers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "traces/importers/amd_log/amd_log_importer.h"
#include "traces/importers/calls/foreign_database.h"
#include "traces/importers/calls/text_importer.h"
#include "traces/importers/nsys/nsys_importer.h"
#include "traces/importers/rocpd/rocpd_importer.h"
#include "traces/importers/rocprofv3_csv/rocprofv3_csv_importer.h"
#include "traces/line_reader.h"

namespace remaplab {
namespace {

using calls::ForeignDatabase;
using calls::TextImporter;

Result<ByteSource> OpenBytes(const std::string& path) {
  Result<ByteSource> source = ByteSource::Open(path);
  if (!source) {
    return Fail(std::move(source.error()).WithContext(path));
  }
  return source;
}

// Lines of a text source, the first of which may be looked at before it is known who wants them.
class Lines {
 public:
  static Result<Lines> Open(const std::string& path) {
    REMAPLAB_ASSIGN(ByteSource source, OpenBytes(path));
    return Lines(path, LineReader(std::move(source)));
  }

  // The first lines, up to kSniffBytes of them.
  Result<std::string_view> Head() {
    while (head_.size() < kSniffBytes) {
      REMAPLAB_ASSIGN(const auto line, Next());
      if (!line) {
        break;
      }
      head_.append(line->text);
      if (line->terminated) {
        head_ += '\n';
      }
    }
    return head_;
  }

  // Gives all lines to `importer`, those of Head first.
  Status Feed(TextImporter& importer) {
    uint64_t number = 0;
    const auto give = [&](std::string_view text, bool terminated) -> Status {
      Status status = importer.Line({text, ++number, terminated});
      return status ? Status() : Status(Fail(std::move(status.error()).WithContext(path_)));
    };
    std::string_view head = head_;
    while (!head.empty()) {
      const size_t end = head.find('\n');
      REMAPLAB_TRY(give(head.substr(0, end), end != std::string_view::npos));
      head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    }
    while (true) {
      REMAPLAB_ASSIGN(const auto line, Next());
      if (!line) {
        return {};
      }
      REMAPLAB_TRY(give(line->text, line->terminated));
    }
  }

  bool truncated() const { return reader_.truncated(); }

 private:
  Lines(std::string path, LineReader reader) : path_(std::move(path)), reader_(std::move(reader)) {}

  Result<std::optional<LineReader::Line>> Next() {
    auto line = reader_.Next();
    if (!line) {
      return Fail(std::move(line.error()).WithContext(path_));
    }
    return line;
  }

  std::string path_;
  LineReader reader_;
  std::string head_;
};

Result<CallRecording> Read(Lines& lines, TextImporter& importer, const std::string& path) {
  REMAPLAB_TRY(lines.Feed(importer));
  Result<CallRecording> recording = importer.Finish();
  if (!recording) {
    return Fail(std::move(recording.error()).WithContext(path));
  }
  if (lines.truncated()) {
    recording->losses.push_back({0, "the compressed file was cut off"});
  }
  return recording;
}

bool SniffAmdLog(std::string_view head, const std::string&) { return calls::LooksLikeAmdLog(head); }

Result<CallRecording> ReadAmdLog(Lines& lines, const std::string& path) {
  calls::AmdLogImporter importer;
  return Read(lines, importer, path);
}

bool SniffCsv(std::string_view head, const std::string&) { return calls::LooksLikeRocprofv3Csv(head); }

// The allocation trace that rocprofv3 wrote beside a trace of calls.
std::string AllocationTraceBeside(const std::string& path) {
  constexpr std::string_view kCalls = "hip_api_trace.csv";
  const size_t at = path.rfind(kCalls);
  std::error_code error;
  if (at == std::string::npos) {
    return {};
  }
  std::string beside = path;
  beside.replace(at, kCalls.size(), "memory_allocation_trace.csv");
  return std::filesystem::exists(beside, error) ? beside : std::string();
}

Result<CallRecording> ReadCsv(Lines& lines, const std::string& path) {
  calls::Rocprofv3CsvImporter::Handles handles;
  const std::string beside = AllocationTraceBeside(path);
  if (!beside.empty()) {
    REMAPLAB_ASSIGN(Lines allocation_lines, Lines::Open(beside));
    calls::Rocprofv3CsvImporter allocations;
    REMAPLAB_TRY(Read(allocation_lines, allocations, beside));
    handles = allocations.TakeHandles();
  }
  calls::Rocprofv3CsvImporter importer(std::move(handles));
  return Read(lines, importer, path);
}

template <bool (*kLooksLike)(const ForeignDatabase&)>
bool SniffDatabase(std::string_view head, const std::string& path) {
  if (!calls::IsSqlite(head)) {
    return false;
  }
  const Result<ForeignDatabase> database = ForeignDatabase::Open(path);
  return database && kLooksLike(*database);
}

template <Result<CallRecording> (*kImport)(const ForeignDatabase&)>
Result<CallRecording> ImportDatabase(const std::string& path) {
  REMAPLAB_ASSIGN(const ForeignDatabase database, ForeignDatabase::Open(path));
  return kImport(database);
}

template <Result<CallRecording> (*kRead)(Lines&, const std::string&)>
Result<CallRecording> ImportText(const std::string& path) {
  REMAPLAB_ASSIGN(Lines lines, Lines::Open(path));
  return kRead(lines, path);
}

constexpr std::array<CallImporter, 4> kImporters = {{
    {"rocpd", "SQLite database of rocprofv3, ROCm 7.0 and later", SniffDatabase<calls::LooksLikeRocpd>,
     ImportDatabase<calls::ImportRocpd>},
    {"rocprofv3-csv", "hip_api_trace.csv or memory_allocation_trace.csv of rocprofv3, ROCm 6.2 and later", SniffCsv,
     ImportText<ReadCsv>},
    {"amd-log", "what the HIP runtime prints with AMD_LOG_LEVEL=3 or 4", SniffAmdLog, ImportText<ReadAmdLog>},
    {"nsys", "Nsight Systems report exported with nsys export --type sqlite", SniffDatabase<calls::LooksLikeNsys>,
     ImportDatabase<calls::ImportNsys>},
}};

std::string NamesOfImporters() {
  std::string names;
  for (const CallImporter& importer : kImporters) {
    names += fmt::format("\n  {}: {}", importer.name, importer.description);
  }
  return names;
}

// A database may be large and without a single line feed, so that it is not read as lines at all.
Result<bool> StartsLikeDatabase(const std::string& path) {
  REMAPLAB_ASSIGN(ByteSource source, OpenBytes(path));
  std::array<char, 16> bytes{};
  Result<size_t> count = source.Read(bytes.data(), bytes.size());
  if (!count) {
    return Fail(std::move(count.error()).WithContext(path));
  }
  return calls::IsSqlite({bytes.data(), *count});
}

Result<CallRecording> ImportDatabaseOfAnyKind(const std::string& path) {
  REMAPLAB_ASSIGN(const ForeignDatabase database, ForeignDatabase::Open(path));
  if (calls::LooksLikeRocpd(database)) {
    return calls::ImportRocpd(database);
  }
  if (calls::LooksLikeNsys(database)) {
    return calls::ImportNsys(database);
  }
  constexpr size_t kShown = 5;
  std::vector<std::string> some = database.tables();
  some.resize(std::min(some.size(), kShown));
  return Fail(ErrorCode::kInput,
              fmt::format("{}: an SQLite database, but neither rocpd nor nsys made it; it has {}", path,
                          some.empty() ? "no tables"
                                       : fmt::format("the tables {}{}", fmt::join(some, ", "),
                                                     database.tables().size() > kShown ? ", ..." : "")));
}

}  // namespace

std::span<const CallImporter> CallImporters() { return kImporters; }

Result<CallRecording> ImportCalls(const std::string& path) {
  if (path != "-") {
    REMAPLAB_ASSIGN(const bool is_database, StartsLikeDatabase(path));
    if (is_database) {
      return ImportDatabaseOfAnyKind(path);
    }
  }
  REMAPLAB_ASSIGN(Lines lines, Lines::Open(path));
  REMAPLAB_ASSIGN(const std::string_view head, lines.Head());
  if (calls::LooksLikeRocprofv3Csv(head)) {
    return ReadCsv(lines, path);
  }
  if (calls::LooksLikeAmdLog(head)) {
    return ReadAmdLog(lines, path);
  }
  return Fail(
      ErrorCode::kInput,
      fmt::format("{}: {}; what can be read is{}", path,
                  head.empty() ? "is empty" : "holds no driver calls that anything here knows", NamesOfImporters()));
}

}  // namespace remaplab

// Any bytes as a log of XLA, with a buffer assignment in front if it begins with one: a trace that its reader, which
// checks every rule of the format, accepts, or an error with a message.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "traces/importers/line_feeder.h"
#include "traces/importers/xla/log_check.h"
#include "traces/importers/xla/log_importer.h"
#include "traces/reader.h"

namespace remaplab {
namespace {

constexpr std::string_view kSeparator = "\n=== log\n";

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// One file per process, in memory where there is such a place.
const std::string& TracePath() {
  static const std::string path = [] {
    const std::filesystem::path memory = "/dev/shm";
    const auto folder = access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
    return (folder / ("remaplab-fuzz-xla-" + std::to_string(getpid()))).string();
  }();
  static const int removed = std::atexit([] { std::filesystem::remove(TracePath()); });
  Check(removed == 0);
  return path;
}

void ImportLog(std::string_view log, xla::XlaLogOptions options) {
  options.partial = true;
  options.assignments_may_not_fit = true;
  xla::XlaLogImporter importer(std::move(options),
                               [](const TraceHeader& header) { return TraceWriter::Create(TracePath(), header); });
  xla::LogCheck check;
  LineFeeder feeder([&](std::string_view line) {
    check.Line(line);
    return importer.Line(line);
  });
  Check(feeder.Feed(log).has_value());
  Check(feeder.End().has_value());
  Check(!check.Report().empty());
  const Result<ImportReport> report = importer.Finish();
  if (!report) {
    Check(report.error().code() == ErrorCode::kInput && !report.error().message().empty());
    return;
  }
  const Result<Trace> trace = LoadTrace(TracePath());
  Check(trace.has_value());
  Check(trace->end.present && trace->steps() == report->steps && report->steps > 0);
}

}  // namespace
}  // namespace remaplab

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  remaplab::xla::XlaLogOptions options;
  if (const size_t separator = text.find(remaplab::kSeparator); separator != std::string_view::npos) {
    if (auto assignment = remaplab::xla::ParseAssignment(text.substr(0, separator), "dump")) {
      options.assignments.push_back(std::move(*assignment));
    }
    text.remove_prefix(separator + remaplab::kSeparator.size());
  }
  remaplab::ImportLog(text, std::move(options));
  return 0;
}

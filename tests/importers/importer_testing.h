// Imports logs, from files or from text, and counts what definitions.md says a strategy would call.
#pragma once

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "traces/importers/line_feeder.h"
#include "traces/importers/xla/log_importer.h"
#include "traces/reader.h"

namespace remaplab {

inline const std::filesystem::path kCaptures =
    std::filesystem::path(REMAPLAB_SOURCE_DIR) / ".." / "shared" / "captures";

// For BOOST decorators: skips, and says so, where the recordings are not at hand.
inline boost::test_tools::assertion_result HaveCaptures(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result have(std::filesystem::exists(kCaptures));
  have.message() << "no recordings at " << kCaptures.string();
  return have;
}

// The error's message, if there is one.
template <typename T>
std::string WhyNot(const Result<T>& result) {
  return result ? "" : result.error().message();
}

struct Imported {
  Trace trace;
  ImportReport report;
};

// An importer that writes to a file of its own.
class TemporaryImport {
 public:
  explicit TemporaryImport(xla::XlaLogOptions options)
      : path_(std::filesystem::temp_directory_path() / ("remaplab-import-" + std::to_string(getpid()))),
        importer_(std::move(options),
                  [this](const TraceHeader& header) { return TraceWriter::Create(path_.string(), header); }) {}
  TemporaryImport(const TemporaryImport&) = delete;
  TemporaryImport& operator=(const TemporaryImport&) = delete;
  ~TemporaryImport() { std::filesystem::remove(path_); }

  Status Line(std::string_view line) { return importer_.Line(line); }

  // The trace as its reader, which checks every rule of the format, sees it.
  Result<Imported> Finish() {
    REMAPLAB_ASSIGN(ImportReport report, importer_.Finish());
    REMAPLAB_ASSIGN(Trace trace, LoadTrace(path_.string()));
    return Imported{std::move(trace), std::move(report)};
  }

 private:
  std::filesystem::path path_;
  xla::XlaLogImporter importer_;
};

inline Result<Imported> ImportText(std::string_view text, xla::XlaLogOptions options = {}) {
  options.log_name = "log";
  TemporaryImport import(std::move(options));
  LineFeeder feeder([&](std::string_view line) { return import.Line(line); });
  REMAPLAB_TRY(feeder.Feed(text));
  REMAPLAB_TRY(feeder.End());
  return import.Finish();
}

inline xla::XlaLogOptions OnlyModule(std::string module) {
  xla::XlaLogOptions options;
  options.wanted_modules = module;
  options.wants_module = [module](std::string_view name) { return name == module; };
  return options;
}

inline Result<Imported> ImportCapture(const std::string& name, xla::XlaLogOptions options = {},
                                      const std::string& assignment_of = "") {
  options.log_name = name;
  if (!assignment_of.empty()) {
    const auto path = kCaptures / (assignment_of + ".buffer-assignment.txt.gz");
    REMAPLAB_ASSIGN(auto assignment, xla::LoadAssignment(path.string()));
    options.assignments.push_back(std::move(assignment));
  }
  TemporaryImport import(std::move(options));
  bool truncated = false;
  REMAPLAB_TRY(FeedFile((kCaptures / (name + ".log.gz")).string(),
                        [&](std::string_view line) { return import.Line(line); }, truncated));
  return import.Finish();
}

struct Calls {
  uint64_t map = 0;
  uint64_t unmap = 0;
  uint64_t set_access = 0;
  uint64_t wait = 0;
  uint64_t copies = 0;
};

// What the strategies of definitions.md section 2 call over one module's steps, on one device.
struct ModuleCounts {
  size_t slots = 0;
  uint64_t steps = 0;
  uint64_t mapped_bytes = 0;
  uint64_t changed = 0;
  Calls full;
  Calls skip;
  Calls shadow;  // skip_remap+copy_shadow(threshold=65536)
};

inline ModuleCounts Count(const Trace& trace, const std::string& module) {
  constexpr uint64_t kThreshold = 65536;
  constexpr uint32_t kShadowed = UINT32_MAX;
  ModuleCounts counts;
  std::vector<uint32_t> place;  // of a slot among those that are not shadowed
  uint32_t mapped = 0;
  auto skip = [](Calls& calls, uint64_t changed, uint64_t runs) {
    calls.map += changed;
    calls.unmap += runs;
    calls.set_access += changed > 0 ? 1 : 0;
    calls.wait += changed > 0 ? 1 : 0;
  };
  for (size_t step = 0; step < trace.steps(); ++step) {
    const TraceProgram& program = trace.programs[trace.step_program[step]];
    if (program.module != module) {
      continue;
    }
    if (counts.steps++ == 0) {
      counts.slots = program.slots.size();
      for (const TraceSlot& slot : program.slots) {
        const uint64_t g = trace.header.granularity;
        counts.mapped_bytes += (slot.size + g - 1) / g * g;
        place.push_back(slot.size <= kThreshold ? kShadowed : mapped++);
      }
      counts.full = {counts.slots, 0, 1, 0, 0};
      counts.skip = {counts.slots, 0, 1, 0, 0};
      counts.shadow = {mapped, 0, 1, 0, 2 * (counts.slots - mapped)};
      continue;
    }
    uint64_t runs = 0;
    uint64_t runs_mapped = 0;
    uint64_t changed_mapped = 0;
    uint32_t before = kShadowed - 1;
    uint32_t before_mapped = kShadowed - 1;
    const auto changed = trace.BoundSlots(step);
    for (const uint32_t slot : changed) {
      runs += slot == before + 1 ? 0 : 1;
      before = slot;
      if (place[slot] != kShadowed) {
        ++changed_mapped;
        runs_mapped += place[slot] == before_mapped + 1 ? 0 : 1;
        before_mapped = place[slot];
      }
    }
    counts.changed += changed.size();
    counts.full.map += counts.slots;
    counts.full.unmap += 1;
    counts.full.set_access += 1;
    counts.full.wait += 1;
    skip(counts.skip, changed.size(), runs);
    skip(counts.shadow, changed_mapped, runs_mapped);
    counts.shadow.copies += 2 * (counts.slots - mapped);
  }
  return counts;
}

}  // namespace remaplab

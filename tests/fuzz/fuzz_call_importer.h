// Any bytes as a file of one importer of driver calls: a recording whose parts fit together, or an error with a
// message.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "traces/importers/calls/call_importers.h"

namespace remaplab {

inline void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

inline void CheckRecording(const CallRecording& recording) {
  uint64_t counted = 0;
  for (const CallTotal& total : TotalsByKind(recording)) {
    counted += total.n;
  }
  Check(counted == recording.calls.size());
  for (const DriverCall& call : recording.calls) {
    Check(call.end >= call.start);
    Check(call.thread < recording.threads.size());
    Check(call.name < recording.texts.size() && call.code < recording.texts.size());
  }
  const LaunchGroups groups = GroupByLaunch(recording);
  Check(groups.groups.empty() == !groups.why_none.empty());
  (void)Summarize(recording);
  (void)MeasuredCosts(recording);
}

// One file per process, rewritten for each input.
inline int FuzzCallImporter(std::string_view name, const uint8_t* data, size_t size) {
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("remaplab-fuzz-" + std::to_string(getpid()))).string();
  static const int removed = std::atexit([] { std::filesystem::remove(path); });
  Check(removed == 0);
  {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  for (const CallImporter& importer : CallImporters()) {
    if (importer.name == name) {
      (void)importer.sniff({reinterpret_cast<const char*>(data), size}, path);
      const Result<CallRecording> recording = importer.import(path);
      if (recording) {
        CheckRecording(*recording);
      } else {
        Check(recording.error().message().find(path) != std::string::npos);
      }
      return 0;
    }
  }
  std::abort();
}

}  // namespace remaplab

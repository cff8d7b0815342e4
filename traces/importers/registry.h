// What a file is: the sources of recordings that remaplab reads, told by content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace remaplab {

enum class RecordingKind : uint8_t {
  kLog,    // becomes a trace: capture --log
  kCalls,  // a driver-call recording (traces/call_recording.h): calibrate --from, compare
  kTrace,  // is one already
};

struct RecordingSource {
  std::string_view name;  // "xla-log", "rocpd", ...
  std::string_view description;
  RecordingKind kind;
};

// All of them, in the order in which they are asked.
std::vector<RecordingSource> RecordingSources();

// Every source that `path`, a file, can be read as: a run's output may hold XLA's log lines and the driver's. Looks at
// the first 256 KiB, decompressed. Empty: none is recognised there. Errors kIo, kInput (damaged compressed data), with
// the path in front.
Result<std::vector<RecordingSource>> IdentifyRecording(const std::string& path);

}  // namespace remaplab

// The sources of driver-call recordings, and one function that reads any of them.
//
// The list is what a registry of all importers asks: Sniff says whether a file is of this source, Import reads it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "traces/call_recording.h"

namespace remaplab {

struct CallImporter {
  std::string_view name;  // as CallRecording::source
  std::string_view description;
  // `head`: the first bytes, decompressed; as many as are at hand, at best kSniffBytes of them. `path` is opened only
  // when `head` says that it is an SQLite file.
  bool (*sniff)(std::string_view head, const std::string& path);
  // Errors kIo and kInput, which name the file and its line or table.
  Result<CallRecording> (*import)(const std::string& path);
};
inline constexpr size_t kSniffBytes = 256 * 1024;

std::span<const CallImporter> CallImporters();

// Finds out what `path` is and reads it. "-" is standard input, for text. Compressed text is read as it is; an SQLite
// file must be plain. Error kInput when it is none of them, saying what it seems to be.
Result<CallRecording> ImportCalls(const std::string& path);

}  // namespace remaplab

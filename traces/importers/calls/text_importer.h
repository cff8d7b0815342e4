// Importers of text take lines as they come, so that a log may come from a file, compressed or not, or from a pipe.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "traces/call_recording.h"

namespace remaplab::calls {

struct TextLine {
  std::string_view text;   // without its line feed
  uint64_t number = 0;     // from 1
  bool terminated = true;  // false: the file ended here
};

class TextImporter {
 public:
  virtual ~TextImporter() = default;
  // Errors name the line, not the file.
  virtual Status Line(const TextLine& line) = 0;
  // After the last line, once.
  virtual Result<CallRecording> Finish() = 0;
};

}  // namespace remaplab::calls

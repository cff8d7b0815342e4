// Text of one line -> header, record or end line. Checks the shape of the line and the range of every number; what a
// line means after the lines before it is traces/rules.h. Errors are kInput and start with the event's name, not with
// file and line.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "traces/record.h"
#include "traces/trace.h"

namespace remaplab {

class LineParser {
 public:
  LineParser();
  LineParser(LineParser&&) noexcept;
  LineParser& operator=(LineParser&&) noexcept;
  ~LineParser();

  // Texts need LineReader::kPadding readable bytes behind them, the first of them no digit.
  Result<TraceHeader> Header(std::string_view text);

  enum class Kind {
    kRecord,   // `record` is filled
    kEnd,      // `end` is filled
    kUnknown,  // an event that this version does not know
  };
  Result<Kind> Event(std::string_view text, TraceRecord& record, TraceEnd& end);

  // Whether the last error means that `text` is no JSON at all, as a line that was cut off is.
  bool not_json() const { return not_json_; }

 private:
  class Dom;
  std::unique_ptr<Dom> dom_;
  bool not_json_ = false;
};

// Reads alloc, free and step lines of the usual shape several times as fast as a general JSON parser. False: the line
// is something else, or unusual, or wrong, and nobody has looked at it yet.
bool ParseRegularLine(std::string_view text, TraceRecord& record);

}  // namespace remaplab

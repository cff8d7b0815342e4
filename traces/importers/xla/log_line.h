// The prefix of a log line, in the forms that XLA's logging has had (absl, absl before it is initialised, TSL), and the
// device ordinal that XLA_VLOG_DEVICE puts before the message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace remaplab::xla {

struct LogLine {
  std::string_view stamp;    // the time as written, for LogClock
  std::string_view file;     // "gpu_executable.cc"; TSL lines carry a path
  std::string_view message;  // after "] " and after "[d] "
  uint64_t thread = 0;       // Linux thread id; 0 for TSL lines, which have none
  int32_t device = -1;       // of "[d] "; -1 without it
};

// False when `text` does not begin with a prefix.
bool ParseLogLine(std::string_view text, LogLine& line);

// Where in `text` a prefix begins, from `from` on; npos when nowhere. For entries that other output was glued to.
size_t FindLogPrefix(std::string_view text, size_t from);

// `text` without terminal escape sequences, in `storage` if there were any.
std::string_view WithoutEscapes(std::string_view text, std::string& storage);

// Times of a log as nanoseconds since its first line. A log carries no year: a jump back by most of a year is New
// Year's Eve; any other jump back is another run in the same file, and stays a jump back.
class LogClock {
 public:
  // kUnknownTime's neighbours never come out: a stamp without date (before absl is initialised) repeats the last time.
  int64_t Nanoseconds(std::string_view stamp);

 private:
  int64_t Absolute(std::string_view stamp);

  char second_[20] = {};  // the stamp up to its second, as seen last
  size_t second_size_ = 0;
  int64_t second_ns_ = 0;
  int64_t year_ns_ = 0;  // added for every New Year's Eve
  int64_t last_ = 0;
  int64_t first_ = 0;
  bool started_ = false;
};

}  // namespace remaplab::xla

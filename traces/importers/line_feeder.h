// Feeds the lines of a recording to an importer, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "traces/byte_source.h"

namespace remaplab {

// Splits bytes that come in pieces into lines. A line longer than kLongestLine is cut there: no recording has one, and
// nothing that it could say is worth its memory.
class LineFeeder {
 public:
  static constexpr size_t kLongestLine = size_t{4} << 20;
  using Use = std::function<Status(std::string_view line)>;  // without line feed; valid during the call

  explicit LineFeeder(Use use) : use_(std::move(use)) {}

  // The next bytes, in pieces of any size.
  Status Feed(std::string_view bytes);
  // No more bytes will come: hands out a last line without line feed.
  Status End();

  uint64_t bytes() const { return bytes_; }

 private:
  void Keep(std::string_view part);

  Use use_;
  std::string begun_;  // a line whose end has not come
  uint64_t bytes_ = 0;
};

// Every line of `path` ("-": standard input; plain, gzip or zstd). `truncated` says that compressed data ended early.
// Errors: kIo, kInput (damaged compressed data), with the path in front; those of `use` as they are.
Status FeedFile(const std::string& path, const LineFeeder::Use& use, bool& truncated);

}  // namespace remaplab

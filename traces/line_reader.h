// Lines of a ByteSource, in constant memory but for the longest line.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "traces/byte_source.h"

namespace remaplab {

class LineReader {
 public:
  explicit LineReader(ByteSource source);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  struct Line {
    std::string_view text;  // without its line feed; valid until the next call
    bool terminated;        // false: the bytes ended without a line feed
  };
  // The byte behind `text` is a line feed or 0, and kPadding bytes behind it may be read (not relied on).
  // nullopt at the end. Errors as ByteSource::Read, and kInput for a line longer than kLongestLine.
  Result<std::optional<Line>> Next();

  uint64_t line_number() const { return line_number_; }  // of the line returned last, from 1
  bool truncated() const { return source_.truncated(); }

  // XXH3-128 of the bytes read so far, as 32 hex digits; of the whole once Next said the end.
  std::string Xxh3() const;

  static constexpr size_t kPadding = 64;
  static constexpr size_t kLongestLine = size_t{256} << 20;

 private:
  struct FreeHash {
    void operator()(void* state) const;
  };
  Status ReadMore();

  ByteSource source_;
  std::unique_ptr<void, FreeHash> hash_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // unread bytes are [begin_, end_) of buffer_
  size_t end_ = 0;
  bool at_end_ = false;
  uint64_t line_number_ = 0;
};

}  // namespace remaplab

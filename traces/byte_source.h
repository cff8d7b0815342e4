// The uncompressed bytes of a file, of standard input ("-") or of memory. What is compressed is told by its first
// bytes, not by its name: zstd (any number of frames), gzip (any number of members), else plain.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace remaplab {

class ByteSource {
 public:
  static Result<ByteSource> Open(const std::string& path);  // kIo
  // `bytes` must outlive the source.
  static Result<ByteSource> FromMemory(std::string_view bytes);

  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  // Fills up to `size` bytes; 0 means the end. kIo when reading fails, kInput when compressed data is damaged; neither
  // names the file. What was decompressed before the damage has been handed out by then.
  Result<size_t> Read(char* out, size_t size);

  // After the end: compressed data stopped in the middle of a frame. What came before it was handed out.
  bool truncated() const;

 private:
  class Impl;
  explicit ByteSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace remaplab

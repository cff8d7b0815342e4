// A file that appears in one piece or not at all: bytes go to a nameless file beside the target (or to a temporary name
// where the file system has no nameless files) and get the target's name in Commit.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace remaplab {

class OutputFile {
 public:
  // A target that exists and is no regular file (pipe, device) is written to directly. Error kIo.
  static Result<OutputFile> Create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();  // without Commit: leaves nothing behind

  Status Write(std::string_view bytes);
  Status Commit();  // makes the bytes durable and names them

 private:
  OutputFile() = default;
  void Discard();
  Status Name();
  Error Failure(std::string_view doing) const;

  int fd_ = -1;
  std::string target_;
  std::string temporary_;  // empty: the file has no name yet, or is the target itself
  bool direct_ = false;    // fd_ is the target itself
};

}  // namespace remaplab

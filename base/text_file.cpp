#include "base/text_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace remaplab {

Result<std::string> ReadTextFile(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  std::string text;
  if (file != nullptr) {
    std::array<char, 65536> chunk;
    for (size_t read = 0; (read = std::fread(chunk.data(), 1, chunk.size(), file.get())) > 0;) {
      text.append(chunk.data(), read);
    }
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    return Fail(ErrorCode::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return text;
}

}  // namespace remaplab

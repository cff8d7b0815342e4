// A text file that the build put into the binary (cmake/RemaplabLibrary.cmake, remaplab_embed).
#pragma once

#include <string_view>

namespace remaplab {

struct EmbeddedFile {
  std::string_view name;  // file name without its folder
  std::string_view text;
};

}  // namespace remaplab

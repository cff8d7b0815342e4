// What this binary was built from; every run row in the store repeats it.
#pragma once

#include <string_view>

namespace remaplab {

struct BuildInfo {
  std::string_view version;
  std::string_view git_revision;  // "unknown" outside a checkout
  bool git_dirty;                 // tracked files differed from that revision
  std::string_view compiler;
  std::string_view build_type;
  std::string_view sanitizers;
};

const BuildInfo& build_info();

}  // namespace remaplab

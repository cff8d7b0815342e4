// The variables that make XLA print what a trace is made of (xla-capture.md sections 1 and 10). They are read once,
// when the plugin is loaded, so they must be set before Python starts.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace remaplab::xla {

struct LogModule {
  std::string_view name;
  int level;
  std::string_view brings;  // what its lines are for
};

// What a capture wants, in every version's spelling; names that a version does not have do no harm.
std::span<const LogModule> LogModules();

// TF_CPP_VMODULE with all of them, e.g. for messages.
std::string LogModulesText();

// `user`'s TF_CPP_VMODULE with what is missing in it added; higher levels of the user's stay. Of entries that name the
// same module the last one counts.
std::string WithLogModules(std::string_view user);

}  // namespace remaplab::xla

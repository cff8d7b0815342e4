// Runs the built binary as a user would, and keeps what it printed.
#pragma once

#include <string>
#include <vector>

namespace remaplab::testing {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal when a signal ended it
  std::string output;
  std::string errors;
};

ProcessResult RunRemaplab(const std::vector<std::string>& arguments);
ProcessResult RunProgram(const std::vector<std::string>& words);

// A folder of its own under the build tree, emptied first.
std::string FreshFolder(const std::string& name);
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& text);

// A bundled recording's file, and a shared one's: empty when the shared recordings are not there.
std::string ExampleFile(const std::string& name);
std::string SharedCapture(const std::string& name);

}  // namespace remaplab::testing

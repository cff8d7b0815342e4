// A command that runs beside us with its standard error in our hands. Its standard input and output are ours,
// untouched.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace remaplab::cli {

class ChildProcess {
 public:
  // Starts `command` (searched in PATH) with `variables` set in its environment. From here until the child is waited
  // for, signals that other processes send to us are passed on to it; those of the terminal reach it anyway. kIo when
  // it cannot be run. One child at a time.
  static Result<ChildProcess> Start(const std::vector<std::string>& command,
                                    const std::vector<std::pair<std::string, std::string>>& variables);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  // The read end of its standard error. Ends when all of its descendants have closed theirs.
  int error_output() const { return error_output_; }

  // Without waiting.
  bool Ended();

  // After Ended: its exit code, or 128 + the signal that killed it, as shells have it.
  int exit_code() const { return exit_code_; }
  int signal() const { return signal_; }  // 0: it was not killed

 private:
  ChildProcess(pid_t pid, int error_output) : pid_(pid), error_output_(error_output) {}

  pid_t pid_;
  int error_output_;
  bool ended_ = false;
  int exit_code_ = 0;
  int signal_ = 0;
};

}  // namespace remaplab::cli

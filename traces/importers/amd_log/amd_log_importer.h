// AMD_LOG_LEVEL=3 or 4: the HIP runtime's own log of its calls (hip-vmm.md 5.1). A call is two lines of one thread, one
// printed before the work and one after it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/importers/amd_log/log_line.h"
#include "traces/importers/calls/recording_builder.h"
#include "traces/importers/calls/text_importer.h"

namespace remaplab::calls {

// Whether there is an API call in these first lines of a file.
bool LooksLikeAmdLog(std::string_view head);

class AmdLogImporter final : public TextImporter {
 public:
  Status Line(const TextLine& line) override;
  // Error kInput when there was no line of a call.
  Result<CallRecording> Finish() override;

 private:
  // A call whose return was not seen yet. The texts are copies: their line is gone.
  struct Entered {
    std::string function;
    std::vector<std::string> arguments;
    int64_t us = 0;
    uint64_t sequence = 0;  // of API lines, to see whether another one came in between
    bool torn = false;
  };
  struct Thread {
    uint64_t pid = 0;
    uint64_t tid = 0;
    bool bare = false;  // stands for all threads, which the log does not tell apart
    std::vector<Entered> stack;
  };

  Thread& ThreadOf(const LogEntry& entry);
  void Enter(Thread& thread, const LogEntry& entry, const ApiMessage& message);
  void Leave(Thread& thread, const LogEntry& entry, const ApiMessage& message);
  // The entered call that this return is of; end() when there is none.
  std::vector<Entered>::iterator Match(Thread& thread, std::string_view function);
  void Add(const Thread& thread, const Entered& entered, const LogEntry* left, const ApiMessage* message);
  void AddUnreturned(const Thread& thread, const Entered& entered);

  RecordingBuilder builder_;
  std::map<std::pair<uint64_t, uint64_t>, Thread> threads_;
  std::vector<LogEntry> entries_;
  std::vector<std::string_view> split_;
  std::string stripped_;
  uint64_t sequence_ = 0;
  bool bare_ = false;
  bool threaded_ = false;
  uint64_t shared_lines_ = 0;  // lines with text before a prefix
  uint64_t torn_ = 0;          // calls whose arguments were torn
  uint64_t unreturned_ = 0;    // calls without a return
  uint64_t unentered_ = 0;     // returns without a call
  uint64_t ambiguous_ = 0;     // pairs that could be of several threads
  uint64_t backwards_ = 0;     // pairs whose return is before the call
};

}  // namespace remaplab::calls

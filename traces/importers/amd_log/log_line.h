// The lines that the HIP runtime prints with AMD_LOG_LEVEL=3 or more (hip-vmm.md 5.1), in the prefixes of its releases:
//
//   :3:hip_vm.cpp  :123 : 1234567890 us: 4711: [tid:0x7f00] MSG             ROCm 5.2
//   :3:hip_vm.cpp  :123 : 1234567890 us: [pid:4711 tid:0x7f00] MSG          ROCm 5.6 - 6.2; 6.3 and later at level 4
//   :3:hip_vm.cpp  :123 : 1234567890 us:  MSG                               ROCm 6.3 and later at level 3
//
// Writers tear each other's lines, and programs print in between, so a prefix may stand anywhere in a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remaplab::calls {

enum class LogForm : uint8_t { kPidTid, kPidThenTid, kBare };

struct LogEntry {
  LogForm form = LogForm::kBare;
  int64_t us = 0;
  uint64_t pid = 0;  // 0 in the bare form
  uint64_t tid = 0;
  std::string_view message;  // to the next prefix or the end of the line, blanks trimmed
};

// Removes escape sequences and a carriage return at the end. `buffer` holds the result where something was removed.
std::string_view StripEscapes(std::string_view line, std::string& buffer);

// All entries of a line, in order. Cheap for lines without any.
void FindEntries(std::string_view line, std::vector<LogEntry>& entries);

// What an entry's message says of an API call.
struct ApiMessage {
  enum class Kind : uint8_t {
    kNone,   // it is of something else
    kEnter,  // "hipMemMap ( 0x7f00, 4096, 0, 0x55, 0 )"
    kTorn,   // the same, but it stops before its closing bracket
    kLeave,  // "hipMemMap: Returned hipSuccess : "
  };
  Kind kind = Kind::kNone;
  std::string_view function;
  std::string_view arguments;          // kEnter: between the brackets
  std::string_view code;               // kLeave
  std::optional<uint64_t> value;       // kLeave: what it returned through its first pointer, where it says so
  std::optional<int64_t> duration_us;  // kLeave, of the few functions that say it
};
ApiMessage ParseApiMessage(std::string_view message);

// The arguments, without blanks around them. `values` is reused.
void SplitArguments(std::string_view arguments, std::vector<std::string_view>& values);

}  // namespace remaplab::calls

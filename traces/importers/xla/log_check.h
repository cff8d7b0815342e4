// Says in words what a log can and cannot tell, and which variable would bring what is missing: `capture --check`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/importers/xla/message.h"

namespace remaplab::xla {

struct CheckItem {
  enum class State : uint8_t { kOk, kPartly, kMissing, kNotNeeded };
  std::string what;
  State state = State::kMissing;
  uint64_t lines = 0;
  std::string text;  // what it means, or what would bring it
};
std::string_view Name(CheckItem::State state);  // "ok", "partly", "missing", "not needed"

class LogCheck {
 public:
  // The next line, without its line feed.
  void Line(std::string_view text);

  // Every fact that a trace is made of, in the order in which they matter.
  std::vector<CheckItem> Report() const;

  // Whether `capture` makes a trace of it: executions with addresses and module names.
  bool Usable() const;

  // What wrote the log, as far as its lines tell.
  std::string Generation() const;

 private:
  uint64_t Count(Message message) const { return counts_[static_cast<size_t>(message)]; }

  std::array<uint64_t, static_cast<size_t>(Message::kStep) + 1> counts_ = {};
  std::map<std::string, uint64_t, std::less<>> modules_;
  uint64_t lines_ = 0;
  uint64_t log_lines_ = 0;
  uint64_t cut_tables_ = 0;
  uint64_t profiling_ = 0;
  uint64_t executing_with_ = 0;
  uint64_t two_ranges_ = 0;
  uint64_t skip_ = 0;
  uint64_t single_range_ = 0;
  uint64_t buffer_allocator_ = 0;  // lines of gpu_executable_buffer_allocator
  bool vmm_ = false;
  bool bfc_ = false;
  bool old_allocator_ = false;  // vmm_device_address_allocator: until 0.10.2
  bool rocm_before_vmm_ = false;
  std::string unescaped_;
};

}  // namespace remaplab::xla

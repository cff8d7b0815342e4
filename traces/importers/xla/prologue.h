// What has to be known before the first event is written - the header - and is only said somewhere in a log: the start
// of the log is held back and looked through.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "traces/importers/xla/log_line.h"

namespace remaplab::xla {

class Prologue {
 public:
  // Bytes of a log that are looked through at most.
  static constexpr size_t kBytes = size_t{4} << 20;

  void Look(std::string_view text);

  bool any_log_line() const { return any_log_line_; }
  bool changed_lines() const { return changed_lines_; }
  bool vmm() const { return allocator_ == "vmm"; }
  const std::string& allocator() const { return allocator_; }  // "vmm", "bfc", ...; empty when the log does not say
  const std::string& device_name() const { return device_name_; }

  // What the log says, or what fits the addresses; 0 when nothing tells.
  uint64_t granularity() const;
  bool granularity_said() const { return said_granularity_ != 0; }

  // The commands of a module's command buffers; 0 when unknown.
  uint32_t CommandsOf(const std::string& module) const;

 private:
  struct Thread {
    std::string module;
    uint32_t commands = 0;
  };

  bool any_log_line_ = false;
  bool changed_lines_ = false;  // "Buffer allocations changed address" is printed
  std::string allocator_;
  std::string device_name_;
  uint64_t said_granularity_ = 0;
  uint64_t address_bits_ = 0;  // of all the allocator's addresses
  std::unordered_map<uint64_t, Thread> threads_;
  std::map<std::string, uint32_t, std::less<>> commands_;
};

}  // namespace remaplab::xla

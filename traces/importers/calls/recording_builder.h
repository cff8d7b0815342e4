// Puts a recording together from what an importer observed, call by call and in any order: classifies functions, sorts
// by time, and recovers by joining what a source does not print (hip-vmm.md 5.1): the thread's current device from
// hipSetDevice, how many mappings an unmap or a set_access covers from the maps before it, a reservation's address from
// its hipMemAddressFree or the first map in it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "traces/call_recording.h"
#include "traces/importers/calls/call_functions.h"

namespace remaplab::calls {

// One call as the source has it. Texts need to live during Add only.
struct Observed {
  std::string_view name;
  int64_t start = 0;
  int64_t end = 0;
  bool timed = true;
  uint64_t pid = 0;
  uint64_t tid = 0;
  std::span<const std::string_view> arguments;  // in order; empty when the source has none
  std::string_view code;                        // what it returned; empty when unknown
  // Known otherwise than from arguments.
  std::optional<uint64_t> returned;  // the value behind the first pointer argument
  std::optional<uint64_t> size;
  std::optional<int32_t> device;
  std::optional<bool> device_to_device;
};

class RecordingBuilder {
 public:
  RecordingBuilder();

  // Error kInput when the times mean nothing; it does not say where.
  Status Add(const Observed& observed);

  size_t added() const { return added_; }

  // Sorted and joined; the builder is spent. The caller fills in source, clock and losses of its own.
  CallRecording Finish();

 private:
  // From `start` on the thread's device is this one.
  struct DeviceChange {
    int64_t start;
    int32_t device;
  };

  uint32_t Text(std::string_view text);
  uint32_t ThreadOf(const Observed& observed);

  void AddOther(const Observed& observed);
  void SortByTime();
  void FillInDevices();
  void FollowMappings();

  CallRecording recording_;
  std::vector<std::vector<DeviceChange>> device_changes_;  // by thread
  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<std::string, size_t> others_;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> threads_;
  uint64_t nested_ = 0;
  uint64_t unclear_copies_ = 0;
  size_t added_ = 0;
};

// "0x7f00", "4096", "stream:0x7f00"; nullopt for "<null>" and for what is no number.
std::optional<uint64_t> ArgumentValue(std::string_view text);

}  // namespace remaplab::calls

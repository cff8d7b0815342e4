#include "traces/importers/xla/fields.h"

namespace remaplab::xla {
namespace {

constexpr uint64_t kLargestBuffer = uint64_t{1} << 48;  // more is no size but a damaged line
constexpr uint64_t kMostDevices = 65536;
constexpr uint64_t kLongestUs = 1'000'000'000'000;
constexpr uint64_t kMostSlots = UINT32_MAX - 1;

bool ReadDevice(Scanner& scan, int32_t& device) {
  uint64_t number = 0;
  if (!scan.Decimal(number) || number >= kMostDevices) {
    return false;
  }
  device = static_cast<int32_t>(number);
  return true;
}

bool ReadMicroseconds(Scanner& scan, int64_t& ns) {
  uint64_t us = 0;
  if (!scan.Decimal(us) || us > kLongestUs) {
    return false;
  }
  ns = static_cast<int64_t>(us) * 1000;
  return true;
}

// "cuda:3", "NVIDIA H200_3(process=0,(3))"
int32_t DeviceNumber(std::string_view name) {
  const size_t mark = name.find_last_of(":_");
  Scanner scan(mark == std::string_view::npos ? name : name.substr(mark + 1));
  int32_t device = -1;
  return ReadDevice(scan, device) ? device : -1;
}

}  // namespace

bool ReadAllocated(Scanner& scan, MemoryFields& fields) {
  return scan.Pointer(fields.address) && scan.Skip(" (") && scan.Decimal(fields.size) &&
         scan.Skip("B) on device ordinal ") && ReadDevice(scan, fields.device) && fields.size <= kLargestBuffer;
}

bool ReadReused(Scanner& scan, MemoryFields& fields) {
  uint64_t original = 0;
  uint64_t rounded = 0;
  return scan.Pointer(fields.address) && scan.Skip(" original_size=") && scan.Decimal(original) &&
         scan.Skip("B new_size=") && scan.Decimal(fields.size) && scan.Skip("B rounded_size=") &&
         scan.Decimal(rounded) && scan.Skip("B device=") && ReadDevice(scan, fields.device) &&
         fields.size <= kLargestBuffer;
}

bool ReadFreed(Scanner& scan, MemoryFields& fields) {
  return scan.Pointer(fields.address) && scan.Skip(" (size=") && scan.Decimal(fields.size) &&
         scan.Skip("B) on device ordinal ") && ReadDevice(scan, fields.device);
}

bool ReadRunStart(Scanner& scan, RunFields& fields) {
  std::string_view device;
  if (!scan.Until(", device=", fields.module) || fields.module.empty() || !scan.Until(", run_id=", device)) {
    return false;
  }
  fields.device = DeviceNumber(device);
  return true;
}

bool ReadChanged(Scanner& scan, ChangedFields& fields, std::vector<uint32_t>& indexes) {
  indexes.clear();
  if (!scan.Until(" executions: [", fields.module) || fields.module.empty()) {
    return false;
  }
  uint64_t index = 0;
  std::string_view kind;
  // A word is whole only when something follows it.
  while (scan.Decimal(index) && scan.Skip(":") && scan.Word(kind) &&
         (scan.rest().starts_with(",") || scan.rest().starts_with("]"))) {
    if (index >= kMostSlots || (!indexes.empty() && index <= indexes.back())) {
      break;
    }
    indexes.push_back(static_cast<uint32_t>(index));
    scan.Skip(", ");
  }
  fields.cut = !scan.Skip("]") && !indexes.empty();
  return true;
}

bool ReadCommandBuffer(Scanner& scan, CommandBufferFields& fields) {
  uint64_t commands = 0;
  uint64_t device = 0;
  // "Initialized command buffer on device #" goes on with the device.
  Scanner with_device = scan;
  if (with_device.Decimal(device) && with_device.Skip(" in ")) {
    scan = with_device;
  }
  if (!ReadMicroseconds(scan, fields.ns) || !scan.SkipPast("num_commands=") || !scan.Decimal(commands) ||
      commands > UINT32_MAX) {
    return false;
  }
  fields.commands = static_cast<uint32_t>(commands);
  return true;
}

bool ReadReserved(Scanner& scan, ReservedFields& fields) {
  return (scan.SkipPast(" VA: ") || scan.SkipPast(" VA=")) && scan.Pointer(fields.address) &&
         scan.SkipPast("total_size") && (scan.Skip(": ") || scan.Skip("=")) && scan.Decimal(fields.size);
}

bool ReadMapping(Scanner& scan, TableEntry& entry) {
  uint64_t index = 0;
  if (!scan.Decimal(index) || index >= kMostSlots || !scan.Skip(" physical: ") || !scan.Pointer(entry.address) ||
      !scan.SkipPast(" size: ") || !scan.Decimal(entry.size) || entry.size > kLargestBuffer) {
    return false;
  }
  entry.index = static_cast<uint32_t>(index);
  return true;
}

bool ReadRemapTiming(Scanner& scan, RemapTimingFields& fields) {
  return scan.Decimal(fields.slices) && scan.Skip(" changed=") && scan.Decimal(fields.changed) &&
         scan.SkipPast(" unmap_us=") && ReadMicroseconds(scan, fields.unmap_ns) && scan.Skip(" map_us=") &&
         ReadMicroseconds(scan, fields.map_ns) && scan.Skip(" setaccess_us=") &&
         ReadMicroseconds(scan, fields.set_access_ns);
}

bool ReadSyncTiming(Scanner& scan, SyncTimingFields& fields) {
  return scan.Skip("sync_us=") && ReadMicroseconds(scan, fields.sync_ns) && scan.Skip(" remap_us=") &&
         ReadMicroseconds(scan, fields.remap_ns);
}

}  // namespace remaplab::xla

// `host`: real memory on this machine, no GPU needed. Physical memory is a memfd, Map is mmap(MAP_FIXED) of it without
// access, SetAccess is mprotect, Unmap maps nothing over it again; the device is a thread that does the enqueued
// copies and launches in order. It refuses exactly what `sim` refuses with driver profile "cuda".
//
// Devices: a process has one set of page tables, so each further device is one more view of a reservation, right
// behind the first one's range. SetAccess for device d maps its view page by page table, so peers cost real work; the
// device thread is device 0 and touches the first view.
// Granularity: the minimum is the page size. The recommended one is 2 MiB as on CUDA, so that a trace makes the same
// calls here as there.
// Tags: eight bytes at the start of a slot. Buffers have at least that much room, and a Copy of fewer bytes moves
// eight, so that a small slot's tag goes whole.
// Checking: Touch::kSample touches every 16th slot, another sixteenth on each launch.
// Steps: a launch lasts gpu_ns first and touches its slots then: a remap that did not wait is seen.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/backend.h"
#include "backends/registry.h"
#include "base/result.h"

namespace remaplab {

std::optional<std::string> HostUnavailable();

// Error kUsage for a granularity or number of devices that it cannot have.
Result<std::unique_ptr<Backend>> MakeHostBackend(const BackendOptions& options);

}  // namespace remaplab

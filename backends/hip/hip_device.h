// Finding a device that this backend can work with, and wording what a driver refused.
#pragma once

#include <string>
#include <string_view>

#include "backends/hip/hip_platform.h"
#include "base/result.h"
#include "engine/types.h"

namespace remaplab::REMAPLAB_HIP_PLATFORM {

// Opens the platform's library (`library`, or the usual one when empty), checks its version, that it has at least
// `devices` devices and that device 0 really maps memory, and makes device 0 current. The error is one line: what was
// found, then what is needed.
Result<Hip> OpenDevice(const std::string& library, uint32_t devices);

// Success, or "map(0x7f0000200000, 2097152): hipMemMap says hipErrorInvalidValue (1)".
Status Checked(const Hip& hip, hipError_t error, std::string_view call, Address at, uint64_t size,
               std::string_view api);

// For what is given back on the way out, when nothing can be done about an error any more.
inline void Forget(hipError_t) {}

inline void* Pointer(Address at) { return reinterpret_cast<void*>(at); }
inline Address ToAddress(const void* pointer) { return reinterpret_cast<Address>(pointer); }

}  // namespace remaplab::REMAPLAB_HIP_PLATFORM

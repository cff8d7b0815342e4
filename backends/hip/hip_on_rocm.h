// HIP on ROCm. Types come from whatever HIP header this is compiled against, calls from the libamdhip64 that is found
// at run time. One binary must work with both: what differs between HIP 5.2, 6 and 7 is kept out of the calls below.
//
// Facts: hip-vmm.md 1.1 (names and signatures never changed), 1.2 (struct layouts and enum values), 6.1 (loading).
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>
#pragma GCC diagnostic pop

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backends/hip/shared_library.h"
#include "base/result.h"

namespace remaplab::hip_amd {

// hipMemAllocationProp as every library since HIP 5.3 reads it. Debian's 5.2 header has the members in another order;
// libraries that old are refused, so this one layout is right for all that are left.
struct AllocationProp {
  int32_t type = hipMemAllocationTypePinned;
  int32_t requested_handle_type = 0;
  int32_t location_type = hipMemLocationTypeDevice;
  int32_t location_id = 0;
  void* win32_handle_metadata = nullptr;
  uint8_t compression_type = 0;
  uint8_t gpu_direct_rdma_capable = 0;
  uint16_t usage = 0;
};
static_assert(sizeof(AllocationProp) == 32 && sizeof(AllocationProp) == sizeof(hipMemAllocationProp));
#if HIP_VERSION >= 50300000
static_assert(offsetof(AllocationProp, type) == offsetof(hipMemAllocationProp, type));
static_assert(offsetof(AllocationProp, location_type) == offsetof(hipMemAllocationProp, location));
static_assert(offsetof(AllocationProp, usage) == offsetof(hipMemAllocationProp, allocFlags) + 2);
#endif
static_assert(sizeof(hipMemAccessDesc) == 12 && offsetof(hipMemAccessDesc, flags) == 8);

// The types of calls whose names are overloaded in the headers.
using HipMallocCall = hipError_t (*)(void**, size_t);
using HipHostMallocCall = hipError_t (*)(void**, size_t, unsigned int);

// X(name, type of a pointer to it)
#define REMAPLAB_HIP_CALLS(X)                                                    \
  X(hipRuntimeGetVersion, decltype(&::hipRuntimeGetVersion))                     \
  X(hipGetDeviceCount, decltype(&::hipGetDeviceCount))                           \
  X(hipSetDevice, decltype(&::hipSetDevice))                                     \
  X(hipDeviceGetName, decltype(&::hipDeviceGetName))                             \
  X(hipDeviceGetPCIBusId, decltype(&::hipDeviceGetPCIBusId))                     \
  X(hipDeviceGetAttribute, decltype(&::hipDeviceGetAttribute))                   \
  X(hipGetErrorName, decltype(&::hipGetErrorName))                               \
  X(hipMemGetInfo, decltype(&::hipMemGetInfo))                                   \
  X(hipMemGetAllocationGranularity, decltype(&::hipMemGetAllocationGranularity)) \
  X(hipMemAddressReserve, decltype(&::hipMemAddressReserve))                     \
  X(hipMemAddressFree, decltype(&::hipMemAddressFree))                           \
  X(hipMemCreate, decltype(&::hipMemCreate))                                     \
  X(hipMemRelease, decltype(&::hipMemRelease))                                   \
  X(hipMemMap, decltype(&::hipMemMap))                                           \
  X(hipMemUnmap, decltype(&::hipMemUnmap))                                       \
  X(hipMemSetAccess, decltype(&::hipMemSetAccess))                               \
  X(hipMalloc, HipMallocCall)                                                    \
  X(hipFree, decltype(&::hipFree))                                               \
  X(hipHostMalloc, HipHostMallocCall)                                            \
  X(hipHostFree, decltype(&::hipHostFree))                                       \
  X(hipMemcpyAsync, decltype(&::hipMemcpyAsync))                                 \
  X(hipStreamCreateWithFlags, decltype(&::hipStreamCreateWithFlags))             \
  X(hipStreamDestroy, decltype(&::hipStreamDestroy))                             \
  X(hipStreamSynchronize, decltype(&::hipStreamSynchronize))                     \
  X(hipEventCreateWithFlags, decltype(&::hipEventCreateWithFlags))               \
  X(hipEventDestroy, decltype(&::hipEventDestroy))                               \
  X(hipEventRecord, decltype(&::hipEventRecord))                                 \
  X(hipEventSynchronize, decltype(&::hipEventSynchronize))                       \
  X(hipEventQuery, decltype(&::hipEventQuery))                                   \
  X(hipEventElapsedTime, decltype(&::hipEventElapsedTime))                       \
  X(hipGraphCreate, decltype(&::hipGraphCreate))                                 \
  X(hipGraphDestroy, decltype(&::hipGraphDestroy))                               \
  X(hipGraphAddMemcpyNode1D, decltype(&::hipGraphAddMemcpyNode1D))               \
  X(hipGraphInstantiateWithFlags, decltype(&::hipGraphInstantiateWithFlags))     \
  X(hipGraphExecDestroy, decltype(&::hipGraphExecDestroy))                       \
  X(hipGraphLaunch, decltype(&::hipGraphLaunch))                                 \
  X(hipGraphExecMemcpyNodeSetParams1D, decltype(&::hipGraphExecMemcpyNodeSetParams1D))

class Hip {
 public:
  static constexpr std::string_view kPlatform = "amd";
  static constexpr std::string_view kNeeded = "HIP 6.2 (ROCm 6.2) or later";
  // XLA makes its streams this way on ROCm; hipMemUnmap then waits for them by itself (hip-vmm.md 2.3).
  static constexpr unsigned int kStreamFlags = hipStreamDefault;

  // Opens `library`, or libamdhip64 where it usually is. The error says what was found and what is needed.
  static Result<Hip> Load(const std::string& library);

  // "libamdhip64.so.6 (HIP 6.2.41134)"
  const std::string& found() const { return found_; }
  // What the driver profile of the recordings calls this library: "rocm-7.1".
  std::string profile() const;
  // Several neighbouring mappings in one call work since the 7.0 generation (hip-vmm.md 1.3).
  bool multi_mapping_unmap() const { return version_ >= 70000000; }
  // Parts of a reservation: taken for the owner by 6.2; refused for some by 7.0 to 7.12 (hip-vmm.md T01 to T04).
  bool partial_access_owner() const { return version_ < 70000000 || partial_access_peers(); }
  bool partial_access_peers() const { return version_ >= 71300000; }

  // Appends what identifies the device and its state, as far as the library tells.
  void Describe(int device, std::vector<std::pair<std::string, std::string>>& identity) const;

  // The calls whose structs differ between HIP versions.
  hipError_t Granularity(size_t* granularity, int device, bool recommended) const {
    AllocationProp prop;
    prop.location_id = device;
    return hipMemGetAllocationGranularity(
        granularity, reinterpret_cast<const hipMemAllocationProp*>(&prop),
        recommended ? hipMemAllocationGranularityRecommended : hipMemAllocationGranularityMinimum);
  }
  hipError_t CreateMemory(hipMemGenericAllocationHandle_t* handle, size_t size, int device) const {
    AllocationProp prop;
    prop.location_id = device;
    return hipMemCreate(handle, size, reinterpret_cast<const hipMemAllocationProp*>(&prop), 0);
  }
  hipError_t GiveAccess(void* at, size_t size, int device) const {
    hipMemAccessDesc access{};
    access.location.type = hipMemLocationTypeDevice;
    access.location.id = device;
    access.flags = hipMemAccessFlagsProtReadWrite;
    return hipMemSetAccess(at, size, &access, 1);
  }

#define REMAPLAB_HIP_MEMBER(name, type) type name = nullptr;
  REMAPLAB_HIP_CALLS(REMAPLAB_HIP_MEMBER)
#undef REMAPLAB_HIP_MEMBER

 private:
  Hip() = default;

  int version_ = 0;
  std::string found_;
};

}  // namespace remaplab::hip_amd

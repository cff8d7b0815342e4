// HIP's names on the CUDA driver: virtual memory, graphs, events and copies, no more than the backend uses. No CUDA
// runtime and no device compiler; libcuda is opened at run time, so a binary with this in it starts anywhere.
//
// Symbols are named with the version suffix whose signature the struct below has: cuda.h hides them behind macros that
// change from release to release.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/hip/shared_library.h"
#include "base/result.h"

namespace remaplab::hip_nvidia {

using hipError_t = CUresult;
inline constexpr hipError_t hipSuccess = CUDA_SUCCESS;
inline constexpr hipError_t hipErrorOutOfMemory = CUDA_ERROR_OUT_OF_MEMORY;
inline constexpr hipError_t hipErrorNotReady = CUDA_ERROR_NOT_READY;

using hipMemGenericAllocationHandle_t = CUmemGenericAllocationHandle;
using hipStream_t = CUstream;
using hipEvent_t = CUevent;
using hipGraph_t = CUgraph;
using hipGraphNode_t = CUgraphNode;
using hipGraphExec_t = CUgraphExec;
enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice };

inline constexpr unsigned int hipStreamNonBlocking = CU_STREAM_NON_BLOCKING;
inline constexpr unsigned int hipEventDefault = CU_EVENT_DEFAULT;
inline constexpr unsigned int hipEventDisableTiming = CU_EVENT_DISABLE_TIMING;
inline constexpr unsigned int hipHostMallocDefault = 0;

// X(member, symbol, signature)
#define REMAPLAB_CUDA_CALLS(X)                                                                                        \
  X(init, "cuInit", CUresult (*)(unsigned int))                                                                       \
  X(device_get, "cuDeviceGet", CUresult (*)(CUdevice*, int))                                                          \
  X(device_get_count, "cuDeviceGetCount", CUresult (*)(int*))                                                         \
  X(device_get_name, "cuDeviceGetName", CUresult (*)(char*, int, CUdevice))                                           \
  X(device_get_pci_bus_id, "cuDeviceGetPCIBusId", CUresult (*)(char*, int, CUdevice))                                 \
  X(device_get_attribute, "cuDeviceGetAttribute", CUresult (*)(int*, CUdevice_attribute, CUdevice))                   \
  X(primary_context_retain, "cuDevicePrimaryCtxRetain", CUresult (*)(CUcontext*, CUdevice))                           \
  X(context_set_current, "cuCtxSetCurrent", CUresult (*)(CUcontext))                                                  \
  X(context_get_current, "cuCtxGetCurrent", CUresult (*)(CUcontext*))                                                 \
  X(get_error_name, "cuGetErrorName", CUresult (*)(CUresult, const char**))                                           \
  X(mem_get_info, "cuMemGetInfo_v2", CUresult (*)(size_t*, size_t*))                                                  \
  X(mem_get_granularity, "cuMemGetAllocationGranularity",                                                             \
    CUresult (*)(size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags))                              \
  X(mem_address_reserve, "cuMemAddressReserve",                                                                       \
    CUresult (*)(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long))                                      \
  X(mem_address_free, "cuMemAddressFree", CUresult (*)(CUdeviceptr, size_t))                                          \
  X(mem_create, "cuMemCreate",                                                                                        \
    CUresult (*)(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long))              \
  X(mem_release, "cuMemRelease", CUresult (*)(CUmemGenericAllocationHandle))                                          \
  X(mem_map, "cuMemMap", CUresult (*)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long)) \
  X(mem_unmap, "cuMemUnmap", CUresult (*)(CUdeviceptr, size_t))                                                       \
  X(mem_set_access, "cuMemSetAccess", CUresult (*)(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t))              \
  X(mem_alloc, "cuMemAlloc_v2", CUresult (*)(CUdeviceptr*, size_t))                                                   \
  X(mem_free, "cuMemFree_v2", CUresult (*)(CUdeviceptr))                                                              \
  X(mem_host_alloc, "cuMemHostAlloc", CUresult (*)(void**, size_t, unsigned int))                                     \
  X(mem_free_host, "cuMemFreeHost", CUresult (*)(void*))                                                              \
  X(memcpy_async, "cuMemcpyAsync", CUresult (*)(CUdeviceptr, CUdeviceptr, size_t, CUstream))                          \
  X(stream_create, "cuStreamCreate", CUresult (*)(CUstream*, unsigned int))                                           \
  X(stream_destroy, "cuStreamDestroy_v2", CUresult (*)(CUstream))                                                     \
  X(stream_synchronize, "cuStreamSynchronize", CUresult (*)(CUstream))                                                \
  X(event_create, "cuEventCreate", CUresult (*)(CUevent*, unsigned int))                                              \
  X(event_destroy, "cuEventDestroy_v2", CUresult (*)(CUevent))                                                        \
  X(event_record, "cuEventRecord", CUresult (*)(CUevent, CUstream))                                                   \
  X(event_synchronize, "cuEventSynchronize", CUresult (*)(CUevent))                                                   \
  X(event_query, "cuEventQuery", CUresult (*)(CUevent))                                                               \
  X(event_elapsed_time, "cuEventElapsedTime", CUresult (*)(float*, CUevent, CUevent))                                 \
  X(graph_create, "cuGraphCreate", CUresult (*)(CUgraph*, unsigned int))                                              \
  X(graph_destroy, "cuGraphDestroy", CUresult (*)(CUgraph))                                                           \
  X(graph_add_memcpy_node, "cuGraphAddMemcpyNode",                                                                    \
    CUresult (*)(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_MEMCPY3D*, CUcontext))                 \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", CUresult (*)(CUgraphExec*, CUgraph, unsigned long long))        \
  X(graph_exec_destroy, "cuGraphExecDestroy", CUresult (*)(CUgraphExec))                                              \
  X(graph_launch, "cuGraphLaunch", CUresult (*)(CUgraphExec, CUstream))                                               \
  X(graph_exec_memcpy_node_set_params, "cuGraphExecMemcpyNodeSetParams",                                              \
    CUresult (*)(CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D*, CUcontext))

class Hip {
 public:
  static constexpr std::string_view kPlatform = "nvidia";
  static constexpr std::string_view kNeeded = "an NVIDIA driver for CUDA 12.0 or later";
  // XLA makes its streams this way on CUDA.
  static constexpr unsigned int kStreamFlags = CU_STREAM_NON_BLOCKING;

  // Opens `library`, or libcuda.so.1. The error says what was found and what is needed.
  static Result<Hip> Load(const std::string& library);

  // "libcuda.so.1 (CUDA 13.0)"
  const std::string& found() const { return found_; }
  std::string profile() const { return "cuda"; }
  bool multi_mapping_unmap() const { return true; }
  bool partial_access_owner() const { return true; }
  bool partial_access_peers() const { return true; }

  // Appends what identifies the device and its state: by the driver, and by its management library where there is one.
  void Describe(int device, std::vector<std::pair<std::string, std::string>>& identity) const;

  hipError_t Granularity(size_t* granularity, int device, bool recommended) const {
    const CUmemAllocationProp prop = Properties(device);
    return cuda_.mem_get_granularity(
        granularity, &prop, recommended ? CU_MEM_ALLOC_GRANULARITY_RECOMMENDED : CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  }
  hipError_t CreateMemory(hipMemGenericAllocationHandle_t* handle, size_t size, int device) const {
    const CUmemAllocationProp prop = Properties(device);
    return cuda_.mem_create(handle, size, &prop, 0);
  }
  hipError_t GiveAccess(void* at, size_t size, int device) const {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return cuda_.mem_set_access(Device(at), size, &access, 1);
  }

  const char* hipGetErrorName(hipError_t error) const {
    const char* name = nullptr;
    return cuda_.get_error_name(error, &name) == CUDA_SUCCESS && name != nullptr ? name : "unknown error";
  }
  hipError_t hipGetDeviceCount(int* count) const { return cuda_.device_get_count(count); }
  // Makes the device's primary context current. It is kept until the process ends: making one takes longer than
  // everything else here.
  hipError_t hipSetDevice(int device) const;
  hipError_t hipMemGetInfo(size_t* free, size_t* total) const { return cuda_.mem_get_info(free, total); }

  hipError_t hipMemAddressReserve(void** at, size_t size, size_t alignment, void* wanted,
                                  unsigned long long flags) const {
    CUdeviceptr result = 0;
    const CUresult error = cuda_.mem_address_reserve(&result, size, alignment, Device(wanted), flags);
    *at = Host(result);
    return error;
  }
  hipError_t hipMemAddressFree(void* at, size_t size) const { return cuda_.mem_address_free(Device(at), size); }
  hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle) const { return cuda_.mem_release(handle); }
  hipError_t hipMemMap(void* at, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle,
                       unsigned long long flags) const {
    return cuda_.mem_map(Device(at), size, offset, handle, flags);
  }
  hipError_t hipMemUnmap(void* at, size_t size) const { return cuda_.mem_unmap(Device(at), size); }

  hipError_t hipMalloc(void** at, size_t size) const {
    CUdeviceptr result = 0;
    const CUresult error = cuda_.mem_alloc(&result, size);
    *at = Host(result);
    return error;
  }
  hipError_t hipFree(void* at) const { return cuda_.mem_free(Device(at)); }
  hipError_t hipHostMalloc(void** at, size_t size, unsigned int flags) const {
    return cuda_.mem_host_alloc(at, size, flags);
  }
  hipError_t hipHostFree(void* at) const { return cuda_.mem_free_host(at); }
  // With unified addressing, which every device with virtual memory management has, pointers say where they point.
  hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, hipMemcpyKind, hipStream_t stream) const {
    return cuda_.memcpy_async(Device(to), Device(from), size, stream);
  }

  hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) const {
    return cuda_.stream_create(stream, flags);
  }
  hipError_t hipStreamDestroy(hipStream_t stream) const { return cuda_.stream_destroy(stream); }
  hipError_t hipStreamSynchronize(hipStream_t stream) const { return cuda_.stream_synchronize(stream); }
  hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int flags) const {
    return cuda_.event_create(event, flags);
  }
  hipError_t hipEventDestroy(hipEvent_t event) const { return cuda_.event_destroy(event); }
  hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) const { return cuda_.event_record(event, stream); }
  hipError_t hipEventSynchronize(hipEvent_t event) const { return cuda_.event_synchronize(event); }
  hipError_t hipEventQuery(hipEvent_t event) const { return cuda_.event_query(event); }
  hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) const {
    return cuda_.event_elapsed_time(ms, start, stop);
  }

  hipError_t hipGraphCreate(hipGraph_t* graph, unsigned int flags) const { return cuda_.graph_create(graph, flags); }
  hipError_t hipGraphDestroy(hipGraph_t graph) const { return cuda_.graph_destroy(graph); }
  hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,
                                     void* to, const void* from, size_t size, hipMemcpyKind) const {
    const CUDA_MEMCPY3D copy = DeviceCopy(to, from, size);
    return cuda_.graph_add_memcpy_node(node, graph, after, count, &copy, CurrentContext());
  }
  hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph, unsigned long long flags) const {
    return cuda_.graph_instantiate(exec, graph, flags);
  }
  hipError_t hipGraphExecDestroy(hipGraphExec_t exec) const { return cuda_.graph_exec_destroy(exec); }
  hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) const { return cuda_.graph_launch(exec, stream); }
  hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node, void* to, const void* from,
                                               size_t size, hipMemcpyKind) const {
    const CUDA_MEMCPY3D copy = DeviceCopy(to, from, size);
    return cuda_.graph_exec_memcpy_node_set_params(exec, node, &copy, CurrentContext());
  }

 private:
  struct Cuda {
#define REMAPLAB_CUDA_TYPE(member, symbol, ...) using member##_call = __VA_ARGS__;
#define REMAPLAB_CUDA_MEMBER(member, symbol, ...) member##_call member = nullptr;
    REMAPLAB_CUDA_CALLS(REMAPLAB_CUDA_TYPE)
    REMAPLAB_CUDA_CALLS(REMAPLAB_CUDA_MEMBER)
#undef REMAPLAB_CUDA_TYPE
#undef REMAPLAB_CUDA_MEMBER
  };

  Hip() = default;

  static CUdeviceptr Device(const void* at) { return reinterpret_cast<CUdeviceptr>(at); }
  static void* Host(CUdeviceptr at) { return reinterpret_cast<void*>(at); }
  static CUmemAllocationProp Properties(int device) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    return prop;
  }
  // A graph's copy between two places in device memory.
  static CUDA_MEMCPY3D DeviceCopy(void* to, const void* from, size_t size) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = Device(from);
    copy.srcPitch = size;
    copy.srcHeight = 1;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = Device(to);
    copy.dstPitch = size;
    copy.dstHeight = 1;
    copy.WidthInBytes = size;
    copy.Height = 1;
    copy.Depth = 1;
    return copy;
  }
  CUcontext CurrentContext() const {
    CUcontext context = nullptr;
    cuda_.context_get_current(&context);
    return context;
  }

  Cuda cuda_;
  std::string found_;
  int version_ = 0;
};

}  // namespace remaplab::hip_nvidia

// libamdhip64 over the fake device: the entry points that backends/hip/hip_on_rocm.h looks up. It reads structs as
// every library since HIP 5.3 does, whatever header this is compiled against.
#include <cstdio>

#include "backends/hip/hip_on_rocm.h"
#include "tests/real/fake_driver/fake_device.h"

namespace {

hipError_t Code(int error) { return static_cast<hipError_t>(error); }
template <typename T>
void** Out(T** handle) {
  return reinterpret_cast<void**>(handle);
}

}  // namespace

extern "C" {

hipError_t hipRuntimeGetVersion(int* version) {
  const int set = fake::Version();
  *version = set == 0 ? 70151831 : set;
  return hipSuccess;
}
hipError_t hipGetDeviceCount(int* count) { return Code(fake::DeviceCount(count)); }
hipError_t hipSetDevice(int) { return hipSuccess; }
hipError_t hipDeviceGetName(char* name, int length, hipDevice_t) {
  std::snprintf(name, static_cast<size_t>(length), "fake device");
  return hipSuccess;
}
hipError_t hipDeviceGetPCIBusId(char* id, int length, int) {
  std::snprintf(id, static_cast<size_t>(length), "0000:00:00.0");
  return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t, int) {
  *value = 1;
  return hipSuccess;
}
const char* hipGetErrorName(hipError_t error) { return fake::ErrorName(error); }
hipError_t hipMemGetInfo(size_t* free, size_t* total) { return Code(fake::MemGetInfo(free, total)); }
hipError_t hipMemGetAllocationGranularity(size_t* granularity, const hipMemAllocationProp*,
                                          hipMemAllocationGranularity_flags option) {
  return Code(fake::Granularity(granularity, option == hipMemAllocationGranularityRecommended));
}
hipError_t hipMemAddressReserve(void** at, size_t size, size_t alignment, void*, unsigned long long) {
  return Code(fake::Reserve(at, size, alignment));
}
hipError_t hipMemAddressFree(void* at, size_t size) { return Code(fake::AddressFree(at, size)); }
hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* handle, size_t size, const hipMemAllocationProp* prop,
                        unsigned long long flags) {
  const auto& read = *reinterpret_cast<const remaplab::hip_amd::AllocationProp*>(prop);
  if (read.type != 1 || read.location_type != 1 || read.requested_handle_type != 0 || flags != 0) {
    return hipErrorInvalidValue;
  }
  uint64_t made = 0;
  const int error = fake::Create(&made, size, read.location_id);
  *handle = reinterpret_cast<hipMemGenericAllocationHandle_t>(made);
  return Code(error);
}
hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle) {
  return Code(fake::Release(reinterpret_cast<uint64_t>(handle)));
}
hipError_t hipMemMap(void* at, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle, unsigned long long) {
  return Code(fake::Map(at, size, offset, reinterpret_cast<uint64_t>(handle)));
}
hipError_t hipMemUnmap(void* at, size_t size) { return Code(fake::Unmap(at, size)); }
hipError_t hipMemSetAccess(void* at, size_t size, const hipMemAccessDesc* access, size_t count) {
  if (count != 1 || access->flags != hipMemAccessFlagsProtReadWrite) return hipErrorInvalidValue;
  return Code(fake::SetAccess(at, size, access->location.id));
}
hipError_t hipMalloc(void** at, size_t size) { return Code(fake::Malloc(at, size)); }
hipError_t hipFree(void* at) { return Code(fake::Free(at)); }
hipError_t hipHostMalloc(void** at, size_t size, unsigned int) { return Code(fake::HostMalloc(at, size)); }
hipError_t hipHostFree(void* at) { return Code(fake::HostFree(at)); }
hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, hipMemcpyKind, hipStream_t stream) {
  return Code(fake::CopyAsync(to, from, size, stream));
}
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int) { return Code(fake::StreamCreate(Out(stream))); }
hipError_t hipStreamDestroy(hipStream_t stream) { return Code(fake::StreamDestroy(stream)); }
hipError_t hipStreamSynchronize(hipStream_t stream) { return Code(fake::StreamSynchronize(stream)); }
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int) { return Code(fake::EventCreate(Out(event))); }
hipError_t hipEventDestroy(hipEvent_t event) { return Code(fake::EventDestroy(event)); }
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) { return Code(fake::EventRecord(event, stream)); }
hipError_t hipEventSynchronize(hipEvent_t event) { return Code(fake::EventSynchronize(event)); }
hipError_t hipEventQuery(hipEvent_t event) { return Code(fake::EventQuery(event)); }
hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  return Code(fake::EventElapsed(ms, start, stop));
}
hipError_t hipGraphCreate(hipGraph_t* graph, unsigned int) { return Code(fake::GraphCreate(Out(graph))); }
hipError_t hipGraphDestroy(hipGraph_t graph) { return Code(fake::GraphDestroy(graph)); }
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t*, size_t, void* to,
                                   const void* from, size_t size, hipMemcpyKind) {
  return Code(fake::GraphAddCopy(Out(node), graph, to, from, size));
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph, unsigned long long) {
  return Code(fake::GraphInstantiate(Out(exec), graph));
}
hipError_t hipGraphExecDestroy(hipGraphExec_t exec) { return Code(fake::GraphExecDestroy(exec)); }
hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) { return Code(fake::GraphLaunch(exec, stream)); }
hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node, void* to, const void* from,
                                             size_t size, hipMemcpyKind) {
  return Code(fake::GraphExecSetCopy(exec, node, to, from, size));
}

}  // extern "C"

// libcuda over the fake device: the entry points that backends/hip/hip_on_cuda.h looks up, by the names it looks up.
#include <cuda.h>
#undef cuEventElapsedTime  // the plain symbol is the one that every driver has

#include <cstdio>

#include "tests/real/fake_driver/fake_device.h"

namespace {

CUresult Code(int error) { return static_cast<CUresult>(error); }
void* Pointer(CUdeviceptr at) { return reinterpret_cast<void*>(at); }
template <typename T>
void** Out(T** handle) {
  return reinterpret_cast<void**>(handle);
}

}  // namespace

extern "C" {

CUresult cuDriverGetVersion(int* version) {
  const int set = fake::Version();
  *version = set == 0 ? 13000 : set;
  return CUDA_SUCCESS;
}
CUresult cuInit(unsigned int) {
  int count = 0;
  return Code(fake::DeviceCount(&count));
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) { return Code(fake::DeviceCount(count)); }
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<size_t>(length), "fake device");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice) {
  std::snprintf(id, static_cast<size_t>(length), "0000:00:00.0");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 1;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(1);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(1);
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = fake::ErrorName(error);
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo(size_t* free, size_t* total) { return Code(fake::MemGetInfo(free, total)); }
CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags option) {
  return Code(fake::Granularity(granularity, option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
}
CUresult cuMemAddressReserve(CUdeviceptr* at, size_t size, size_t alignment, CUdeviceptr, unsigned long long) {
  void* result = nullptr;
  const int error = fake::Reserve(&result, size, alignment);
  *at = reinterpret_cast<CUdeviceptr>(result);
  return Code(error);
}
CUresult cuMemAddressFree(CUdeviceptr at, size_t size) { return Code(fake::AddressFree(Pointer(at), size)); }
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t made = 0;
  const int error = fake::Create(&made, size, prop->location.id);
  *handle = made;
  return Code(error);
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) { return Code(fake::Release(handle)); }
CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long) {
  return Code(fake::Map(Pointer(at), size, offset, handle));
}
CUresult cuMemUnmap(CUdeviceptr at, size_t size) { return Code(fake::Unmap(Pointer(at), size)); }
CUresult cuMemSetAccess(CUdeviceptr at, size_t size, const CUmemAccessDesc* access, size_t count) {
  if (count != 1 || access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
  return Code(fake::SetAccess(Pointer(at), size, access->location.id));
}
CUresult cuMemAlloc(CUdeviceptr* at, size_t size) {
  void* result = nullptr;
  const int error = fake::Malloc(&result, size);
  *at = reinterpret_cast<CUdeviceptr>(result);
  return Code(error);
}
CUresult cuMemFree(CUdeviceptr at) { return Code(fake::Free(Pointer(at))); }
CUresult cuMemHostAlloc(void** at, size_t size, unsigned int) { return Code(fake::HostMalloc(at, size)); }
CUresult cuMemFreeHost(void* at) { return Code(fake::HostFree(at)); }
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return Code(fake::CopyAsync(Pointer(to), Pointer(from), size, stream));
}
CUresult cuStreamCreate(CUstream* stream, unsigned int) { return Code(fake::StreamCreate(Out(stream))); }
CUresult cuStreamDestroy(CUstream stream) { return Code(fake::StreamDestroy(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { return Code(fake::StreamSynchronize(stream)); }
CUresult cuEventCreate(CUevent* event, unsigned int) { return Code(fake::EventCreate(Out(event))); }
CUresult cuEventDestroy(CUevent event) { return Code(fake::EventDestroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { return Code(fake::EventRecord(event, stream)); }
CUresult cuEventSynchronize(CUevent event) { return Code(fake::EventSynchronize(event)); }
CUresult cuEventQuery(CUevent event) { return Code(fake::EventQuery(event)); }
CUresult cuEventElapsedTime(float* ms, CUevent start, CUevent stop) {
  return Code(fake::EventElapsed(ms, start, stop));
}
CUresult cuGraphCreate(CUgraph* graph, unsigned int) { return Code(fake::GraphCreate(Out(graph))); }
CUresult cuGraphDestroy(CUgraph graph) { return Code(fake::GraphDestroy(graph)); }
CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t, const CUDA_MEMCPY3D* copy,
                              CUcontext context) {
  if (context == nullptr || copy->Height != 1 || copy->Depth != 1) return CUDA_ERROR_INVALID_VALUE;
  return Code(
      fake::GraphAddCopy(Out(node), graph, Pointer(copy->dstDevice), Pointer(copy->srcDevice), copy->WidthInBytes));
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return Code(fake::GraphInstantiate(Out(exec), graph));
}
CUresult cuGraphExecDestroy(CUgraphExec exec) { return Code(fake::GraphExecDestroy(exec)); }
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) { return Code(fake::GraphLaunch(exec, stream)); }
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* copy, CUcontext) {
  return Code(
      fake::GraphExecSetCopy(exec, node, Pointer(copy->dstDevice), Pointer(copy->srcDevice), copy->WidthInBytes));
}

}  // extern "C"

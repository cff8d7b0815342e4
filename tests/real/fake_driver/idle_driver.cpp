// A driver that claims a recent version and a device, succeeds at every call and does nothing. Arguments are not looked
// at, so no function here declares any but those that it needs.
#if defined(IDLE_HIP)
#define IDLE_CALLS(X)                                                                                                 \
  X(hipSetDevice)                                                                                                     \
  X(hipDeviceGetName) X(hipDeviceGetPCIBusId) X(hipDeviceGetAttribute) X(hipMemGetInfo) X(hipMemAddressReserve)       \
      X(hipMemAddressFree) X(hipMemCreate) X(hipMemRelease) X(hipMemMap) X(hipMemUnmap) X(hipMemSetAccess)            \
          X(hipMalloc) X(hipFree) X(hipHostFree) X(hipMemcpyAsync) X(hipStreamCreateWithFlags) X(hipStreamDestroy)    \
              X(hipStreamSynchronize) X(hipEventCreateWithFlags) X(hipEventDestroy) X(hipEventRecord)                 \
                  X(hipEventSynchronize) X(hipEventQuery) X(hipEventElapsedTime) X(hipGraphCreate) X(hipGraphDestroy) \
                      X(hipGraphAddMemcpyNode1D) X(hipGraphInstantiateWithFlags) X(hipGraphExecDestroy)               \
                          X(hipGraphLaunch) X(hipGraphExecMemcpyNodeSetParams1D)
#define IDLE_VERSION hipRuntimeGetVersion
#define IDLE_VERSION_NUMBER 60241134
#define IDLE_COUNT hipGetDeviceCount
#define IDLE_HOST_MALLOC hipHostMalloc
#define IDLE_GRANULARITY hipMemGetAllocationGranularity
extern "C" const char* hipGetErrorName(int) { return "hipSuccess"; }
#else
#define IDLE_CALLS(X)                                                                                                 \
  X(cuInit)                                                                                                           \
  X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetPCIBusId) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain)        \
      X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuGetErrorName) X(cuMemGetInfo_v2) X(cuMemAddressReserve)               \
          X(cuMemAddressFree) X(cuMemCreate) X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess)              \
              X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemFreeHost) X(cuMemcpyAsync) X(cuStreamCreate)                    \
                  X(cuStreamDestroy_v2) X(cuStreamSynchronize) X(cuEventCreate) X(cuEventDestroy_v2) X(cuEventRecord) \
                      X(cuEventSynchronize) X(cuEventQuery) X(cuEventElapsedTime) X(cuGraphCreate) X(cuGraphDestroy)  \
                          X(cuGraphAddMemcpyNode) X(cuGraphInstantiateWithFlags) X(cuGraphExecDestroy)                \
                              X(cuGraphLaunch) X(cuGraphExecMemcpyNodeSetParams)
#define IDLE_VERSION cuDriverGetVersion
#define IDLE_VERSION_NUMBER 13000
#define IDLE_COUNT cuDeviceGetCount
#define IDLE_HOST_MALLOC cuMemHostAlloc
#define IDLE_GRANULARITY cuMemGetAllocationGranularity
#endif

#include <cstddef>

extern "C" {

#define IDLE_CALL(name) \
  int name() { return 0; }
IDLE_CALLS(IDLE_CALL)

int IDLE_VERSION(int* version) {
  *version = IDLE_VERSION_NUMBER;
  return 0;
}
int IDLE_COUNT(int* count) {
  *count = 1;
  return 0;
}
int IDLE_HOST_MALLOC(void** at, size_t) {
  static long long memory[8];
  *at = memory;
  return 0;
}
int IDLE_GRANULARITY(size_t* granularity) {
  *granularity = 4096;
  return 0;
}

}  // extern "C"

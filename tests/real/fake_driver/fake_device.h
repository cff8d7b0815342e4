// A GPU driver for tests: real memory, a thread as the device, and knobs for what can go wrong. fake_cuda.cpp and
// fake_hip.cpp dress it up as libcuda and libamdhip64. Error numbers are those that both share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake {

inline constexpr int kSuccess = 0;
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNoDevice = 100;
inline constexpr int kNotReady = 600;
inline constexpr int kIllegalAddress = 700;
inline constexpr int kDead = 719;  // launch failure: the context is lost

const char* ErrorName(int error);
int Version();
int DeviceCount(int* count);
int MemGetInfo(size_t* free, size_t* total);
int Granularity(size_t* granularity, bool recommended);
int Reserve(void** at, size_t size, size_t alignment);
int AddressFree(void* at, size_t size);
int Create(uint64_t* handle, size_t size, int device);
int Release(uint64_t handle);
int Map(void* at, size_t size, size_t offset, uint64_t handle);
int Unmap(void* at, size_t size);
int SetAccess(void* at, size_t size, int device);
int Malloc(void** at, size_t size);
int Free(void* at);
int HostMalloc(void** at, size_t size);
int HostFree(void* at);
int CopyAsync(void* to, const void* from, size_t size, void* stream);
int StreamCreate(void** stream);
int StreamDestroy(void* stream);
int StreamSynchronize(void* stream);
int EventCreate(void** event);
int EventDestroy(void* event);
int EventRecord(void* event, void* stream);
int EventSynchronize(void* event);
int EventQuery(void* event);
int EventElapsed(float* ms, void* start, void* stop);
int GraphCreate(void** graph);
int GraphDestroy(void* graph);
int GraphAddCopy(void** node, void* graph, void* to, const void* from, size_t size);
int GraphInstantiate(void** exec, void* graph);
int GraphExecDestroy(void* exec);
int GraphLaunch(void* exec, void* stream);
int GraphExecSetCopy(void* exec, void* node, void* to, const void* from, size_t size);

}  // namespace fake

// The test's side, found by dlsym on the same file. Knobs: "version", "devices", "memory" (bytes of physical memory),
// "dead" (every call fails), "deaf" (copies do nothing), "refuse_update" (graphs cannot be changed in place), "hang_ns"
// (a map takes that long).
extern "C" void fake_driver_set(const char* knob, long value);
// How many things of any kind are allocated.
extern "C" long fake_driver_live();

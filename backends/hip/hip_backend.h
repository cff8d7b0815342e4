// `hip`: the virtual-memory API of a real GPU. One source for two platforms: `amd` against ROCm's header and library,
// `nvidia` with HIP's names on the CUDA driver (hip_on_cuda.h). The library is opened at run time.
//
// What is checked before a driver is asked (real/vmm_ledger.h) is the contract of backend.h; drivers crash on some of
// it. The command buffer is a graph of copies (hip_command_buffer.h); copies before it give the step its GPU time
// (hip_filler.h). Touch::kSample is kFull here: a graph's addresses are baked, so every launch touches the same slots.
// Tags: no code runs on the device, so the CPU works out what a launch will write, from what it enqueued before in
// stream order, and hands the new tags to the launch. What a launch reads is copied out and never assumed; a step whose
// remap did not wait reads other tags than expected, or dies.
// A launch that would touch an address where nothing is mapped is not given to the device, which would not survive it:
// the slots that can be reached are copied one by one, and the others are reported.
// Release waits for nobody: what running work may still use stays until that work is done.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/backend.h"
#include "backends/registry.h"
#include "base/result.h"

namespace remaplab {

// Each platform that is compiled in has these. `library` replaces the driver's usual library; empty: the usual one.
#define REMAPLAB_HIP_DECLARE(platform)                                                                     \
  namespace platform {                                                                                     \
  std::optional<std::string> Unavailable(const std::string& library);                                      \
  Result<std::unique_ptr<Backend>> MakeBackend(const BackendOptions& options, const std::string& library); \
  }
REMAPLAB_HIP_DECLARE(hip_amd)
REMAPLAB_HIP_DECLARE(hip_nvidia)
#undef REMAPLAB_HIP_DECLARE

// The platform that the build chose as `hip` (REMAPLAB_HIP); without one it says so.
std::optional<std::string> HipUnavailable();
Result<std::unique_ptr<Backend>> MakeHipBackend(const BackendOptions& options);

}  // namespace remaplab

// The HIP calls that the backend uses, on the platform that this translation unit is compiled for: ROCm's own, or the
// same names on the CUDA driver. Both offer `class Hip` with the same members; the backend's source is one.
//
// Everything that depends on the platform lives in namespace remaplab::hip_amd or remaplab::hip_nvidia, so that both
// can be linked into one program (the tests do).
#pragma once

#if defined(REMAPLAB_HIP_AMD)
#define REMAPLAB_HIP_PLATFORM hip_amd
#include "backends/hip/hip_on_rocm.h"
#elif defined(REMAPLAB_HIP_NVIDIA)
#define REMAPLAB_HIP_PLATFORM hip_nvidia
#include "backends/hip/hip_on_cuda.h"
#else
#error "compile with REMAPLAB_HIP_AMD or REMAPLAB_HIP_NVIDIA"
#endif

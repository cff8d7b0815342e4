# Which GPU platform the `hip` backend is built for. Nothing is linked: drivers' libraries are opened at run time, so
# headers are all a build needs, and a build without any still works.
#
# find_package(hip) is not used: it demands hipcc, device libraries and a matching clang, and adds device flags that g++
# does not take.
set(REMAPLAB_HIP "auto" CACHE STRING "Platform of the hip backend: auto, amd (ROCm), nvidia (CUDA driver), off")
set_property(CACHE REMAPLAB_HIP PROPERTY STRINGS auto amd nvidia off)
if(NOT REMAPLAB_HIP MATCHES "^(auto|amd|nvidia|off)$")
  message(FATAL_ERROR "REMAPLAB_HIP is '${REMAPLAB_HIP}'; it can be auto, amd, nvidia or off")
endif()

find_path(REMAPLAB_ROCM_INCLUDE hip/hip_runtime_api.h HINTS "$ENV{ROCM_PATH}/include" /opt/rocm/include)
find_library(REMAPLAB_ROCM_LIBRARY amdhip64 HINTS "$ENV{ROCM_PATH}/lib" /opt/rocm/lib)
find_path(REMAPLAB_CUDA_INCLUDE cuda.h HINTS "$ENV{CUDA_PATH}/include" "$ENV{CUDA_HOME}/include" /usr/local/cuda/include)
mark_as_advanced(REMAPLAB_ROCM_INCLUDE REMAPLAB_ROCM_LIBRARY REMAPLAB_CUDA_INCLUDE)

if(REMAPLAB_HIP STREQUAL "amd" AND NOT REMAPLAB_ROCM_INCLUDE)
  message(FATAL_ERROR "REMAPLAB_HIP=amd: hip/hip_runtime_api.h was not found (Debian: libamdhip64-dev; ROCm: set ROCM_PATH)")
endif()
if(REMAPLAB_HIP STREQUAL "nvidia" AND NOT REMAPLAB_CUDA_INCLUDE)
  message(FATAL_ERROR "REMAPLAB_HIP=nvidia: cuda.h was not found (set CUDA_PATH)")
endif()

# Platforms to compile: what `hip` is, and whatever else has headers, so that both stay compiling.
set(REMAPLAB_HIP_PLATFORMS "")
set(REMAPLAB_HIP_CHOICE "")
if(NOT REMAPLAB_HIP STREQUAL "off")
  if(REMAPLAB_ROCM_INCLUDE)
    list(APPEND REMAPLAB_HIP_PLATFORMS amd)
  endif()
  if(REMAPLAB_CUDA_INCLUDE)
    list(APPEND REMAPLAB_HIP_PLATFORMS nvidia)
  endif()
  if(REMAPLAB_HIP STREQUAL "auto" AND REMAPLAB_HIP_PLATFORMS)
    list(GET REMAPLAB_HIP_PLATFORMS 0 REMAPLAB_HIP_CHOICE)
  elseif(NOT REMAPLAB_HIP STREQUAL "auto")
    set(REMAPLAB_HIP_CHOICE "${REMAPLAB_HIP}")
  endif()
endif()
set(REMAPLAB_amd_INCLUDE "${REMAPLAB_ROCM_INCLUDE}")
set(REMAPLAB_nvidia_INCLUDE "${REMAPLAB_CUDA_INCLUDE}")
set(REMAPLAB_amd_SOURCE hip_on_rocm.cpp)
set(REMAPLAB_nvidia_SOURCE hip_on_cuda.cpp)
if(REMAPLAB_HIP_CHOICE)
  message(STATUS "hip backend: ${REMAPLAB_HIP_CHOICE} (compiled: ${REMAPLAB_HIP_PLATFORMS})")
else()
  message(STATUS "hip backend: none")
endif()

// Which platform `hip` is: compiled with REMAPLAB_HIP_CHOICE = hip_amd or hip_nvidia, or without it.
#include "backends/hip/hip_backend.h"

namespace remaplab {

#if defined(REMAPLAB_HIP_CHOICE)
std::optional<std::string> HipUnavailable() { return REMAPLAB_HIP_CHOICE::Unavailable({}); }
Result<std::unique_ptr<Backend>> MakeHipBackend(const BackendOptions& options) {
  return REMAPLAB_HIP_CHOICE::MakeBackend(options, {});
}
#else
std::optional<std::string> HipUnavailable() {
  return "hip: found a build without HIP and CUDA headers; needed: configure with -DREMAPLAB_HIP=amd or nvidia";
}
Result<std::unique_ptr<Backend>> MakeHipBackend(const BackendOptions&) {
  return Fail(ErrorCode::kUnsupported, *HipUnavailable());
}
#endif

}  // namespace remaplab

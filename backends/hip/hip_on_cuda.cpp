#include "backends/hip/hip_on_cuda.h"

#include <fmt/format.h>

#include <array>

namespace remaplab::hip_nvidia {
namespace {

constexpr int kMinimumVersion = 12000;  // major * 1000 + minor * 10

tl::unexpected<Error> Refuse(std::string_view found) {
  return Fail(ErrorCode::kUnsupported, fmt::format("hip: found {}; needed: {}", found, Hip::kNeeded));
}

// The few calls of NVIDIA's management library that say what state the device is in; its header is not part of the
// CUDA driver's.
class Management {
 public:
  Management() {
    const std::vector<std::string> names = {"libnvidia-ml.so.1"};
    auto library = SharedLibrary::Open(names);
    if (!library) return;
    const auto init = reinterpret_cast<int (*)()>(library->Symbol("nvmlInit_v2"));
    shutdown_ = reinterpret_cast<int (*)()>(library->Symbol("nvmlShutdown"));
    version_ = reinterpret_cast<int (*)(char*, unsigned)>(library->Symbol("nvmlSystemGetDriverVersion"));
    device_ = reinterpret_cast<int (*)(const char*, Device*)>(library->Symbol("nvmlDeviceGetHandleByPciBusId_v2"));
    clock_ = reinterpret_cast<int (*)(Device, int, unsigned*)>(library->Symbol("nvmlDeviceGetClockInfo"));
    ecc_ = reinterpret_cast<int (*)(Device, int*, int*)>(library->Symbol("nvmlDeviceGetEccMode"));
    usable_ = init != nullptr && init() == 0;
  }
  ~Management() {
    if (usable_ && shutdown_ != nullptr) shutdown_();
  }
  Management(const Management&) = delete;
  Management& operator=(const Management&) = delete;

  void Describe(const char* pci_bus_id, std::vector<std::pair<std::string, std::string>>& identity) const {
    if (!usable_) return;
    std::array<char, 96> text{};
    if (version_ != nullptr && version_(text.data(), text.size()) == 0) identity.emplace_back("driver", text.data());
    Device device = nullptr;
    if (device_ == nullptr || device_(pci_bus_id, &device) != 0) return;
    int ecc = 0;
    int pending = 0;
    if (ecc_ != nullptr && ecc_(device, &ecc, &pending) == 0) identity.emplace_back("ecc", ecc != 0 ? "on" : "off");
    constexpr std::array<std::pair<int, const char*>, 2> kClocks = {{{1, "clock_mhz"}, {2, "memory_clock_mhz"}}};
    for (const auto& [which, name] : kClocks) {
      unsigned mhz = 0;
      if (clock_ != nullptr && clock_(device, which, &mhz) == 0) identity.emplace_back(name, fmt::format("{}", mhz));
    }
  }

 private:
  using Device = void*;

  bool usable_ = false;
  int (*shutdown_)() = nullptr;
  int (*version_)(char*, unsigned) = nullptr;
  int (*device_)(const char*, Device*) = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  int (*ecc_)(Device, int*, int*) = nullptr;
};

}  // namespace

Result<Hip> Hip::Load(const std::string& library) {
  const std::vector<std::string> names = {library.empty() ? "libcuda.so.1" : library};
  auto opened = SharedLibrary::Open(names);
  if (!opened) return Refuse(fmt::format("no NVIDIA driver ({})", opened.error().message()));

  Hip hip;
  const auto version = reinterpret_cast<CUresult (*)(int*)>(opened->Symbol("cuDriverGetVersion"));
  if (version == nullptr || version(&hip.version_) != CUDA_SUCCESS) {
    return Refuse(fmt::format("{}, which does not say its version", opened->name()));
  }
  hip.found_ = fmt::format("{} (CUDA {}.{})", opened->name(), hip.version_ / 1000, hip.version_ % 1000 / 10);
  if (hip.version_ < kMinimumVersion) return Refuse(hip.found_);

#define REMAPLAB_CUDA_LOAD(member, symbol, ...)                                     \
  hip.cuda_.member = reinterpret_cast<Cuda::member##_call>(opened->Symbol(symbol)); \
  if (hip.cuda_.member == nullptr) return Refuse(fmt::format("{} without " symbol, hip.found_));
  REMAPLAB_CUDA_CALLS(REMAPLAB_CUDA_LOAD)
#undef REMAPLAB_CUDA_LOAD

  const CUresult started = hip.cuda_.init(0);
  if (started != CUDA_SUCCESS && started != CUDA_ERROR_NO_DEVICE) {
    return Refuse(fmt::format("{}, which does not start: cuInit says {}", hip.found_, hip.hipGetErrorName(started)));
  }
  return hip;
}

hipError_t Hip::hipSetDevice(int device) const {
  CUdevice id = 0;
  if (const CUresult error = cuda_.device_get(&id, device); error != CUDA_SUCCESS) return error;
  CUcontext context = nullptr;
  if (const CUresult error = cuda_.primary_context_retain(&context, id); error != CUDA_SUCCESS) return error;
  return cuda_.context_set_current(context);
}

void Hip::Describe(int device, std::vector<std::pair<std::string, std::string>>& identity) const {
  CUdevice id = 0;
  if (cuda_.device_get(&id, device) != CUDA_SUCCESS) return;
  std::array<char, 256> text{};
  const int length = static_cast<int>(text.size());
  if (cuda_.device_get_name(text.data(), length, id) == CUDA_SUCCESS) identity.emplace_back("device", text.data());
  identity.emplace_back("api", fmt::format("CUDA {}.{}", version_ / 1000, version_ % 1000 / 10));
  if (cuda_.device_get_pci_bus_id(text.data(), length, id) != CUDA_SUCCESS) return;
  identity.emplace_back("pci", text.data());
  Management().Describe(text.data(), identity);
}

}  // namespace remaplab::hip_nvidia

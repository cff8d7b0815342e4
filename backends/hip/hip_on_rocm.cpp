#include "backends/hip/hip_on_rocm.h"

#include <fmt/format.h>

#include <array>

namespace remaplab::hip_amd {
namespace {

constexpr int kMinimumVersion = 60200000;  // major * 10^7 + minor * 10^5 + patch

std::string VersionText(int version) {
  return fmt::format("HIP {}.{}.{}", version / 10000000, version / 100000 % 100, version % 100000);
}

tl::unexpected<Error> Refuse(std::string_view found) {
  return Fail(ErrorCode::kUnsupported, fmt::format("hip: found {}; needed: {}", found, Hip::kNeeded));
}

}  // namespace

Result<Hip> Hip::Load(const std::string& library) {
  // The oldest name comes last: it is opened to say which version it is.
  const std::vector<std::string> usual = {"libamdhip64.so.7", "libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so",
                                          "libamdhip64.so", "libamdhip64.so.5"};
  const std::vector<std::string> names = library.empty() ? usual : std::vector<std::string>{library};
  auto opened = SharedLibrary::Open(names);
  if (!opened) return Refuse(fmt::format("no ROCm library ({})", opened.error().message()));

  Hip hip;
  hip.hipRuntimeGetVersion =
      reinterpret_cast<decltype(&::hipRuntimeGetVersion)>(opened->Symbol("hipRuntimeGetVersion"));
  if (hip.hipRuntimeGetVersion == nullptr || hip.hipRuntimeGetVersion(&hip.version_) != hipSuccess) {
    return Refuse(fmt::format("{}, which does not say its version", opened->name()));
  }
  hip.found_ = fmt::format("{} ({})", opened->name(), VersionText(hip.version_));
  if (hip.version_ < kMinimumVersion) return Refuse(hip.found_);

#define REMAPLAB_HIP_LOAD(name, type)                       \
  hip.name = reinterpret_cast<type>(opened->Symbol(#name)); \
  if (hip.name == nullptr) return Refuse(fmt::format("{} without " #name, hip.found_));
  REMAPLAB_HIP_CALLS(REMAPLAB_HIP_LOAD)
#undef REMAPLAB_HIP_LOAD
  return hip;
}

std::string Hip::profile() const { return fmt::format("rocm-{}.{}", version_ / 10000000, version_ / 100000 % 100); }

void Hip::Describe(int device, std::vector<std::pair<std::string, std::string>>& identity) const {
  std::array<char, 256> text{};
  if (hipDeviceGetName(text.data(), static_cast<int>(text.size()), device) == hipSuccess) {
    identity.emplace_back("device", text.data());
  }
  identity.emplace_back("driver", VersionText(version_));
  if (hipDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device) == hipSuccess) {
    identity.emplace_back("pci", text.data());
  }
#if HIP_VERSION >= 60000000
  // The numbers of these attributes differ in older headers.
  const auto attribute = [&](const char* name, hipDeviceAttribute_t which, int divisor) {
    int value = 0;
    if (hipDeviceGetAttribute(&value, which, device) == hipSuccess) {
      identity.emplace_back(name, fmt::format("{}", value / divisor));
    }
  };
  attribute("ecc", hipDeviceAttributeEccEnabled, 1);
  attribute("clock_mhz", hipDeviceAttributeClockRate, 1000);
  attribute("memory_clock_mhz", hipDeviceAttributeMemoryClockRate, 1000);
#endif
}

}  // namespace remaplab::hip_amd

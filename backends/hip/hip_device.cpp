#include "backends/hip/hip_device.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace remaplab::REMAPLAB_HIP_PLATFORM {
namespace {

tl::unexpected<Error> Refuse(const std::string& found) {
  return Fail(ErrorCode::kUnsupported, fmt::format("hip: found {}; needed: {}", found, Hip::kNeeded));
}

// Maps two pieces of memory at one address in turn and looks whether each keeps its own bytes. A driver can succeed at
// every call and do nothing (hip-vmm.md 0), so only bytes count. Gives back what it took, whatever happens.
class Probe {
 public:
  explicit Probe(const Hip& hip) : hip_(hip) {}
  ~Probe() {
    if (mapped_) Forget(hip_.hipMemUnmap(at_, size_));
    for (const auto& memory : memory_) {
      if (memory) Forget(hip_.hipMemRelease(*memory));
    }
    if (at_ != nullptr) Forget(hip_.hipMemAddressFree(at_, size_));
    if (stream_) Forget(hip_.hipStreamDestroy(*stream_));
    if (host_ != nullptr) Forget(hip_.hipHostFree(host_));
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Why the device cannot be used; nothing when it can.
  std::optional<std::string> Run() {
    constexpr std::array<uint64_t, 2> kValues = {0x0123456789abcdef, 0xfedcba9876543210};
    void* host = nullptr;
    hipStream_t stream{};
    if (!Ok(hip_.hipHostMalloc(&host, sizeof(uint64_t), hipHostMallocDefault), "hipHostMalloc")) return why_;
    host_ = static_cast<uint64_t*>(host);
    if (host_ == nullptr) return "hipHostMalloc gave no memory";
    if (!Ok(hip_.hipStreamCreateWithFlags(&stream, Hip::kStreamFlags), "hipStreamCreateWithFlags")) return why_;
    stream_ = stream;
    if (!Ok(hip_.Granularity(&size_, 0, false), "hipMemGetAllocationGranularity")) return why_;
    if (size_ == 0) return "hipMemGetAllocationGranularity says 0";
    if (!Ok(hip_.hipMemAddressReserve(&at_, size_, 0, nullptr, 0), "hipMemAddressReserve")) return why_;
    if (at_ == nullptr) return "hipMemAddressReserve succeeded and gave no address";
    for (size_t i = 0; i < memory_.size(); ++i) {
      hipMemGenericAllocationHandle_t handle{};
      if (!Ok(hip_.CreateMemory(&handle, size_, 0), "hipMemCreate")) return why_;
      memory_[i] = handle;
      if (!MapIn(handle) || !Transfer(kValues[i], true) || !Unmap()) return why_;
    }
    for (size_t i = 0; i < memory_.size(); ++i) {
      if (!MapIn(*memory_[i]) || !Transfer(kValues[i], false) || !Unmap()) return why_;
    }
    return std::nullopt;
  }

 private:
  bool Ok(hipError_t error, std::string_view call) {
    if (error == hipSuccess) return true;
    why_ = fmt::format("{} says {} ({})", call, hip_.hipGetErrorName(error), static_cast<int>(error));
    return false;
  }
  bool MapIn(hipMemGenericAllocationHandle_t handle) {
    if (!Ok(hip_.hipMemMap(at_, size_, 0, handle, 0), "hipMemMap")) return false;
    mapped_ = true;
    return Ok(hip_.GiveAccess(at_, size_, 0), "hipMemSetAccess");
  }
  bool Unmap() {
    mapped_ = false;
    return Ok(hip_.hipMemUnmap(at_, size_), "hipMemUnmap");
  }
  // Writes `value` to the mapped address, or reads from there and compares.
  bool Transfer(uint64_t value, bool write) {
    *host_ = write ? value : ~value;
    if (!Ok(write ? hip_.hipMemcpyAsync(at_, host_, sizeof(value), hipMemcpyHostToDevice, *stream_)
                  : hip_.hipMemcpyAsync(host_, at_, sizeof(value), hipMemcpyDeviceToHost, *stream_),
            "hipMemcpyAsync") ||
        !Ok(hip_.hipStreamSynchronize(*stream_), "hipStreamSynchronize")) {
      return false;
    }
    if (*host_ == value) return true;
    why_ = fmt::format("a mapped address reads {:#x} where {:#x} was written", *host_, value);
    return false;
  }

  const Hip& hip_;
  std::string why_;
  void* at_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
  uint64_t* host_ = nullptr;
  std::optional<hipStream_t> stream_;
  std::array<std::optional<hipMemGenericAllocationHandle_t>, 2> memory_;
};

}  // namespace

Result<Hip> OpenDevice(const std::string& library, uint32_t devices) {
  REMAPLAB_ASSIGN(Hip hip, Hip::Load(library));
  int count = 0;
  if (hip.hipGetDeviceCount(&count) != hipSuccess || count <= 0) {
    return Refuse(fmt::format("{} and no device", hip.found()));
  }
  if (static_cast<uint32_t>(count) < devices) {
    return Fail(ErrorCode::kUnsupported, fmt::format("hip: found {} device{} by {}; needed: {} (--devices)", count,
                                                     count == 1 ? "" : "s", hip.found(), devices));
  }
  if (const hipError_t error = hip.hipSetDevice(0); error != hipSuccess) {
    return Refuse(fmt::format("{} and a device that does not start: hipSetDevice says {} ({})", hip.found(),
                              hip.hipGetErrorName(error), static_cast<int>(error)));
  }
  if (const std::optional<std::string> why = Probe(hip).Run()) {
    return Refuse(fmt::format("{} and a device that fails the map-write-read probe: {}", hip.found(), *why));
  }
  return hip;
}

Status Checked(const Hip& hip, hipError_t error, std::string_view call, Address at, uint64_t size,
               std::string_view api) {
  if (error == hipSuccess) [[likely]] {
    return {};
  }
  return Fail(error == hipErrorOutOfMemory ? ErrorCode::kOutOfMemory : ErrorCode::kDriver,
              fmt::format("{}({:#x}, {}): {} says {} ({})", call, at, size, api, hip.hipGetErrorName(error),
                          static_cast<int>(error)));
}

}  // namespace remaplab::REMAPLAB_HIP_PLATFORM

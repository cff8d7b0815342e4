#include "backends/null/null_backend.h"

#include <limits>

namespace remaplab {
namespace {

class NullBackend final : public Backend {
 public:
  explicit NullBackend(const BackendOptions& options) {
    info_.name = "null";
    info_.description = "accepts everything, costs nothing: the floor of the harness";
    capabilities_.minimum_granularity = 1;
    capabilities_.recommended_granularity = options.granularity != 0 ? options.granularity : uint64_t{2} << 20;
    capabilities_.max_devices = std::numeric_limits<uint32_t>::max();
    capabilities_.simulated_time = true;
  }

  const BackendInfo& info() const override { return info_; }
  const Capabilities& capabilities() const override { return capabilities_; }
  Outstanding outstanding() const override { return {}; }
  int64_t now() const override { return 0; }

  Result<Address> Reserve(uint64_t size, uint64_t alignment) override { return NextAddress(size, alignment); }
  Status AddressFree(Address, uint64_t) override { return {}; }
  Result<Memory> Create(uint64_t size, int, int32_t, uint64_t) override {
    return Memory{.handle = ++last_handle_, .address = NextAddress(size, 0), .size = size};
  }
  Status Release(const Memory&) override { return {}; }
  Status Map(Address, uint64_t, Handle) override { return {}; }
  Status Unmap(Address, uint64_t) override { return {}; }
  Status SetAccess(Address, uint64_t, uint32_t) override { return {}; }
  Result<Address> ShadowAlloc(uint64_t size, int, int32_t) override { return NextAddress(size, 0); }
  Status ShadowFree(Address, uint64_t) override { return {}; }
  Status Copy(Address, Address, uint64_t) override { return {}; }
  Result<EventId> CreateEvent() override { return ++last_event_; }
  Status DestroyEvent(EventId) override { return {}; }
  Status Record(EventId) override { return {}; }
  Status Wait(EventId) override { return {}; }
  Result<CommandBufferId> Capture(std::span<const BakedSlot>, uint32_t) override { return ++last_command_buffer_; }
  Status Update(CommandBufferId, std::span<const BakedSlot>, uint32_t) override { return {}; }
  Status DestroyCommandBuffer(CommandBufferId) override { return {}; }
  Status Launch(const LaunchSpec&) override { return {}; }
  Status BeginStep(uint64_t) override { return {}; }
  Status EndStep(uint64_t step, bool launched) override {
    if (launched) {
      ends_.push_back({step, 0});
    }
    return {};
  }
  Status TakeStepEnds(std::vector<StepEnd>& ends) override {
    ends.insert(ends.end(), ends_.begin(), ends_.end());
    ends_.clear();
    return {};
  }
  Status Synchronize() override { return {}; }
  Status ReadTags(uint32_t, std::vector<LaunchTag>&) override {
    return Fail(ErrorCode::kUnsupported, "null: nothing is ever read, so there are no tags");
  }
  Result<uint64_t> ReadTag(const Memory&) override {
    return Fail(ErrorCode::kUnsupported, "null: nothing is ever read, so there are no tags");
  }

 private:
  // Distinct addresses, because strategies compare them.
  Address NextAddress(uint64_t size, uint64_t alignment) {
    const Address address = RoundUp(next_address_, std::max<uint64_t>(alignment, 256));
    next_address_ = address + size;
    return address;
  }

  BackendInfo info_;
  Capabilities capabilities_;
  Address next_address_ = Address{1} << 32;
  Handle last_handle_ = 0;
  EventId last_event_ = 0;
  CommandBufferId last_command_buffer_ = 0;
  std::vector<StepEnd> ends_;
};

}  // namespace

Result<std::unique_ptr<Backend>> MakeNullBackend(const BackendOptions& options) {
  return std::make_unique<NullBackend>(options);
}

}  // namespace remaplab

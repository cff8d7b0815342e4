#include "backends/host/host_backend.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <thread>
#include <unordered_map>
#include <utility>

#include "backends/host/host_stream.h"
#include "backends/host/physical_memory.h"
#include "backends/real/monotonic_clock.h"
#include "backends/real/tag.h"
#include "backends/real/vmm_ledger.h"

namespace remaplab {
namespace {

constexpr uint64_t kRecommendedGranularity = uint64_t{2} << 20;
constexpr uint32_t kMaxDevices = 16;
constexpr size_t kSampleStride = 16;

void* Pointer(Address at) { return reinterpret_cast<void*>(at); }
Address ToAddress(const void* pointer) { return reinterpret_cast<Address>(pointer); }
uint64_t PageSize() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

tl::unexpected<Error> SystemRefused(std::string_view call, Address at, uint64_t size) {
  if (errno != ENOMEM) return Refused(call, at, size, std::strerror(errno));
  return Refused(call, at, size, "no address space left, or more mappings than vm.max_map_count",
                 ErrorCode::kOutOfMemory);
}

// Takes the access and the memory from a range and keeps the addresses.
bool MapNothing(Address at, uint64_t size) {
  return mmap(Pointer(at), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
         MAP_FAILED;
}

class HostBackend final : public Backend {
 public:
  HostBackend(const BackendOptions& options, PhysicalMemory memory);
  ~HostBackend() override;

  const BackendInfo& info() const override { return info_; }
  const Capabilities& capabilities() const override { return capabilities_; }
  Outstanding outstanding() const override;
  int64_t now() const override { return MonotonicNs(); }

  Result<Address> Reserve(uint64_t size, uint64_t alignment) override;
  Status AddressFree(Address base, uint64_t size) override;
  Result<Memory> Create(uint64_t size, int device, int32_t space, uint64_t tag) override;
  Status Release(const Memory& memory) override;
  Status Map(Address at, uint64_t size, Handle handle) override;
  Status Unmap(Address at, uint64_t size) override;
  Status SetAccess(Address at, uint64_t size, uint32_t device) override;
  Result<Address> ShadowAlloc(uint64_t size, int device, int32_t space) override;
  Status ShadowFree(Address at, uint64_t size) override;
  Status Copy(Address to, Address from, uint64_t size) override;
  Result<EventId> CreateEvent() override;
  Status DestroyEvent(EventId event) override;
  Status Record(EventId event) override;
  Status Wait(EventId event) override;
  Result<CommandBufferId> Capture(std::span<const BakedSlot> slots, uint32_t commands) override;
  Status Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t commands) override;
  Status DestroyCommandBuffer(CommandBufferId command_buffer) override;
  Status Launch(const LaunchSpec& launch) override;
  Status BeginStep(uint64_t step) override;
  Status EndStep(uint64_t step, bool launched) override;
  Status TakeStepEnds(std::vector<StepEnd>& ends) override;
  Status Synchronize() override;
  Status ReadTags(uint32_t back, std::vector<LaunchTag>& tags) override;
  Result<uint64_t> ReadTag(const Memory& memory) override;

 private:
  using Slots = std::vector<BakedSlot>;

  struct Extent {
    uint64_t offset = 0;  // in the memfd
    uint64_t size = 0;
  };
  struct Range {
    Address at = kNullAddress;
    uint64_t size = 0;
    HostStream::Ticket last_use = 0;
  };

  // Where `device` sees the address `at` of a reservation of `reserved` bytes.
  static Address View(Address at, uint64_t reserved, uint32_t device) { return at + reserved * device; }

  Result<Address> MapView(const Extent& extent);
  void FreeExtent(Handle handle);
  // Unmaps a range for good. While the stream may still touch it, the addresses stay taken, so that nobody else's
  // memory is hit.
  Status Discard(std::string_view call, Address at, uint64_t size);
  void BuryDiscarded();
  HostLaunch& NextLaunch();
  Status StreamFault();

  BackendInfo info_;
  Capabilities capabilities_;
  Touch touch_;
  uint32_t run_ahead_;
  int64_t host_step_ns_;
  uint32_t devices_;
  PhysicalMemory memory_;
  VmmLedger ledger_;
  std::unordered_map<Handle, Extent> extents_;
  std::deque<Range> discarded_;
  std::unordered_map<EventId, HostStream::Ticket> events_;  // the end of the work before the last Record
  EventId next_event_ = 1;
  std::unordered_map<CommandBufferId, std::shared_ptr<Slots>> command_buffers_;
  CommandBufferId next_command_buffer_ = 1;
  std::vector<HostLaunch> launches_;  // a ring
  std::vector<HostStream::Ticket> launch_tickets_;
  uint64_t launch_count_ = 0;
  std::deque<std::pair<uint64_t, HostStream::Ticket>> step_ends_;  // steps that may not have ended yet
  HostStream stream_;                                              // last: its thread uses nothing above but launches_
};

HostBackend::HostBackend(const BackendOptions& options, PhysicalMemory memory)
    : touch_(options.touch),
      run_ahead_(options.run_ahead),
      host_step_ns_(options.host_step_ns),
      devices_(options.devices),
      memory_(std::move(memory)),
      ledger_(PageSize(), options.devices) {
  capabilities_.minimum_granularity = PageSize();
  capabilities_.recommended_granularity = options.granularity != 0 ? options.granularity : kRecommendedGranularity;
  capabilities_.max_devices = kMaxDevices;
  launches_.resize(std::max<size_t>(8, size_t{run_ahead_} + 2));
  launch_tickets_.resize(launches_.size());
  capabilities_.readback_depth = touch_ == Touch::kNone ? 0 : static_cast<uint32_t>(launches_.size());
  utsname system{};
  uname(&system);
  info_ = {.name = "host",
           .description = "this machine's memory: memfd, mmap, mprotect; a thread as the device",
           .driver_profile = "linux",
           .cost_profile = {},
           .cost_quality = {},
           .identity = {{"device", "host memory"},
                        {"driver", fmt::format("{} {}", system.sysname, system.release)},
                        {"machine", system.machine},
                        {"processors", fmt::format("{}", std::thread::hardware_concurrency())}}};
}

HostBackend::~HostBackend() {
  // What is left may be in use by the stream, which must not hit addresses that are someone else's by then.
  stream_.Drain();
  BuryDiscarded();
  for (const auto& [base, size] : ledger_.reservations()) munmap(Pointer(base), size * devices_);
  for (const auto& [at, size] : ledger_.views()) munmap(Pointer(at), size);
  for (const auto& [at, size] : ledger_.shadows()) munmap(Pointer(at), RoundUp(size, PageSize()));
}

Outstanding HostBackend::outstanding() const {
  Outstanding result = ledger_.outstanding();
  result.events = events_.size();
  result.command_buffers = command_buffers_.size();
  return result;
}

Result<Address> HostBackend::Reserve(uint64_t size, uint64_t alignment) {
  REMAPLAB_TRY(ledger_.CheckReserve(size, alignment));
  BuryDiscarded();
  const uint64_t all_views = size * devices_;
  const uint64_t slack = alignment > PageSize() ? alignment : 0;
  if (all_views / devices_ != size || all_views + slack < all_views) {
    return Refused("reserve", 0, size, "no address space left", ErrorCode::kOutOfMemory);
  }
  void* mapped = mmap(nullptr, all_views + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return SystemRefused("reserve", 0, size);
  const Address start = ToAddress(mapped);
  const Address base = RoundUp(start, slack);
  if (base > start) munmap(mapped, base - start);
  if (slack > base - start) munmap(Pointer(base + all_views), slack - (base - start));
  ledger_.Reserved(base, size);
  return base;
}

Status HostBackend::AddressFree(Address base, uint64_t size) {
  REMAPLAB_TRY(ledger_.CheckAddressFree(base, size));
  REMAPLAB_TRY(Discard("address_free", base, size * devices_));
  ledger_.AddressFreed(base);
  return {};
}

Result<Address> HostBackend::MapView(const Extent& extent) {
  void* mapped =
      mmap(nullptr, extent.size, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.file(), static_cast<off_t>(extent.offset));
  if (mapped == MAP_FAILED) return SystemRefused("create", 0, extent.size);
  return ToAddress(mapped);
}

Result<Memory> HostBackend::Create(uint64_t size, int device, int32_t, uint64_t tag) {
  REMAPLAB_TRY(ledger_.CheckCreate(size, device));
  BuryDiscarded();
  REMAPLAB_ASSIGN(const uint64_t offset, memory_.Allocate(size));
  const Extent extent{offset, size};
  auto address = MapView(extent);
  if (!address) {
    memory_.Free(offset, size);
    return Fail(std::move(address).error());
  }
  std::memcpy(Pointer(*address), &tag, sizeof(tag));
  const Handle handle = ledger_.Created(size, *address);
  extents_.emplace(handle, extent);
  return Memory{handle, *address, size};
}

void HostBackend::FreeExtent(Handle handle) {
  const auto it = extents_.find(handle);
  memory_.Free(it->second.offset, it->second.size);
  extents_.erase(it);
}

Status HostBackend::Release(const Memory& memory) {
  REMAPLAB_TRY(ledger_.CheckRelease(memory));
  REMAPLAB_TRY(Discard("release", memory.address, memory.size));
  if (ledger_.Released(memory.handle)) FreeExtent(memory.handle);
  return {};
}

Status HostBackend::Map(Address at, uint64_t size, Handle handle) {
  REMAPLAB_TRY(ledger_.CheckMap(at, size, handle));
  const Extent& extent = extents_.find(handle)->second;
  if (mmap(Pointer(at), size, PROT_NONE, MAP_SHARED | MAP_FIXED, memory_.file(), static_cast<off_t>(extent.offset)) ==
      MAP_FAILED) {
    return SystemRefused("map", at, size);
  }
  ledger_.Mapped(at, size, handle);
  return {};
}

Status HostBackend::Unmap(Address at, uint64_t size) {
  REMAPLAB_TRY(ledger_.CheckUnmap(at, size));
  const uint64_t reserved = ledger_.ReservationOf(at, size).second;
  uint64_t access = 1;  // the first view is mapped also without access
  for (auto it = ledger_.mappings().find(at); it != ledger_.mappings().end() && it->first - at < size; ++it) {
    access |= it->second.access;
  }
  for (uint32_t device = 0; device < devices_; ++device) {
    if ((access >> device & 1) == 0) continue;
    if (!MapNothing(View(at, reserved, device), size)) return SystemRefused("unmap", at, size);
  }
  std::vector<Handle> dead;
  ledger_.Unmapped(at, size, dead);
  for (const Handle handle : dead) FreeExtent(handle);
  return {};
}

Status HostBackend::SetAccess(Address at, uint64_t size, uint32_t device) {
  REMAPLAB_TRY(ledger_.CheckAccess(at, size, device));
  if (device == 0) {
    if (mprotect(Pointer(at), size, PROT_READ | PROT_WRITE) != 0) return SystemRefused("set_access", at, size);
  } else {
    const uint64_t reserved = ledger_.ReservationOf(at, size).second;
    for (auto it = ledger_.mappings().find(at); it != ledger_.mappings().end() && it->first - at < size; ++it) {
      const VmmLedger::Mapping& mapping = it->second;
      if ((mapping.access >> device & 1) != 0) continue;
      if (mmap(Pointer(View(mapping.at, reserved, device)), mapping.size, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_FIXED, memory_.file(),
               static_cast<off_t>(extents_.find(mapping.handle)->second.offset)) == MAP_FAILED) {
        return SystemRefused("set_access", at, size);
      }
    }
  }
  ledger_.AccessGiven(at, size, device);
  return {};
}

Result<Address> HostBackend::ShadowAlloc(uint64_t size, int device, int32_t) {
  REMAPLAB_TRY(ledger_.CheckShadowAlloc(size, device));
  BuryDiscarded();
  void* mapped = mmap(nullptr, RoundUp(size, PageSize()), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return SystemRefused("shadow_alloc", 0, size);
  ledger_.ShadowAllocated(ToAddress(mapped), size);
  return ToAddress(mapped);
}

Status HostBackend::ShadowFree(Address at, uint64_t size) {
  REMAPLAB_TRY(ledger_.CheckShadowFree(at, size));
  REMAPLAB_TRY(Discard("shadow_free", at, RoundUp(size, PageSize())));
  ledger_.ShadowFreed(at);
  return {};
}

Status HostBackend::Discard(std::string_view call, Address at, uint64_t size) {
  BuryDiscarded();
  if (stream_.IsDone(stream_.last())) {
    if (munmap(Pointer(at), size) != 0) return SystemRefused(call, at, size);
    return {};
  }
  if (!MapNothing(at, size)) return SystemRefused(call, at, size);
  discarded_.push_back({at, size, stream_.last()});
  return {};
}

void HostBackend::BuryDiscarded() {
  while (!discarded_.empty() && stream_.IsDone(discarded_.front().last_use)) {
    munmap(Pointer(discarded_.front().at), discarded_.front().size);
    discarded_.pop_front();
  }
}

Status HostBackend::Copy(Address to, Address from, uint64_t size) {
  const uint64_t moved = std::max(size, kTagBytes);
  REMAPLAB_TRY(ledger_.CheckReachable("copy", to, size));
  REMAPLAB_TRY(ledger_.CheckReachable("copy", from, size));
  stream_.Copy(to, from, moved);
  return {};
}

Result<EventId> HostBackend::CreateEvent() {
  events_.emplace(next_event_, 0);
  return next_event_++;
}

Status HostBackend::DestroyEvent(EventId event) {
  if (events_.erase(event) == 0) return Fail(ErrorCode::kDriver, fmt::format("no event {} to destroy", event));
  return {};
}

Status HostBackend::Record(EventId event) {
  auto it = events_.find(event);
  if (it == events_.end()) return Fail(ErrorCode::kDriver, fmt::format("record: no event {}", event));
  it->second = stream_.last();
  return {};
}

Status HostBackend::Wait(EventId event) {
  auto it = events_.find(event);
  if (it == events_.end()) return Fail(ErrorCode::kDriver, fmt::format("wait: no event {}", event));
  stream_.WaitFor(it->second);
  return StreamFault();
}

Result<CommandBufferId> HostBackend::Capture(std::span<const BakedSlot> slots, uint32_t) {
  for (const BakedSlot& slot : slots) REMAPLAB_TRY(ledger_.CheckReachable("capture", slot.address, slot.size));
  command_buffers_.emplace(next_command_buffer_, std::make_shared<Slots>(slots.begin(), slots.end()));
  return next_command_buffer_++;
}

Status HostBackend::Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t) {
  auto it = command_buffers_.find(command_buffer);
  if (it == command_buffers_.end()) {
    return Fail(ErrorCode::kDriver, fmt::format("update: no command buffer {}", command_buffer));
  }
  // Launches that are still in the stream keep the old addresses.
  auto updated = std::make_shared<Slots>(*it->second);
  for (const BakedSlot& slot : changed) {
    REMAPLAB_TRY(ledger_.CheckReachable("update", slot.address, slot.size));
    auto baked = std::find_if(updated->begin(), updated->end(),
                              [&](const BakedSlot& candidate) { return candidate.slot == slot.slot; });
    if (baked == updated->end()) {
      return Fail(ErrorCode::kDriver,
                  fmt::format("update: command buffer {} has no slot {}", command_buffer, slot.slot));
    }
    *baked = slot;
  }
  it->second = std::move(updated);
  return {};
}

Status HostBackend::DestroyCommandBuffer(CommandBufferId command_buffer) {
  if (command_buffers_.erase(command_buffer) == 0) {
    return Fail(ErrorCode::kDriver, fmt::format("no command buffer {} to destroy", command_buffer));
  }
  return {};
}

HostLaunch& HostBackend::NextLaunch() {
  const size_t place = launch_count_ % launches_.size();
  stream_.WaitFor(launch_tickets_[place]);
  return launches_[place];
}

Status HostBackend::Launch(const LaunchSpec& launch) {
  std::shared_ptr<const Slots> slots;
  if (launch.command_buffer != kNoCommandBuffer) {
    auto it = command_buffers_.find(launch.command_buffer);
    if (it == command_buffers_.end()) {
      return Fail(ErrorCode::kDriver, fmt::format("launch: no command buffer {}", launch.command_buffer));
    }
    slots = it->second;
  } else {
    auto own = std::make_shared<Slots>();
    for (uint32_t slot = 0; slot < launch.bindings.size(); ++slot) {
      const Binding& binding = launch.bindings[slot];
      if (!binding.empty()) own->push_back({slot, binding.memory.address, binding.memory.size, Access::kUnknown});
    }
    slots = std::move(own);
  }
  HostLaunch& next = NextLaunch();
  const size_t sample = std::clamp<size_t>(slots->size(), 1, kSampleStride);
  next.slots = std::move(slots);
  next.gpu_ns = launch.gpu_ns;
  next.stride = touch_ == Touch::kNone ? 0 : touch_ == Touch::kFull ? 1 : sample;
  next.first = touch_ == Touch::kSample ? launch_count_ % sample : 0;
  launch_tickets_[launch_count_ % launches_.size()] = stream_.Launch(next);
  ++launch_count_;
  return {};
}

Status HostBackend::BeginStep(uint64_t step) {
  while (!step_ends_.empty() && step_ends_.front().first + run_ahead_ + 1 <= step) {
    stream_.WaitFor(step_ends_.front().second);
    step_ends_.pop_front();
  }
  if (host_step_ns_ > 0) SleepUntilNs(MonotonicNs() + host_step_ns_);
  return {};
}

Status HostBackend::EndStep(uint64_t step, bool launched) {
  step_ends_.emplace_back(step, stream_.EndStep(step, launched));
  return {};
}

Status HostBackend::TakeStepEnds(std::vector<StepEnd>& ends) {
  stream_.TakeStepEnds(ends);
  return {};
}

Status HostBackend::Synchronize() {
  stream_.WaitFor(stream_.last());
  BuryDiscarded();
  return StreamFault();
}

Status HostBackend::StreamFault() {
  const std::string fault = stream_.TakeFault();
  if (fault.empty()) return {};
  return Fail(ErrorCode::kDriver, "host: " + fault);
}

Status HostBackend::ReadTags(uint32_t back, std::vector<LaunchTag>& tags) {
  if (back >= capabilities_.readback_depth || back >= launch_count_) {
    return Fail(ErrorCode::kUnsupported, fmt::format("no tags of {} launches ago", back));
  }
  const size_t place = (launch_count_ - 1 - back) % launches_.size();
  stream_.WaitFor(launch_tickets_[place]);
  tags = launches_[place].tags;
  return {};
}

Result<uint64_t> HostBackend::ReadTag(const Memory& memory) {
  REMAPLAB_TRY(ledger_.CheckReachable("read_tag", memory.address, kTagBytes));
  REMAPLAB_TRY(Synchronize());
  uint64_t tag = 0;
  std::memcpy(&tag, Pointer(memory.address), sizeof(tag));
  return tag;
}

}  // namespace

std::optional<std::string> HostUnavailable() {
  if (Status access = CheckSelfAccess(); !access) return access.error().message();
  if (auto memory = PhysicalMemory::Open(0); !memory) return memory.error().message();
  return std::nullopt;
}

Result<std::unique_ptr<Backend>> MakeHostBackend(const BackendOptions& options) {
  if (options.devices == 0 || options.devices > kMaxDevices) {
    return Fail(ErrorCode::kUsage, fmt::format("host: {} devices; it can have 1 to {}", options.devices, kMaxDevices));
  }
  if (options.granularity != 0 &&
      (options.granularity % PageSize() != 0 || !std::has_single_bit(options.granularity))) {
    return Fail(ErrorCode::kUsage, fmt::format("host: granularity {} is no power of two of at least {} bytes",
                                               options.granularity, PageSize()));
  }
  REMAPLAB_TRY(CheckSelfAccess());
  REMAPLAB_ASSIGN(PhysicalMemory memory, PhysicalMemory::Open(AvailableMemory()));
  return std::make_unique<HostBackend>(options, std::move(memory));
}

}  // namespace remaplab

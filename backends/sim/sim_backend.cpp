#include "backends/sim/sim_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/profiles/cost_profile.h"
#include "backends/sim/address_space.h"
#include "backends/sim/driver_profile.h"
#include "backends/sim/sim_process.h"
#include "backends/sim/timeline.h"
#include "base/random.h"

namespace remaplab {
namespace {

constexpr uint32_t kSampleStride = 16;
constexpr uint32_t kLeastReadback = 8;
constexpr uint32_t kMostDevices = 64;
constexpr int64_t kMillion = 1'000'000;

bool ActsOnDriver(CallKind kind) {
  switch (kind) {
    case CallKind::kReserve:
    case CallKind::kAddressFree:
    case CallKind::kMap:
    case CallKind::kUnmap:
    case CallKind::kSetAccess:
    case CallKind::kShadowAlloc:
    case CallKind::kShadowFree:
      return true;
    default:
      return false;
  }
}

class SimBackend final : public Backend {
 public:
  SimBackend(const BackendOptions& options, const DriverProfile& driver, const CostProfile& costs)
      : driver_(driver),
        costs_(costs),
        devices_(options.devices),
        device_(options.device),
        touch_(options.touch),
        run_ahead_(options.run_ahead),
        host_step_ns_(options.host_step_ns),
        jitter_ppm_(std::llround(options.jitter * kMillion)),
        random_(options.seed),
        timeline_(options.timeline),
        space_(driver, options.devices),
        process_(options.sim_process ? options.sim_process : std::make_shared<SimProcess>()),
        clocks_(process_->Device(options.device)) {
    process_->Join(line_);
    capabilities_.minimum_granularity = driver.minimum_granularity;
    capabilities_.recommended_granularity =
        options.granularity != 0 ? options.granularity : driver.recommended_granularity;
    capabilities_.multi_mapping_unmap = driver.multi_mapping_unmap;
    capabilities_.partial_access = driver.partial_access;
    capabilities_.sub_range_mapping = driver.sub_range_mapping;
    capabilities_.max_devices = options.devices;
    capabilities_.readback_depth = touch_ == Touch::kNone ? 0 : std::max(kLeastReadback, run_ahead_ + 2);
    capabilities_.simulated_time = true;
    launches_.resize(capabilities_.readback_depth);

    info_.name = "sim";
    info_.description = "a simulated driver on two simulated clocks";
    info_.driver_profile = driver.name;
    info_.cost_profile = costs.name;
    info_.cost_quality = costs.quality;
    info_.identity = {{"device", costs.device}, {"cost_origin", costs.origin}};
    if (!costs.what_if.empty()) {
      info_.identity.emplace_back("what_if", fmt::format("{}", fmt::join(costs.what_if, ",")));
    }
    if (jitter_ppm_ != 0) {
      info_.identity.emplace_back("jitter", fmt::format("{} ppm, seed {}", jitter_ppm_, options.seed));
    }
  }
  ~SimBackend() override { process_->Leave(line_); }

  const BackendInfo& info() const override { return info_; }
  const Capabilities& capabilities() const override { return capabilities_; }
  Outstanding outstanding() const override;
  int64_t now() const override { return clocks_.cpu + allocator_ns_; }

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
  struct Event {
    bool alive = false;
    int64_t done = 0;
  };
  struct CommandBuffer {
    bool alive = false;
    std::vector<BakedSlot> slots;  // ascending by slot
  };
  struct LaunchRecord {
    int64_t end = 0;
    std::vector<LaunchTag> tags;
    std::vector<Address> addresses;  // of each tag
  };

  bool Busy() const { return devices_ > 1 ? process_->AnyBusy(clocks_.cpu) : clocks_.gpu > clocks_.cpu; }
  int64_t Jittered(int64_t ns);
  void WaitAsDriver(SyncModel model);
  void Charge(CallKind kind, CallQuantities quantities, Address at = kNullAddress, uint64_t size = 0);
  void ChargeGpu(std::string_view name, int64_t ns, Address at = kNullAddress, uint64_t size = 0);
  void Tell(TimelineTrack track, std::string_view name, int64_t start, int64_t end, Address at = kNullAddress,
            uint64_t size = 0, int64_t waited_ns = 0);
  // A range goes away while launches that use it may be running.
  void PullAway(Address at, uint64_t size);
  Status CheckBaked(CallKind kind, std::span<const BakedSlot> slots) const;
  CommandBuffer* FindCommandBuffer(CommandBufferId id);
  Result<Event*> FindEvent(CallKind kind, EventId id);
  void TouchSlot(LaunchRecord& record, uint32_t slot, Address at);
  void TouchSlots(const LaunchSpec& launch, const CommandBuffer* command_buffer);

  BackendInfo info_;
  Capabilities capabilities_;
  const DriverProfile& driver_;
  CostTable costs_;
  uint32_t devices_;
  int device_;
  Touch touch_;
  uint32_t run_ahead_;
  int64_t host_step_ns_;
  int64_t jitter_ppm_;
  Random random_;
  TimelineListener* timeline_;

  AddressSpace space_;
  std::shared_ptr<SimProcess> process_;
  SimProcess::DeviceClocks& clocks_;
  SimProcess::StepLine line_;
  int64_t allocator_ns_ = 0;
  uint64_t step_ = 0;

  std::vector<Event> events_;                   // by id - 1
  std::vector<CommandBuffer> command_buffers_;  // by id - 1
  std::vector<LaunchRecord> launches_;          // a ring of readback_depth
  uint64_t launch_count_ = 0;
};

int64_t SimBackend::Jittered(int64_t ns) {
  if (jitter_ppm_ == 0 || ns == 0) {
    return ns;
  }
  constexpr int kBits = 20;
  const int64_t uniform = static_cast<int64_t>(random_.Next() >> (64 - kBits)) - (int64_t{1} << (kBits - 1));
  const int64_t spread = ns / kMillion * jitter_ppm_ + ns % kMillion * jitter_ppm_ / kMillion;
  return std::max<int64_t>(0, ns + spread / (int64_t{1} << (kBits - 1)) * uniform +
                                  spread % (int64_t{1} << (kBits - 1)) * uniform / (int64_t{1} << (kBits - 1)));
}

void SimBackend::Tell(TimelineTrack track, std::string_view name, int64_t start, int64_t end, Address at, uint64_t size,
                      int64_t waited_ns) {
  if (timeline_ != nullptr) [[unlikely]] {
    timeline_->OnSpan({.track = track,
                       .name = name,
                       .device = device_,
                       .step = step_,
                       .start = start,
                       .end = end,
                       .waited_ns = waited_ns,
                       .address = at,
                       .size = size});
  }
}

void SimBackend::WaitAsDriver(SyncModel model) {
  if (model == SyncModel::kNone) {
    return;
  }
  const int64_t ready = model == SyncModel::kAllStreams && devices_ > 1 ? process_->AllIdleAt() : clocks_.gpu;
  if (ready > clocks_.cpu) {
    Tell(TimelineTrack::kCpu, "driver_sync", clocks_.cpu, ready);
    clocks_.cpu = ready;
  }
}

void SimBackend::Charge(CallKind kind, CallQuantities quantities, Address at, uint64_t size) {
  quantities.contended = Busy();
  const int64_t ns = Jittered(costs_.CallNs(kind, quantities));
  if (ActsOnDriver(kind)) {
    const int64_t start = process_->TakeLock(clocks_.cpu, ns);
    if (start > clocks_.cpu) {
      Tell(TimelineTrack::kCpu, "driver_lock", clocks_.cpu, start);
      clocks_.cpu = start;
    }
  }
  Tell(TimelineTrack::kCpu, Name(kind), clocks_.cpu, clocks_.cpu + ns, at, size);
  clocks_.cpu += ns;
}

void SimBackend::ChargeGpu(std::string_view name, int64_t ns, Address at, uint64_t size) {
  const int64_t start = std::max(clocks_.gpu, clocks_.cpu);
  clocks_.gpu = start + ns;
  Tell(TimelineTrack::kGpu, name, start, clocks_.gpu, at, size);
}

CallQuantities QuantitiesOf(const WorkDone& work) {
  return {.bytes = work.bytes,
          .chunks = work.chunks,
          .unchanged_chunks = work.unchanged_chunks,
          .chunk_devices = work.chunk_devices,
          .devices = work.devices};
}

Outstanding SimBackend::outstanding() const {
  Outstanding outstanding;
  space_.Count(outstanding);
  const auto alive = [](const auto& object) { return object.alive; };
  outstanding.events = static_cast<uint64_t>(std::count_if(events_.begin(), events_.end(), alive));
  outstanding.command_buffers =
      static_cast<uint64_t>(std::count_if(command_buffers_.begin(), command_buffers_.end(), alive));
  return outstanding;
}

Result<Address> SimBackend::Reserve(uint64_t size, uint64_t alignment) {
  REMAPLAB_ASSIGN(const Address base, space_.Reserve(size, alignment));
  Charge(CallKind::kReserve, {.bytes = size, .devices = devices_}, base, size);
  return base;
}

Status SimBackend::AddressFree(Address base, uint64_t size) {
  REMAPLAB_TRY(space_.AddressFree(base, size));
  Charge(CallKind::kAddressFree, {.bytes = size, .devices = devices_}, base, size);
  return {};
}

Result<Memory> SimBackend::Create(uint64_t size, int device, int32_t, uint64_t tag) {
  REMAPLAB_ASSIGN(const Memory memory, space_.Create(size, device, tag));
  allocator_ns_ += Jittered(costs_.CallNs(CallKind::kCreate, {.bytes = size, .chunks = 1, .devices = devices_}));
  return memory;
}

Status SimBackend::Release(const Memory& memory) {
  REMAPLAB_TRY(space_.Release(memory));
  allocator_ns_ +=
      Jittered(costs_.CallNs(CallKind::kRelease, {.bytes = memory.size, .chunks = 1, .devices = devices_}));
  return {};
}

Status SimBackend::Map(Address at, uint64_t size, Handle handle) {
  REMAPLAB_ASSIGN(const WorkDone work, space_.Map(at, size, handle));
  WaitAsDriver(driver_.map_sync);
  Charge(CallKind::kMap, QuantitiesOf(work), at, size);
  return {};
}

Status SimBackend::Unmap(Address at, uint64_t size) {
  REMAPLAB_ASSIGN(const WorkDone work, space_.Unmap(at, size));
  WaitAsDriver(driver_.unmap_sync);
  PullAway(at, work.bytes);
  Charge(CallKind::kUnmap, QuantitiesOf(work), at, size);
  return {};
}

Status SimBackend::SetAccess(Address at, uint64_t size, uint32_t device) {
  REMAPLAB_ASSIGN(const WorkDone work, space_.SetAccess(at, size, device));
  Charge(CallKind::kSetAccess, QuantitiesOf(work), at, size);
  return {};
}

Result<Address> SimBackend::ShadowAlloc(uint64_t size, int device, int32_t) {
  REMAPLAB_ASSIGN(const Address at, space_.ShadowAlloc(size, device));
  Charge(CallKind::kShadowAlloc, {.bytes = size, .chunks = 1, .devices = devices_}, at, size);
  return at;
}

Status SimBackend::ShadowFree(Address at, uint64_t size) {
  REMAPLAB_TRY(space_.ShadowFree(at, size));
  PullAway(at, size);
  Charge(CallKind::kShadowFree, {.bytes = size, .chunks = 1, .devices = devices_}, at, size);
  return {};
}

Status SimBackend::Copy(Address to, Address from, uint64_t size) {
  const bool readable = space_.Reachable(from, size);
  if (!readable || !space_.Reachable(to, size)) {
    return Fail(ErrorCode::kDriver, fmt::format("copy of {} bytes from {:#x} to {:#x}: the {} is not reachable", size,
                                                from, to, readable ? "destination" : "source"));
  }
  Charge(CallKind::kCopy, {.bytes = size, .chunks = 1, .devices = devices_}, to, size);
  ChargeGpu(Name(CallKind::kCopy), Jittered(costs_.CopyGpuNs(size)), to, size);
  // A tag lies at the start of its memory: a copy that begins elsewhere carries none.
  if (uint64_t* target = space_.TagAt(to); target != nullptr && size != 0) {
    const uint64_t* source = space_.TagAt(from);
    *target = source == nullptr ? 0 : *source;
  }
  return {};
}

Result<EventId> SimBackend::CreateEvent() {
  const auto free = std::find_if(events_.begin(), events_.end(), [](const Event& event) { return !event.alive; });
  if (free != events_.end()) {
    *free = {.alive = true};
    return static_cast<EventId>(free - events_.begin()) + 1;
  }
  events_.push_back({.alive = true});
  return static_cast<EventId>(events_.size());
}

Result<SimBackend::Event*> SimBackend::FindEvent(CallKind kind, EventId id) {
  if (id == 0 || id > events_.size() || !events_[id - 1].alive) {
    return Fail(ErrorCode::kDriver, fmt::format("{}: there is no event {}", Name(kind), id));
  }
  return &events_[id - 1];
}

Status SimBackend::DestroyEvent(EventId event) {
  REMAPLAB_ASSIGN(Event * found, FindEvent(CallKind::kRecord, event));
  found->alive = false;
  return {};
}

Status SimBackend::Record(EventId event) {
  REMAPLAB_ASSIGN(Event * found, FindEvent(CallKind::kRecord, event));
  found->done = clocks_.gpu;
  Charge(CallKind::kRecord, {});
  return {};
}

Status SimBackend::Wait(EventId event) {
  REMAPLAB_ASSIGN(const Event* found, FindEvent(CallKind::kWait, event));
  const int64_t begin = clocks_.cpu;
  clocks_.cpu = std::max(clocks_.cpu, found->done);
  const int64_t waited = clocks_.cpu - begin;
  clocks_.cpu += Jittered(costs_.CallNs(CallKind::kWait, {.contended = Busy()}));
  Tell(TimelineTrack::kCpu, Name(CallKind::kWait), begin, clocks_.cpu, kNullAddress, 0, waited);
  return {};
}

SimBackend::CommandBuffer* SimBackend::FindCommandBuffer(CommandBufferId id) {
  return id == kNoCommandBuffer || id > command_buffers_.size() || !command_buffers_[id - 1].alive
             ? nullptr
             : &command_buffers_[id - 1];
}

Status SimBackend::CheckBaked(CallKind kind, std::span<const BakedSlot> slots) const {
  for (const BakedSlot& slot : slots) {
    if (!space_.Reachable(slot.address, std::max<uint64_t>(slot.size, 1))) {
      return Fail(ErrorCode::kDriver, fmt::format("{}: slot {} at {:#x}, {} bytes, is not reachable", Name(kind),
                                                  slot.slot, slot.address, slot.size));
    }
  }
  return {};
}

Result<CommandBufferId> SimBackend::Capture(std::span<const BakedSlot> slots, uint32_t commands) {
  REMAPLAB_TRY(CheckBaked(CallKind::kCapture, slots));
  const auto free = std::find_if(command_buffers_.begin(), command_buffers_.end(),
                                 [](const CommandBuffer& command_buffer) { return !command_buffer.alive; });
  const size_t index = static_cast<size_t>(free - command_buffers_.begin());
  if (free == command_buffers_.end()) {
    command_buffers_.emplace_back();
  }
  CommandBuffer& command_buffer = command_buffers_[index];
  command_buffer.alive = true;
  command_buffer.slots.assign(slots.begin(), slots.end());
  std::sort(command_buffer.slots.begin(), command_buffer.slots.end(),
            [](const BakedSlot& a, const BakedSlot& b) { return a.slot < b.slot; });
  Charge(CallKind::kCapture, {.commands = commands, .changed_slots = static_cast<uint32_t>(slots.size())});
  if (timeline_ != nullptr) {
    timeline_->OnBaked(device_, slots);
  }
  return static_cast<CommandBufferId>(index + 1);
}

Status SimBackend::Update(CommandBufferId id, std::span<const BakedSlot> changed, uint32_t commands) {
  CommandBuffer* command_buffer = FindCommandBuffer(id);
  if (command_buffer == nullptr) {
    return Fail(ErrorCode::kDriver, fmt::format("update: there is no command buffer {}", id));
  }
  REMAPLAB_TRY(CheckBaked(CallKind::kUpdate, changed));
  std::vector<BakedSlot>& slots = command_buffer->slots;
  const auto find = [&](uint32_t slot) {
    const auto found =
        std::lower_bound(slots.begin(), slots.end(), slot, [](const BakedSlot& a, uint32_t b) { return a.slot < b; });
    return found != slots.end() && found->slot == slot ? found : slots.end();
  };
  for (const BakedSlot& slot : changed) {
    if (find(slot.slot) == slots.end()) {
      return Fail(ErrorCode::kDriver, fmt::format("update: command buffer {} does not use slot {}", id, slot.slot));
    }
  }
  for (const BakedSlot& slot : changed) {
    *find(slot.slot) = slot;
  }
  Charge(CallKind::kUpdate, {.commands = commands, .changed_slots = static_cast<uint32_t>(changed.size())});
  if (timeline_ != nullptr) {
    timeline_->OnBaked(device_, changed);
  }
  return {};
}

Status SimBackend::DestroyCommandBuffer(CommandBufferId id) {
  CommandBuffer* command_buffer = FindCommandBuffer(id);
  if (command_buffer == nullptr) {
    return Fail(ErrorCode::kDriver, fmt::format("there is no command buffer {}", id));
  }
  command_buffer->alive = false;
  return {};
}

void SimBackend::TouchSlot(LaunchRecord& record, uint32_t slot, Address at) {
  if (touch_ == Touch::kSample && (slot + launch_count_) % kSampleStride != 0) {
    return;
  }
  const uint64_t* tag = space_.TagAt(at);
  record.tags.push_back({.slot = slot, .value = tag == nullptr ? 0 : *tag, .reachable = tag != nullptr});
  record.addresses.push_back(at);
}

void SimBackend::TouchSlots(const LaunchSpec& launch, const CommandBuffer* command_buffer) {
  LaunchRecord& record = launches_[launch_count_ % launches_.size()];
  record.tags.clear();
  record.addresses.clear();
  record.end = clocks_.gpu;
  if (command_buffer != nullptr) {
    for (const BakedSlot& slot : command_buffer->slots) {
      TouchSlot(record, slot.slot, slot.address);
    }
  } else {
    for (size_t i = 0; i < launch.bindings.size(); ++i) {
      if (!launch.bindings[i].empty()) {
        TouchSlot(record, static_cast<uint32_t>(i), launch.bindings[i].memory.address);
      }
    }
  }
  // All reads come before the first write.
  size_t next = 0;
  for (size_t i = 0; i < record.tags.size(); ++i) {
    const LaunchTag& tag = record.tags[i];
    Access access = Access::kBoth;
    if (command_buffer != nullptr) {
      while (command_buffer->slots[next].slot != tag.slot) {
        ++next;
      }
      access = command_buffer->slots[next].access;
    }
    if (tag.reachable && access != Access::kRead) {
      *space_.TagAt(record.addresses[i]) = NextTag(tag.value);
    }
  }
}

Status SimBackend::Launch(const LaunchSpec& launch) {
  const CommandBuffer* command_buffer = nullptr;
  if (launch.command_buffer != kNoCommandBuffer) {
    command_buffer = FindCommandBuffer(launch.command_buffer);
    if (command_buffer == nullptr) {
      return Fail(ErrorCode::kDriver, fmt::format("launch: there is no command buffer {}", launch.command_buffer));
    }
  }
  if (launch.gpu_ns < 0) {
    return Fail(ErrorCode::kDriver, fmt::format("launch: {} ns of GPU time", launch.gpu_ns));
  }
  Charge(CallKind::kLaunch, {});
  ChargeGpu("step", launch.gpu_ns);
  if (touch_ != Touch::kNone) {
    TouchSlots(launch, command_buffer);
    ++launch_count_;
  }
  return {};
}

void SimBackend::PullAway(Address at, uint64_t size) {
  if (touch_ == Touch::kNone || clocks_.gpu <= clocks_.cpu) {
    return;
  }
  for (LaunchRecord& record : launches_) {
    if (record.end <= clocks_.cpu) {
      continue;
    }
    for (size_t i = 0; i < record.tags.size(); ++i) {
      if (record.addresses[i] - at < size) {
        record.tags[i].reachable = false;
      }
    }
  }
}

Status SimBackend::BeginStep(uint64_t step) {
  step_ = step;
  line_.joinable = false;
  // Step k waits for the end of step k - 1 - A.
  if (line_.recent.size() > run_ahead_) {
    const int64_t free = line_.recent[line_.recent.size() - 1 - run_ahead_];
    if (free > clocks_.cpu) {
      Tell(TimelineTrack::kCpu, "run_ahead", clocks_.cpu, free);
      clocks_.cpu = free;
    }
  }
  if (host_step_ns_ > 0) {
    Tell(TimelineTrack::kCpu, "host", clocks_.cpu, clocks_.cpu + host_step_ns_);
    clocks_.cpu += host_step_ns_;
  }
  return {};
}

Status SimBackend::EndStep(uint64_t step, bool launched) {
  if (line_.recent.size() > run_ahead_) {
    line_.recent.erase(line_.recent.begin());
  }
  line_.recent.push_back(clocks_.gpu);
  line_.joinable = true;
  line_.newest_untaken = launched;
  if (launched) {
    line_.untaken.push_back({step, clocks_.gpu});
  }
  return {};
}

Status SimBackend::TakeStepEnds(std::vector<StepEnd>& ends) {
  ends.insert(ends.end(), line_.untaken.begin(), line_.untaken.end());
  line_.untaken.clear();
  line_.newest_untaken = false;
  return {};
}

Status SimBackend::Synchronize() {
  clocks_.cpu = std::max(clocks_.cpu, clocks_.gpu);
  return {};
}

Status SimBackend::ReadTags(uint32_t back, std::vector<LaunchTag>& tags) {
  if (back >= capabilities_.readback_depth || back >= launch_count_) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("the launch {} before the last cannot be read (depth {}, {} launches)", back,
                            capabilities_.readback_depth, launch_count_));
  }
  tags = launches_[(launch_count_ - 1 - back) % launches_.size()].tags;
  return {};
}

Result<uint64_t> SimBackend::ReadTag(const Memory& memory) {
  const uint64_t* tag = space_.TagAt(memory.address);
  if (memory.address == kNullAddress || tag == nullptr) {
    return Fail(ErrorCode::kDriver, fmt::format("there is no memory at {:#x}", memory.address));
  }
  return *tag;
}

}  // namespace

Result<std::unique_ptr<Backend>> MakeSimBackend(const BackendOptions& options) {
  REMAPLAB_ASSIGN(const DriverProfile* driver, FindDriverProfile(options.driver_profile));
  REMAPLAB_ASSIGN(const CostProfile costs, LoadCostProfile(options.cost_profile, options.what_if));
  if (options.devices == 0 || options.devices > kMostDevices) {
    return Fail(ErrorCode::kUsage, fmt::format("sim has 1 to {} devices, not {}", kMostDevices, options.devices));
  }
  if (options.granularity % driver->minimum_granularity != 0) {
    return Fail(ErrorCode::kUsage, fmt::format("granularity {}: driver profile {} needs a multiple of {}",
                                               options.granularity, driver->name, driver->minimum_granularity));
  }
  if (options.host_step_ns < 0 || !(options.jitter >= 0 && options.jitter <= 1)) {
    return Fail(ErrorCode::kUsage, "sim: host work is not negative, and jitter lies between 0 and 1");
  }
  return std::make_unique<SimBackend>(options, *driver, costs);
}

}  // namespace remaplab

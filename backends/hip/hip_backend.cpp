#include "backends/hip/hip_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/hip/hip_command_buffer.h"
#include "backends/hip/hip_device.h"
#include "backends/hip/hip_filler.h"
#include "backends/real/monotonic_clock.h"
#include "backends/real/tag.h"
#include "backends/real/vmm_ledger.h"

namespace remaplab::REMAPLAB_HIP_PLATFORM {
namespace {

constexpr uint64_t kMaxSlots = 65536;  // of a command buffer; the tag cells are made once and never move

class HipBackend final : public Backend {
 public:
  HipBackend(const BackendOptions& options, Hip hip, uint64_t granularity);
  ~HipBackend() override;
  // Everything that can fail; must be called once, before anything else.
  Status Start(const BackendOptions& options);

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
  // Physical memory with the allocator's own mapping of it.
  struct Physical {
    hipMemGenericAllocationHandle_t handle{};
    Address view = kNullAddress;
    uint64_t size = 0;
  };
  // A point in the stream; shared by everything that waits for it.
  struct Mark {
    const Hip& hip;
    hipEvent_t event{};
    uint64_t enqueued = 0;

    Mark(const Hip& api, hipEvent_t made, uint64_t count) : hip(api), event(made), enqueued(count) {}
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    ~Mark() { Forget(hip.hipEventDestroy(event)); }
  };
  struct Burial {
    Physical physical;
    std::shared_ptr<Mark> after;
  };
  struct CommandBuffer {
    std::unique_ptr<HipCommandBuffer> graph;
    std::vector<VmmLedger::Place> places;  // by position, as of `generation` of the ledger
    bool reachable = false;                // all of them
    uint64_t generation = 0;
  };
  // One launch whose tags can be read back: pinned memory that the stream copies from and to.
  struct Readback {
    hipEvent_t done{};
    bool used = false;
    uint64_t* out = nullptr;
    uint64_t* in = nullptr;
    std::vector<BakedSlot> slots;
    std::vector<bool> reachable;  // by position
  };
  struct PendingStep {
    uint64_t step = 0;
    bool launched = false;
    hipEvent_t end{};
  };

  // Which memory a tag belongs to, as one number: handles are odd here, shadows' addresses are even.
  static uint64_t TagKey(const VmmLedger::Place& place) {
    return place.handle != kNoHandle ? place.handle * 2 + 1 : place.shadow;
  }

  Status Check(hipError_t error, std::string_view call, Address at, uint64_t size, std::string_view api) const {
    return Checked(hip_, error, call, at, size, api);
  }
  bool checking() const { return touch_ != Touch::kNone; }

  Status MakeEvent(hipEvent_t& event, unsigned int flags);
  // The point in the stream that everything enqueued so far is before.
  Result<std::shared_ptr<Mark>> CurrentMark();
  Result<bool> IsDone(const Mark& mark) const;
  Status Bury(const Physical& physical);
  Status BuryFinished(bool all);
  Status WriteTag(Address at, uint64_t tag);
  void UndoCreate(const Physical& physical, bool mapped);

  void Resolve(CommandBuffer& buffer) const;
  Status LaunchChecked(CommandBuffer* buffer, const LaunchSpec& launch);
  // Prepares the tags that the launch will write and says what it will leave behind.
  void PrepareTags(Readback& readback, const std::vector<VmmLedger::Place>& places);
  Status CopyTagsOneByOne(const Readback& readback);
  Status Harvest();
  Status TakeBaseTime();

  const Hip hip_;
  BackendInfo info_;
  Capabilities capabilities_;
  Touch touch_;
  uint32_t run_ahead_;
  int64_t host_step_ns_;
  uint32_t devices_;
  VmmLedger ledger_;

  hipStream_t stream_{};  // all work
  hipStream_t side_{};    // tags of new memory, which must not wait for the work
  bool has_stream_ = false;
  bool has_side_ = false;
  uint64_t* scratch_ = nullptr;  // pinned, for one tag
  void* cells_memory_ = nullptr;
  TagCells cells_;
  void* pinned_ = nullptr;  // behind all Readbacks
  std::unique_ptr<HipFiller> filler_;

  std::unordered_map<Handle, Physical> physical_;
  std::unordered_map<uint64_t, uint64_t> tags_;  // by TagKey: contents after everything enqueued
  std::deque<Burial> burials_;
  std::shared_ptr<Mark> mark_;
  uint64_t enqueued_ = 0;
  std::unordered_map<EventId, hipEvent_t> events_;
  EventId next_event_ = 1;
  std::unordered_map<CommandBufferId, CommandBuffer> command_buffers_;
  CommandBufferId next_command_buffer_ = 1;
  std::vector<Readback> readbacks_;  // a ring
  uint64_t launch_count_ = 0;

  std::deque<PendingStep> pending_;
  std::vector<hipEvent_t> spare_events_;  // with timing
  std::vector<StepEnd> ends_;
  hipEvent_t last_end_{};  // whose time is known:
  int64_t last_end_ns_ = 0;
  bool has_base_time_ = false;
};

// --- Life --------------------------------------------------------------------------------------------------------

HipBackend::HipBackend(const BackendOptions& options, Hip hip, uint64_t granularity)
    : hip_(std::move(hip)),
      touch_(options.touch),
      run_ahead_(options.run_ahead),
      host_step_ns_(options.host_step_ns),
      devices_(options.devices),
      ledger_(granularity, options.devices) {
  using Partial = Capabilities::PartialAccess;
  capabilities_.minimum_granularity = granularity;
  capabilities_.multi_mapping_unmap = hip_.multi_mapping_unmap();
  capabilities_.partial_access = hip_.partial_access_peers()   ? Partial::kAny
                                 : hip_.partial_access_owner() ? Partial::kOwnerOnly
                                                               : Partial::kNone;
  capabilities_.max_devices = devices_;
  capabilities_.readback_depth = checking() ? std::max<uint32_t>(8, run_ahead_ + 2) : 0;
  info_ = {.name = "hip",
           .description = fmt::format("the GPU's own virtual-memory API, platform {}", Hip::kPlatform),
           .driver_profile = hip_.profile(),
           .cost_profile = {},
           .cost_quality = {},
           .identity = {{"platform", std::string(Hip::kPlatform)}, {"library", hip_.found()}}};
  hip_.Describe(0, info_.identity);
}

Status HipBackend::Start(const BackendOptions& options) {
  size_t recommended = 0;
  REMAPLAB_TRY(Check(hip_.Granularity(&recommended, 0, true), "start", 0, 0, "hipMemGetAllocationGranularity"));
  capabilities_.recommended_granularity = options.granularity != 0 ? options.granularity : recommended;
  size_t free = 0;
  size_t total = 0;
  REMAPLAB_TRY(Check(hip_.hipMemGetInfo(&free, &total), "start", 0, 0, "hipMemGetInfo"));
  info_.identity.emplace_back("memory_bytes", fmt::format("{}", total));
  info_.identity.emplace_back("granularity", fmt::format("{}", capabilities_.minimum_granularity));

  REMAPLAB_TRY(
      Check(hip_.hipStreamCreateWithFlags(&stream_, Hip::kStreamFlags), "start", 0, 0, "hipStreamCreateWithFlags"));
  has_stream_ = true;
  REMAPLAB_TRY(
      Check(hip_.hipStreamCreateWithFlags(&side_, hipStreamNonBlocking), "start", 0, 0, "hipStreamCreateWithFlags"));
  has_side_ = true;
  void* scratch = nullptr;
  REMAPLAB_TRY(
      Check(hip_.hipHostMalloc(&scratch, kTagBytes, hipHostMallocDefault), "start", 0, kTagBytes, "hipHostMalloc"));
  scratch_ = static_cast<uint64_t*>(scratch);

  const uint64_t column = kMaxSlots * kTagBytes;
  const uint64_t cells = 2 * column + 2 * kTagBytes;
  REMAPLAB_TRY(Check(hip_.hipMalloc(&cells_memory_, cells), "start", 0, cells, "hipMalloc"));
  const Address base = ToAddress(cells_memory_);
  cells_ = {.out = base, .in = base + column, .pad = base + 2 * column};
  if (checking()) {
    const uint64_t bytes = capabilities_.readback_depth * 2 * column;
    REMAPLAB_TRY(Check(hip_.hipHostMalloc(&pinned_, bytes, hipHostMallocDefault), "start", 0, bytes, "hipHostMalloc"));
    readbacks_.resize(capabilities_.readback_depth);
    uint64_t* next = static_cast<uint64_t*>(pinned_);
    for (Readback& readback : readbacks_) {
      readback.out = next;
      readback.in = next + kMaxSlots;
      next += 2 * kMaxSlots;
      REMAPLAB_TRY(MakeEvent(readback.done, hipEventDisableTiming));
    }
  }
  REMAPLAB_ASSIGN(filler_, HipFiller::Make(hip_, stream_));
  return {};
}

HipBackend::~HipBackend() {
  if (has_stream_) Forget(hip_.hipStreamSynchronize(stream_));
  static_cast<void>(BuryFinished(/*all=*/true));
  command_buffers_.clear();
  filler_.reset();
  for (const auto& [at, mapping] : ledger_.mappings()) Forget(hip_.hipMemUnmap(Pointer(at), mapping.size));
  for (const auto& [handle, physical] : physical_) static_cast<void>(Bury(physical));
  for (const auto& [base, size] : ledger_.reservations()) Forget(hip_.hipMemAddressFree(Pointer(base), size));
  for (const auto& [at, size] : ledger_.shadows()) Forget(hip_.hipFree(Pointer(at)));
  for (const auto& [id, event] : events_) Forget(hip_.hipEventDestroy(event));
  for (const Readback& readback : readbacks_) {
    if (readback.done != hipEvent_t{}) Forget(hip_.hipEventDestroy(readback.done));
  }
  for (const PendingStep& step : pending_) Forget(hip_.hipEventDestroy(step.end));
  for (const hipEvent_t event : spare_events_) Forget(hip_.hipEventDestroy(event));
  if (last_end_ != hipEvent_t{}) Forget(hip_.hipEventDestroy(last_end_));
  mark_.reset();
  if (cells_memory_ != nullptr) Forget(hip_.hipFree(cells_memory_));
  if (pinned_ != nullptr) Forget(hip_.hipHostFree(pinned_));
  if (scratch_ != nullptr) Forget(hip_.hipHostFree(scratch_));
  if (has_side_) Forget(hip_.hipStreamDestroy(side_));
  if (has_stream_) Forget(hip_.hipStreamDestroy(stream_));
}

Outstanding HipBackend::outstanding() const {
  Outstanding result = ledger_.outstanding();
  result.events = events_.size();
  result.command_buffers = command_buffers_.size();
  return result;
}

Status HipBackend::MakeEvent(hipEvent_t& event, unsigned int flags) {
  return Check(hip_.hipEventCreateWithFlags(&event, flags), "create_event", 0, 0, "hipEventCreateWithFlags");
}

// --- Address ranges and physical memory ----------------------------------------------------------------------------

Result<Address> HipBackend::Reserve(uint64_t size, uint64_t alignment) {
  REMAPLAB_TRY(ledger_.CheckReserve(size, alignment));
  void* at = nullptr;
  REMAPLAB_TRY(
      Check(hip_.hipMemAddressReserve(&at, size, alignment, nullptr, 0), "reserve", 0, size, "hipMemAddressReserve"));
  ledger_.Reserved(ToAddress(at), size);
  return ToAddress(at);
}

Status HipBackend::AddressFree(Address base, uint64_t size) {
  REMAPLAB_TRY(ledger_.CheckAddressFree(base, size));
  REMAPLAB_TRY(Check(hip_.hipMemAddressFree(Pointer(base), size), "address_free", base, size, "hipMemAddressFree"));
  ledger_.AddressFreed(base);
  return {};
}

Status HipBackend::WriteTag(Address at, uint64_t tag) {
  *scratch_ = tag;
  REMAPLAB_TRY(Check(hip_.hipMemcpyAsync(Pointer(at), scratch_, kTagBytes, hipMemcpyHostToDevice, side_), "create", at,
                     kTagBytes, "hipMemcpyAsync"));
  return Check(hip_.hipStreamSynchronize(side_), "create", at, kTagBytes, "hipStreamSynchronize");
}

void HipBackend::UndoCreate(const Physical& physical, bool mapped) {
  if (mapped) Forget(hip_.hipMemUnmap(Pointer(physical.view), physical.size));
  if (physical.view != kNullAddress) Forget(hip_.hipMemAddressFree(Pointer(physical.view), physical.size));
  Forget(hip_.hipMemRelease(physical.handle));
}

Result<Memory> HipBackend::Create(uint64_t size, int device, int32_t, uint64_t tag) {
  REMAPLAB_TRY(ledger_.CheckCreate(size, device));
  REMAPLAB_TRY(BuryFinished(/*all=*/false));
  Physical physical{.handle = {}, .view = kNullAddress, .size = size};
  hipError_t created = hip_.CreateMemory(&physical.handle, size, device);
  if (created == hipErrorOutOfMemory && !burials_.empty()) {
    // What was released under running work is memory too.
    REMAPLAB_TRY(Synchronize());
    created = hip_.CreateMemory(&physical.handle, size, device);
  }
  REMAPLAB_TRY(Check(created, "create", 0, size, "hipMemCreate"));

  void* view = nullptr;
  bool mapped = false;
  Status made = Check(hip_.hipMemAddressReserve(&view, size, 0, nullptr, 0), "create", 0, size, "hipMemAddressReserve");
  if (made) {
    physical.view = ToAddress(view);
    made = Check(hip_.hipMemMap(view, size, 0, physical.handle, 0), "create", physical.view, size, "hipMemMap");
    mapped = made.has_value();
  }
  // The owner comes last: drivers have lost its access when a peer was granted later (hip-vmm.md T07).
  for (int peer = static_cast<int>(devices_) - 1; peer >= 0 && made; --peer) {
    made = Check(hip_.GiveAccess(view, size, peer), "create", physical.view, size, "hipMemSetAccess");
  }
  if (made && checking()) made = WriteTag(physical.view, tag);
  if (!made) {
    UndoCreate(physical, mapped);
    return Fail(std::move(made).error());
  }
  const Handle handle = ledger_.Created(size, physical.view);
  physical_.emplace(handle, physical);
  tags_[handle * 2 + 1] = tag;
  return Memory{handle, physical.view, size};
}

Result<std::shared_ptr<HipBackend::Mark>> HipBackend::CurrentMark() {
  if (mark_ != nullptr && mark_->enqueued == enqueued_) return mark_;
  hipEvent_t event{};
  REMAPLAB_TRY(MakeEvent(event, hipEventDisableTiming));
  mark_ = std::make_shared<Mark>(hip_, event, enqueued_);
  REMAPLAB_TRY(Check(hip_.hipEventRecord(event, stream_), "release", 0, 0, "hipEventRecord"));
  return mark_;
}

Result<bool> HipBackend::IsDone(const Mark& mark) const {
  const hipError_t state = hip_.hipEventQuery(mark.event);
  if (state == hipErrorNotReady) return false;
  REMAPLAB_TRY(Check(state, "release", 0, 0, "hipEventQuery"));
  return true;
}

Status HipBackend::Bury(const Physical& physical) {
  void* const view = Pointer(physical.view);
  Status result = Check(hip_.hipMemUnmap(view, physical.size), "release", physical.view, physical.size, "hipMemUnmap");
  const Status address =
      Check(hip_.hipMemAddressFree(view, physical.size), "release", physical.view, physical.size, "hipMemAddressFree");
  const Status memory =
      Check(hip_.hipMemRelease(physical.handle), "release", physical.view, physical.size, "hipMemRelease");
  if (result) result = address;
  if (result) result = memory;
  return result;
}

Status HipBackend::BuryFinished(bool all) {
  Status result;
  while (!burials_.empty()) {
    if (!all) {
      REMAPLAB_ASSIGN(const bool done, IsDone(*burials_.front().after));
      if (!done) break;
    }
    Status buried = Bury(burials_.front().physical);
    burials_.pop_front();
    if (result) result = std::move(buried);
  }
  return result;
}

Status HipBackend::Release(const Memory& memory) {
  REMAPLAB_TRY(ledger_.CheckRelease(memory));
  REMAPLAB_ASSIGN(std::shared_ptr<Mark> after, CurrentMark());
  auto it = physical_.find(memory.handle);
  burials_.push_back({it->second, std::move(after)});
  physical_.erase(it);
  if (ledger_.Released(memory.handle)) tags_.erase(memory.handle * 2 + 1);
  return BuryFinished(/*all=*/false);
}

Status HipBackend::Map(Address at, uint64_t size, Handle handle) {
  REMAPLAB_TRY(ledger_.CheckMap(at, size, handle));
  const Physical& physical = physical_.find(handle)->second;
  REMAPLAB_TRY(Check(hip_.hipMemMap(Pointer(at), size, 0, physical.handle, 0), "map", at, size, "hipMemMap"));
  ledger_.Mapped(at, size, handle);
  return {};
}

Status HipBackend::Unmap(Address at, uint64_t size) {
  REMAPLAB_TRY(ledger_.CheckUnmap(at, size));
  if (!capabilities_.multi_mapping_unmap && ledger_.mappings().find(at)->second.size != size) {
    return Refused("unmap", at, size, fmt::format("{} unmaps one mapping a call", hip_.found()),
                   ErrorCode::kUnsupported);
  }
  REMAPLAB_TRY(Check(hip_.hipMemUnmap(Pointer(at), size), "unmap", at, size, "hipMemUnmap"));
  std::vector<Handle> dead;
  ledger_.Unmapped(at, size, dead);
  for (const Handle handle : dead) tags_.erase(handle * 2 + 1);
  return {};
}

Status HipBackend::SetAccess(Address at, uint64_t size, uint32_t device) {
  REMAPLAB_TRY(ledger_.CheckAccess(at, size, device));
  REMAPLAB_TRY(
      Check(hip_.GiveAccess(Pointer(at), size, static_cast<int>(device)), "set_access", at, size, "hipMemSetAccess"));
  ledger_.AccessGiven(at, size, device);
  return {};
}

// --- Shadows and copies --------------------------------------------------------------------------------------------

Result<Address> HipBackend::ShadowAlloc(uint64_t size, int device, int32_t) {
  REMAPLAB_TRY(ledger_.CheckShadowAlloc(size, device));
  void* at = nullptr;
  REMAPLAB_TRY(Check(hip_.hipMalloc(&at, std::max(size, kTagBytes)), "shadow_alloc", 0, size, "hipMalloc"));
  ledger_.ShadowAllocated(ToAddress(at), size);
  return ToAddress(at);
}

Status HipBackend::ShadowFree(Address at, uint64_t size) {
  REMAPLAB_TRY(ledger_.CheckShadowFree(at, size));
  REMAPLAB_TRY(Check(hip_.hipFree(Pointer(at)), "shadow_free", at, size, "hipFree"));
  ledger_.ShadowFreed(at);
  tags_.erase(at);
  return {};
}

Status HipBackend::Copy(Address to, Address from, uint64_t size) {
  REMAPLAB_TRY(ledger_.CheckReachable("copy", to, size));
  REMAPLAB_TRY(ledger_.CheckReachable("copy", from, size));
  REMAPLAB_TRY(Check(
      hip_.hipMemcpyAsync(Pointer(to), Pointer(from), std::max(size, kTagBytes), hipMemcpyDeviceToDevice, stream_),
      "copy", to, size, "hipMemcpyAsync"));
  ++enqueued_;
  if (!checking()) return {};
  const VmmLedger::Place target = ledger_.Resolve(to);
  const VmmLedger::Place source = ledger_.Resolve(from);
  if (target.offset == 0 && source.offset == 0) tags_[TagKey(target)] = tags_[TagKey(source)];
  return {};
}

// --- Events --------------------------------------------------------------------------------------------------------

Result<EventId> HipBackend::CreateEvent() {
  hipEvent_t event{};
  REMAPLAB_TRY(MakeEvent(event, hipEventDisableTiming));
  events_.emplace(next_event_, event);
  return next_event_++;
}

Status HipBackend::DestroyEvent(EventId event) {
  auto it = events_.find(event);
  if (it == events_.end()) return Fail(ErrorCode::kDriver, fmt::format("no event {} to destroy", event));
  Forget(hip_.hipEventDestroy(it->second));
  events_.erase(it);
  return {};
}

Status HipBackend::Record(EventId event) {
  auto it = events_.find(event);
  if (it == events_.end()) return Fail(ErrorCode::kDriver, fmt::format("record: no event {}", event));
  return Check(hip_.hipEventRecord(it->second, stream_), "record", event, 0, "hipEventRecord");
}

Status HipBackend::Wait(EventId event) {
  auto it = events_.find(event);
  if (it == events_.end()) return Fail(ErrorCode::kDriver, fmt::format("wait: no event {}", event));
  return Check(hip_.hipEventSynchronize(it->second), "wait", event, 0, "hipEventSynchronize");
}

// --- Command buffers -----------------------------------------------------------------------------------------------

Result<CommandBufferId> HipBackend::Capture(std::span<const BakedSlot> slots, uint32_t commands) {
  if (slots.size() > kMaxSlots) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("capture: {} slots; this backend has tag cells for {}", slots.size(), kMaxSlots));
  }
  for (const BakedSlot& slot : slots) REMAPLAB_TRY(ledger_.CheckReachable("capture", slot.address, slot.size));
  CommandBuffer buffer;
  REMAPLAB_ASSIGN(buffer.graph, HipCommandBuffer::Build(hip_, stream_, slots, commands, cells_, checking()));
  command_buffers_.emplace(next_command_buffer_, std::move(buffer));
  return next_command_buffer_++;
}

Status HipBackend::Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t) {
  auto it = command_buffers_.find(command_buffer);
  if (it == command_buffers_.end()) {
    return Fail(ErrorCode::kDriver, fmt::format("update: no command buffer {}", command_buffer));
  }
  CommandBuffer& buffer = it->second;
  for (const BakedSlot& slot : changed) {
    REMAPLAB_TRY(ledger_.CheckReachable("update", slot.address, slot.size));
    if (!buffer.graph->Has(slot.slot)) {
      return Fail(ErrorCode::kDriver,
                  fmt::format("update: command buffer {} has no slot {}", command_buffer, slot.slot));
    }
  }
  buffer.generation = 0;
  return buffer.graph->Update(changed);
}

Status HipBackend::DestroyCommandBuffer(CommandBufferId command_buffer) {
  if (command_buffers_.erase(command_buffer) == 0) {
    return Fail(ErrorCode::kDriver, fmt::format("no command buffer {} to destroy", command_buffer));
  }
  return {};
}

void HipBackend::Resolve(CommandBuffer& buffer) const {
  if (buffer.generation == ledger_.generation()) return;
  const std::vector<BakedSlot>& slots = buffer.graph->slots();
  buffer.places.resize(slots.size());
  buffer.reachable = true;
  for (size_t i = 0; i < slots.size(); ++i) {
    buffer.places[i] = ledger_.Resolve(slots[i].address);
    buffer.reachable = buffer.reachable && buffer.places[i];
  }
  buffer.generation = ledger_.generation();
}

Status HipBackend::Launch(const LaunchSpec& launch) {
  CommandBuffer* buffer = nullptr;
  if (launch.command_buffer != kNoCommandBuffer) {
    auto it = command_buffers_.find(launch.command_buffer);
    if (it == command_buffers_.end()) {
      return Fail(ErrorCode::kDriver, fmt::format("launch: no command buffer {}", launch.command_buffer));
    }
    buffer = &it->second;
    Resolve(*buffer);
  }
  ++enqueued_;
  const uint64_t nodes = buffer != nullptr && buffer->reachable ? buffer->graph->nodes() : 0;
  REMAPLAB_TRY(filler_->Enqueue(launch.gpu_ns, nodes));
  if (checking()) return LaunchChecked(buffer, launch);
  if (buffer == nullptr) return {};
  if (!buffer->reachable) {
    return Fail(ErrorCode::kDriver, "launch: nothing is mapped at an address that is baked in; the device would die");
  }
  return buffer->graph->Launch();
}

Status HipBackend::LaunchChecked(CommandBuffer* buffer, const LaunchSpec& launch) {
  Readback& readback = readbacks_[launch_count_ % readbacks_.size()];
  if (readback.used) {
    REMAPLAB_TRY(Check(hip_.hipEventSynchronize(readback.done), "launch", 0, 0, "hipEventSynchronize"));
  }
  std::vector<VmmLedger::Place> own_places;
  if (buffer != nullptr) {
    readback.slots = buffer->graph->slots();
  } else {
    readback.slots.clear();
    for (uint32_t slot = 0; slot < launch.bindings.size(); ++slot) {
      const Binding& binding = launch.bindings[slot];
      if (binding.empty()) continue;
      readback.slots.push_back({slot, binding.memory.address, binding.memory.size, Access::kBoth});
      own_places.push_back(ledger_.Resolve(binding.memory.address));
    }
    if (readback.slots.size() > kMaxSlots) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("launch: {} slots; this backend has tag cells for {}", readback.slots.size(), kMaxSlots));
    }
  }
  PrepareTags(readback, buffer != nullptr ? buffer->places : own_places);
  const uint64_t bytes = readback.slots.size() * kTagBytes;
  if (bytes > 0) {
    REMAPLAB_TRY(Check(hip_.hipMemcpyAsync(Pointer(cells_.in), readback.in, bytes, hipMemcpyHostToDevice, stream_),
                       "launch", 0, bytes, "hipMemcpyAsync"));
    REMAPLAB_TRY(buffer != nullptr && buffer->reachable ? buffer->graph->Launch() : CopyTagsOneByOne(readback));
    REMAPLAB_TRY(Check(hip_.hipMemcpyAsync(readback.out, Pointer(cells_.out), bytes, hipMemcpyDeviceToHost, stream_),
                       "launch", 0, bytes, "hipMemcpyAsync"));
  }
  REMAPLAB_TRY(Check(hip_.hipEventRecord(readback.done, stream_), "launch", 0, 0, "hipEventRecord"));
  readback.used = true;
  ++launch_count_;
  return {};
}

void HipBackend::PrepareTags(Readback& readback, const std::vector<VmmLedger::Place>& places) {
  readback.reachable.assign(places.size(), false);
  for (size_t i = 0; i < places.size(); ++i) {
    readback.reachable[i] = static_cast<bool>(places[i]);
    readback.in[i] = places[i] ? NextTag(tags_[TagKey(places[i])]) : 0;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] && readback.slots[i].access != Access::kRead) tags_[TagKey(places[i])] = readback.in[i];
  }
}

Status HipBackend::CopyTagsOneByOne(const Readback& readback) {
  const auto copy = [&](Address to, Address from) {
    return Check(hip_.hipMemcpyAsync(Pointer(to), Pointer(from), kTagBytes, hipMemcpyDeviceToDevice, stream_), "launch",
                 to, kTagBytes, "hipMemcpyAsync");
  };
  for (size_t i = 0; i < readback.slots.size(); ++i) {
    if (readback.reachable[i]) REMAPLAB_TRY(copy(cells_.out + i * kTagBytes, readback.slots[i].address));
  }
  for (size_t i = 0; i < readback.slots.size(); ++i) {
    if (readback.reachable[i] && readback.slots[i].access != Access::kRead) {
      REMAPLAB_TRY(copy(readback.slots[i].address, cells_.in + i * kTagBytes));
    }
  }
  return {};
}

// --- Steps ---------------------------------------------------------------------------------------------------------

Status HipBackend::TakeBaseTime() {
  if (has_base_time_) return {};
  REMAPLAB_TRY(MakeEvent(last_end_, hipEventDefault));
  REMAPLAB_TRY(Check(hip_.hipEventRecord(last_end_, stream_), "begin_step", 0, 0, "hipEventRecord"));
  REMAPLAB_TRY(Check(hip_.hipEventSynchronize(last_end_), "begin_step", 0, 0, "hipEventSynchronize"));
  last_end_ns_ = MonotonicNs();
  has_base_time_ = true;
  return {};
}

Status HipBackend::BeginStep(uint64_t step) {
  REMAPLAB_TRY(TakeBaseTime());
  for (const PendingStep& pending : pending_) {
    if (pending.step + run_ahead_ + 1 > step) break;
    REMAPLAB_TRY(Check(hip_.hipEventSynchronize(pending.end), "begin_step", 0, 0, "hipEventSynchronize"));
  }
  REMAPLAB_TRY(Harvest());
  REMAPLAB_TRY(BuryFinished(/*all=*/false));
  if (host_step_ns_ > 0) SleepUntilNs(MonotonicNs() + host_step_ns_);
  return {};
}

Status HipBackend::EndStep(uint64_t step, bool launched) {
  REMAPLAB_TRY(TakeBaseTime());
  hipEvent_t end{};
  if (spare_events_.empty()) {
    REMAPLAB_TRY(MakeEvent(end, hipEventDefault));
  } else {
    end = spare_events_.back();
    spare_events_.pop_back();
  }
  pending_.push_back({step, launched, end});
  return Check(hip_.hipEventRecord(end, stream_), "end_step", 0, 0, "hipEventRecord");
}

// Times of finished steps: each from the one before, because an event's distance in milliseconds is a float.
Status HipBackend::Harvest() {
  while (!pending_.empty()) {
    const PendingStep step = pending_.front();
    const hipError_t state = hip_.hipEventQuery(step.end);
    if (state == hipErrorNotReady) return {};
    REMAPLAB_TRY(Check(state, "end_step", 0, 0, "hipEventQuery"));
    float ms = 0;
    REMAPLAB_TRY(Check(hip_.hipEventElapsedTime(&ms, last_end_, step.end), "end_step", 0, 0, "hipEventElapsedTime"));
    last_end_ns_ += std::llround(static_cast<double>(ms) * 1e6);
    if (step.launched) ends_.push_back({step.step, last_end_ns_});
    spare_events_.push_back(std::exchange(last_end_, step.end));
    pending_.pop_front();
  }
  return {};
}

Status HipBackend::TakeStepEnds(std::vector<StepEnd>& ends) {
  REMAPLAB_TRY(Harvest());
  ends.insert(ends.end(), ends_.begin(), ends_.end());
  ends_.clear();
  return {};
}

Status HipBackend::Synchronize() {
  REMAPLAB_TRY(Check(hip_.hipStreamSynchronize(stream_), "synchronize", 0, 0, "hipStreamSynchronize"));
  return BuryFinished(/*all=*/true);
}

// --- Checking ------------------------------------------------------------------------------------------------------

Status HipBackend::ReadTags(uint32_t back, std::vector<LaunchTag>& tags) {
  if (back >= capabilities_.readback_depth || back >= launch_count_) {
    return Fail(ErrorCode::kUnsupported, fmt::format("no tags of {} launches ago", back));
  }
  const Readback& readback = readbacks_[(launch_count_ - 1 - back) % readbacks_.size()];
  REMAPLAB_TRY(Check(hip_.hipEventSynchronize(readback.done), "read_tags", 0, back, "hipEventSynchronize"));
  tags.clear();
  for (size_t i = 0; i < readback.slots.size(); ++i) {
    const BakedSlot& slot = readback.slots[i];
    tags.push_back({slot.slot, readback.reachable[i] ? readback.out[i] & TagMask(slot.size) : 0,
                    static_cast<bool>(readback.reachable[i])});
  }
  return {};
}

Result<uint64_t> HipBackend::ReadTag(const Memory& memory) {
  REMAPLAB_TRY(ledger_.CheckReachable("read_tag", memory.address, kTagBytes));
  REMAPLAB_TRY(Synchronize());
  REMAPLAB_TRY(Check(hip_.hipMemcpyAsync(scratch_, Pointer(memory.address), kTagBytes, hipMemcpyDeviceToHost, stream_),
                     "read_tag", memory.address, kTagBytes, "hipMemcpyAsync"));
  REMAPLAB_TRY(
      Check(hip_.hipStreamSynchronize(stream_), "read_tag", memory.address, kTagBytes, "hipStreamSynchronize"));
  return *scratch_;
}

}  // namespace

std::optional<std::string> Unavailable(const std::string& library) {
  const Result<Hip> hip = OpenDevice(library, 1);
  if (hip) return std::nullopt;
  return hip.error().message();
}

Result<std::unique_ptr<Backend>> MakeBackend(const BackendOptions& options, const std::string& library) {
  if (options.devices == 0 || options.devices > VmmLedger::kMaxDevices) {
    return Fail(ErrorCode::kUsage,
                fmt::format("hip: {} devices; it can have 1 to {}", options.devices, VmmLedger::kMaxDevices));
  }
  REMAPLAB_ASSIGN(Hip hip, OpenDevice(library, options.devices));
  size_t granularity = 0;
  REMAPLAB_TRY(Checked(hip, hip.Granularity(&granularity, 0, false), "start", 0, 0, "hipMemGetAllocationGranularity"));
  if (options.granularity != 0 && (options.granularity < granularity || !std::has_single_bit(options.granularity))) {
    return Fail(ErrorCode::kUsage, fmt::format("hip: granularity {} is no power of two of at least {} bytes",
                                               options.granularity, granularity));
  }
  auto backend = std::make_unique<HipBackend>(options, std::move(hip), granularity);
  REMAPLAB_TRY(backend->Start(options));
  return backend;
}

}  // namespace remaplab::REMAPLAB_HIP_PLATFORM

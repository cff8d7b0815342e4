// The contract between the remap engine and whatever maps memory: a GPU driver, this machine's page tables, a
// simulator, or nothing at all.
//
// A Backend offers the calls of definitions.md section 1, one method each, plus what a call needs to be measured and
// checked. Wrappers (instrument, verify, inject_faults) derive from BackendWrapper and forward what they do not change.
//
// Threads: a Backend is used by one thread at a time.
// Units: bytes, nanoseconds. Addresses are device virtual addresses.
// Errors: kDriver, kOutOfMemory when the driver refuses; kWouldCrash and kUnknown from simulated drivers (what a real
//   one would not survive, what nobody knows); kUnsupported for what this backend never does. A refused call has
//   changed nothing unless its comment says so. Messages name call, address and size.
// Ownership: everything a method returns an id for belongs to the caller until the matching free call. Nothing is freed
//   behind the caller's back; outstanding() counts what is left, and a Backend that is destroyed releases the rest.
// Order: Copy, Launch and Record are stream ordered on one stream per backend and return before the device has done
//   them. All other calls act at once. Nothing waits for the stream except Wait, ReadTags, ReadTag, Synchronize, and
//   calls in which the modelled driver synchronises by itself (hip-vmm.md 2.3).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/vocabulary.h"
#include "engine/types.h"

namespace remaplab {

// What a driver can do, so that the engine asks instead of knowing driver names.
struct Capabilities {
  uint64_t minimum_granularity = 1;
  uint64_t recommended_granularity = 1;
  bool multi_mapping_unmap = true;  // one Unmap may span several neighbouring mappings (semantics, rule 7)
  enum class PartialAccess : uint8_t {
    kNone,       // SetAccess must cover everything mapped in the reservation (semantics, rule 6)
    kOwnerOnly,  // part of it for the owner, everything for peers
    kAny,
  };
  PartialAccess partial_access = PartialAccess::kAny;
  bool sub_range_mapping = true;  // false: map and unmap act on the whole reservation (ROCm 6.1)
  uint32_t max_devices = 1;       // how many can be given access
  uint32_t readback_depth = 0;    // how many launches ReadTags can look back; 0: it checks nothing
  bool simulated_time = false;    // now() and step ends come from a model, exact and repeatable
};

struct BackendInfo {
  std::string name;            // "sim"
  std::string description;     // one line
  std::string driver_profile;  // "cuda", "rocm-6.2", ... or what was found; empty where it means nothing
  std::string cost_profile;    // "h200", ...; empty where time is real
  std::string cost_quality;    // "measured", "fitted", "uncalibrated", or empty
  // Whatever else identifies device and driver: ("device", "NVIDIA H200"), ("driver", "580.159.04"), ...
  std::vector<std::pair<std::string, std::string>> identity;
};

// What is allocated and not yet given back.
struct Outstanding {
  uint64_t reservations = 0;
  uint64_t handles = 0;
  uint64_t mappings = 0;
  uint64_t shadows = 0;
  uint64_t events = 0;
  uint64_t command_buffers = 0;

  bool empty() const {
    return reservations == 0 && handles == 0 && mappings == 0 && shadows == 0 && events == 0 && command_buffers == 0;
  }
  friend bool operator==(const Outstanding&, const Outstanding&) = default;
};

// One slot as a command buffer sees it: the address that gets baked in.
struct BakedSlot {
  uint32_t slot = 0;
  Address address = kNullAddress;
  uint64_t size = 0;
  Access access = Access::kUnknown;
};

// How much of what a launch touches can be checked afterwards.
enum class Touch : uint8_t {
  kNone,    // a launch costs time and touches nothing: no ReadTags
  kSample,  // every launch touches a rotating sample of the slots
  kFull,    // every launch reads each slot's tag, write-only ones too, and writes a new one to each writable slot
};

struct LaunchSpec {
  CommandBufferId command_buffer = kNoCommandBuffer;
  int64_t gpu_ns = 0;  // how long the step's GPU work takes
  // The step's bindings by slot, owned by the caller and only valid during the call. For checking wrappers, and for
  // launches without a command buffer, which touch each binding that is not empty at its own address, as Access::kBoth.
  std::span<const Binding> bindings = {};
};

// A launch reads all its slots before it writes any, so that two slots with one backing see the same tag. A slot of
// fewer than 8 bytes holds only the low bytes of its tag.
struct LaunchTag {
  uint32_t slot = 0;
  uint64_t value = 0;     // what the launch read at the slot's address
  bool reachable = true;  // false: nothing mapped there, or no access
};

// When step `step` ended on the device: on the clock of now(), simulated ends without the allocator's time in it.
struct StepEnd {
  uint64_t step = 0;
  int64_t end_ns = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  virtual const BackendInfo& info() const = 0;
  virtual const Capabilities& capabilities() const = 0;
  virtual Outstanding outstanding() const = 0;

  // The CPU clock in nanoseconds from an arbitrary start; never goes back. Real backends: CLOCK_MONOTONIC.
  // Simulated ones: the CPU clock of definitions.md section 3 plus the cost of Create and Release so far, which are
  // the allocator's time and not on the step's clock.
  virtual int64_t now() const = 0;

  // --- Address ranges and physical memory -----------------------------------------------------------------------

  // Reserves `size` bytes (a multiple of the minimum granularity) of address space, aligned to `alignment` (0, or a
  // power of two). The range belongs to the caller until AddressFree.
  virtual Result<Address> Reserve(uint64_t size, uint64_t alignment) = 0;
  // Gives a whole reservation back. Nothing may be mapped in it.
  virtual Status AddressFree(Address base, uint64_t size) = 0;

  // Physical memory of `size` bytes (a multiple of the minimum granularity) on `device` in memory space `space`,
  // reachable at the returned address by every device that SetAccess can name. `tag` is what a fresh launch reads
  // there.
  virtual Result<Memory> Create(uint64_t size, int device, int32_t space, uint64_t tag) = 0;
  // Ends the caller's ownership. Memory that is still mapped in a reservation lives on until its last Unmap.
  virtual Status Release(const Memory& memory) = 0;

  // Maps the first `size` bytes of `handle` at `at`, inside one reservation, over nothing. Gives no access. CUDA's
  // driver 580 refuses less than the whole handle: callers create memory of the size that they map.
  virtual Status Map(Address at, uint64_t size, Handle handle) = 0;
  // Removes the mappings that lie in [at, at + size): exactly whole ones, several only with multi_mapping_unmap.
  // The caller has made sure that the device no longer uses them; few drivers wait by themselves.
  virtual Status Unmap(Address at, uint64_t size) = 0;
  // Gives `device` (0 is the owner) read and write access to [at, at + size), which must be mapped without a hole.
  virtual Status SetAccess(Address at, uint64_t size, uint32_t device) = 0;

  // --- Shadows and copies -----------------------------------------------------------------------------------------

  // An ordinary buffer of exactly `size` bytes in memory space `space`, at an address that never moves.
  virtual Result<Address> ShadowAlloc(uint64_t size, int device, int32_t space) = 0;
  // The device must be done with it (semantics, rule 1).
  virtual Status ShadowFree(Address at, uint64_t size) = 0;
  virtual Status Copy(Address to, Address from, uint64_t size) = 0;

  // --- Events -----------------------------------------------------------------------------------------------------

  // An event that has not been recorded counts as complete. Making and destroying one is not a counted call.
  virtual Result<EventId> CreateEvent() = 0;
  virtual Status DestroyEvent(EventId event) = 0;
  virtual Status Record(EventId event) = 0;
  // The CPU waits until all work before the event's last Record is done.
  virtual Status Wait(EventId event) = 0;

  // --- Command buffers --------------------------------------------------------------------------------------------

  // Builds a command buffer of `commands` commands that touches `slots` at these addresses. The addresses must be
  // reachable now; what is mapped there may change later.
  virtual Result<CommandBufferId> Capture(std::span<const BakedSlot> slots, uint32_t commands) = 0;
  // Changes the addresses of `changed` in place. Not while a launch of it is being enqueued; running launches are not
  // affected.
  virtual Status Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t commands) = 0;
  virtual Status DestroyCommandBuffer(CommandBufferId command_buffer) = 0;
  virtual Status Launch(const LaunchSpec& launch) = 0;

  // --- Steps ------------------------------------------------------------------------------------------------------

  // Called once before a step's first call: lets the CPU run at most the configured number of steps ahead of the
  // device and spends the configured host work (definitions.md section 3, rule 1).
  virtual Status BeginStep(uint64_t step) = 0;
  // Called after a step's last call, also when the step failed (launched = false).
  virtual Status EndStep(uint64_t step, bool launched) = 0;
  // Appends the ends of launched steps that are known by now and not yet taken, in order.
  virtual Status TakeStepEnds(std::vector<StepEnd>& ends) = 0;
  // Waits for everything enqueued. A real device that died says so here.
  virtual Status Synchronize() = 0;

  // --- Checking ---------------------------------------------------------------------------------------------------

  // What the launch `back` launches ago (0: the last one) read at its slots; waits for that launch. `tags` is
  // overwritten. Only with Touch other than kNone and back < readback_depth.
  virtual Status ReadTags(uint32_t back, std::vector<LaunchTag>& tags) = 0;
  // The tag at the start of a backing, read at its own address, after everything enqueued.
  virtual Result<uint64_t> ReadTag(const Memory& memory) = 0;
};

// The tag that a launch leaves in a writable slot where it read `tag`: known to backends and to `verify`, so that lost
// and doubled writes show.
constexpr uint64_t NextTag(uint64_t tag) { return tag * 6364136223846793005ull + 1442695040888963407ull; }

// Forwards everything to another backend; wrappers override what they change. The wrapped backend must outlive it.
class BackendWrapper : public Backend {
 public:
  explicit BackendWrapper(Backend& inner) : inner_(inner) {}

  const BackendInfo& info() const override { return inner_.info(); }
  const Capabilities& capabilities() const override { return inner_.capabilities(); }
  Outstanding outstanding() const override { return inner_.outstanding(); }
  int64_t now() const override { return inner_.now(); }
  Result<Address> Reserve(uint64_t size, uint64_t alignment) override { return inner_.Reserve(size, alignment); }
  Status AddressFree(Address base, uint64_t size) override { return inner_.AddressFree(base, size); }
  Result<Memory> Create(uint64_t size, int device, int32_t space, uint64_t tag) override {
    return inner_.Create(size, device, space, tag);
  }
  Status Release(const Memory& memory) override { return inner_.Release(memory); }
  Status Map(Address at, uint64_t size, Handle handle) override { return inner_.Map(at, size, handle); }
  Status Unmap(Address at, uint64_t size) override { return inner_.Unmap(at, size); }
  Status SetAccess(Address at, uint64_t size, uint32_t device) override { return inner_.SetAccess(at, size, device); }
  Result<Address> ShadowAlloc(uint64_t size, int device, int32_t space) override {
    return inner_.ShadowAlloc(size, device, space);
  }
  Status ShadowFree(Address at, uint64_t size) override { return inner_.ShadowFree(at, size); }
  Status Copy(Address to, Address from, uint64_t size) override { return inner_.Copy(to, from, size); }
  Result<EventId> CreateEvent() override { return inner_.CreateEvent(); }
  Status DestroyEvent(EventId event) override { return inner_.DestroyEvent(event); }
  Status Record(EventId event) override { return inner_.Record(event); }
  Status Wait(EventId event) override { return inner_.Wait(event); }
  Result<CommandBufferId> Capture(std::span<const BakedSlot> slots, uint32_t commands) override {
    return inner_.Capture(slots, commands);
  }
  Status Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t commands) override {
    return inner_.Update(command_buffer, changed, commands);
  }
  Status DestroyCommandBuffer(CommandBufferId command_buffer) override {
    return inner_.DestroyCommandBuffer(command_buffer);
  }
  Status Launch(const LaunchSpec& launch) override { return inner_.Launch(launch); }
  Status BeginStep(uint64_t step) override { return inner_.BeginStep(step); }
  Status EndStep(uint64_t step, bool launched) override { return inner_.EndStep(step, launched); }
  Status TakeStepEnds(std::vector<StepEnd>& ends) override { return inner_.TakeStepEnds(ends); }
  Status Synchronize() override { return inner_.Synchronize(); }
  Status ReadTags(uint32_t back, std::vector<LaunchTag>& tags) override { return inner_.ReadTags(back, tags); }
  Result<uint64_t> ReadTag(const Memory& memory) override { return inner_.ReadTag(memory); }

 protected:
  Backend& inner_;
};

}  // namespace remaplab

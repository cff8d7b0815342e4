// Counts and times the calls that pass, by kind and phase: what `calls`, `teardown`, `cleanup`, `remap_ns` and the
// store's per-kind rows are made of.
//
// A call is timed by the wrapped backend's now(), read just before and just after, so that simulated calls have
// simulated durations. Two clock reads and three additions are all that is done inside; the instrument's own cost on a
// real clock is one clock read per call.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "backends/backend.h"
#include "backends/phase.h"

namespace remaplab {

struct CallStats {
  uint64_t calls = 0;     // asked for, refused ones included
  uint64_t failures = 0;  // of these, refused
  int64_t ns = 0;

  CallStats& operator+=(const CallStats& other) {
    calls += other.calls;
    failures += other.failures;
    ns += other.ns;
    return *this;
  }
  friend bool operator==(const CallStats&, const CallStats&) = default;
};

// By CallKind.
using CallTable = std::array<CallStats, kCallKindCount>;

// One call, for --detail calls. Which fields mean something depends on the kind.
struct CallRecord {
  CallKind kind = CallKind::kReserve;
  Phase phase = Phase::kSteps;
  Address address = kNullAddress;  // of the range, shadow or memory; a copy's destination
  Address source = kNullAddress;   // a copy's source
  uint64_t size = 0;
  Handle handle = kNoHandle;
  int64_t device = -1;  // set_access: who is granted; create, shadow_alloc: where it lies
  uint32_t count = 0;   // capture, update: slots
  int64_t start = 0;    // on the backend's clock
  int64_t end = 0;
  const Error* error = nullptr;  // null when the call succeeded; valid only during the callback
};

class CallListener {
 public:
  virtual ~CallListener() = default;
  // Called after the timed section.
  virtual void OnCall(const CallRecord& record) = 0;
};

class Instrument final : public BackendWrapper {
 public:
  // `phase` says whose calls they are; null means always Phase::kSteps. Create and Release count under
  // Phase::kAllocator whatever it says. Both must outlive the instrument.
  explicit Instrument(Backend& inner, const PhaseSwitch* phase = nullptr) : BackendWrapper(inner), phase_(phase) {}

  // Null switches detail off, which costs nothing.
  void SetListener(CallListener* listener) { listener_ = listener; }

  // Everything since the beginning.
  CallTable Totals(Phase phase) const;

  // Calls visit(Phase, CallKind, const CallStats&) for each phase and kind with calls since the last Drain, in
  // ascending order, and starts anew. Costs work in proportion to the kinds that were called.
  template <typename Visitor>
  void Drain(Visitor&& visit) {
    for (int phase = 0; phase < kPhaseCount; ++phase) {
      Counters& counters = counters_[static_cast<size_t>(phase)];
      for (uint32_t left = counters.touched; left != 0; left &= left - 1) {
        const size_t kind = static_cast<size_t>(std::countr_zero(left));
        visit(static_cast<Phase>(phase), static_cast<CallKind>(kind), std::as_const(counters.fresh[kind]));
        counters.drained[kind] += counters.fresh[kind];
        counters.fresh[kind] = {};
      }
      counters.touched = 0;
    }
  }

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
  Status Record(EventId event) override;
  Status Wait(EventId event) override;
  Result<CommandBufferId> Capture(std::span<const BakedSlot> slots, uint32_t commands) override;
  Status Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t commands) override;
  Status Launch(const LaunchSpec& launch) override;

 private:
  struct Counters {
    CallTable fresh{};  // since the last Drain
    CallTable drained{};
    uint32_t touched = 0;  // a bit per kind with fresh calls
  };
  static_assert(kCallKindCount <= 32);

  template <typename Call, typename Describe>
  auto Timed(CallKind kind, Call&& call, Describe&& describe);

  const PhaseSwitch* phase_;
  CallListener* listener_ = nullptr;
  std::array<Counters, kPhaseCount> counters_{};
};

}  // namespace remaplab

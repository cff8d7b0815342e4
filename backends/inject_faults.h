// Makes chosen backend calls fail, to see what the session does about it.
//
//   unmap:call=7             the seventh unmap fails (counted from 1, outside cleanup)
//   map:rate=0.01,seed=3     each map fails with probability 0.01, from a seed
//   cleanup:unmap:call=1     the first unmap of cleanup fails; without the prefix cleanup is spared
//
// A call that fails this way never reaches the wrapped backend, so nothing has happened. The error is kDriver, says
// that it was injected, and which call of which kind it was.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/phase.h"
#include "base/random.h"
#include "base/result.h"

namespace remaplab {

struct FaultSpec {
  CallKind kind = CallKind::kMap;
  bool in_cleanup = false;  // hits cleanup, and only cleanup
  uint64_t call = 0;        // fails this one, counted from 1; 0: at `rate`
  double rate = 0;          // probability per call, in [0, 1]
  uint64_t seed = 1;
};

// One spec, as above. Error kUsage.
Result<FaultSpec> ParseFaultSpec(std::string_view text);

class InjectFaults final : public BackendWrapper {
 public:
  // `phase` says when cleanup is under way; null means never. Must outlive the wrapper.
  InjectFaults(Backend& inner, std::span<const FaultSpec> specs, const PhaseSwitch* phase);

  uint64_t injected() const { return injected_; }

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
  struct Armed {
    FaultSpec spec;
    uint64_t threshold = 0;  // fails when the generator's next value is below
    Random random;
  };

  Status Check(CallKind kind);

  std::vector<Armed> faults_;
  const PhaseSwitch* phase_;
  std::array<std::array<uint64_t, kCallKindCount>, 2> calls_{};  // outside and inside cleanup
  uint64_t injected_ = 0;
};

}  // namespace remaplab

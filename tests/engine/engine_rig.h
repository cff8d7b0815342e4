// A session on the simulated driver, with everything around it that tells whether it did the right thing: a log of its
// calls by kind and phase, injected faults, and verification of what every launch read.
#pragma once

#include <fmt/format.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/inject_faults.h"
#include "backends/registry.h"
#include "backends/verify.h"
#include "engine/session.h"

namespace remaplab {

inline constexpr uint64_t kMiB = 1 << 20;
inline constexpr uint64_t kGranularity = 2 * kMiB;

// What Boost.Test can check and, when it fails, print.
inline boost::test_tools::assertion_result Succeeded(const Status& status) {
  boost::test_tools::assertion_result result(status.has_value());
  if (!status) {
    result.message() << status.error().message();
  }
  return result;
}

struct SlotShape {
  uint64_t size = kGranularity;
  SlotKind kind = SlotKind::kUnknown;
  Access access = Access::kUnknown;
  int32_t space = 0;
};

// Slots with indices 0, 1, ... unless given.
inline ProgramSpec MakeProgram(const std::vector<SlotShape>& shapes, uint32_t devices = 1,
                               const std::vector<uint32_t>& indices = {}) {
  ProgramSpec program{
      .module = "jit_step", .device = 0, .devices = devices, .granularity = kGranularity, .commands = 10, .slots = {}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    const SlotShape& shape = shapes[i];
    program.slots.push_back({.index = indices.empty() ? static_cast<uint32_t>(i) : indices[i],
                             .recorded_size = shape.size,
                             .size = shape.size,
                             .mapped_size = RoundUp(shape.size, kGranularity),
                             .space = shape.space,
                             .kind = shape.kind,
                             .access = shape.access});
  }
  return program;
}
inline ProgramSpec MakeProgram(size_t slots, uint32_t devices = 1) {
  return MakeProgram(std::vector<SlotShape>(slots), devices);
}

// How many calls of each kind, by the kinds' names.
using CallCounts = std::map<std::string, uint64_t>;

inline std::string ToText(const CallCounts& counts) {
  std::string text;
  for (const auto& [kind, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, count);
  }
  return text;
}

struct RigOptions {
  std::string driver = "cuda";
  std::string costs = "h200";
  uint32_t devices = 1;
  uint32_t run_ahead = 1;
  int64_t host_step_ns = 0;
  int64_t gpu_ns = 1'000'000;
  std::vector<std::string> faults = {};  // as for --inject-faults
};

// Counts calls by phase, and remembers in which memory space shadows were asked for.
class CountingBackend final : public BackendWrapper {
 public:
  CountingBackend(Backend& inner, const PhaseSwitch& phase) : BackendWrapper(inner), phase_(phase) {}

  Result<Address> Reserve(uint64_t size, uint64_t alignment) override {
    Count(CallKind::kReserve);
    return inner_.Reserve(size, alignment);
  }
  Status AddressFree(Address base, uint64_t size) override {
    Count(CallKind::kAddressFree);
    return inner_.AddressFree(base, size);
  }
  Status Map(Address at, uint64_t size, Handle handle) override {
    Count(CallKind::kMap);
    return inner_.Map(at, size, handle);
  }
  Status Unmap(Address at, uint64_t size) override {
    Count(CallKind::kUnmap);
    return inner_.Unmap(at, size);
  }
  Status SetAccess(Address at, uint64_t size, uint32_t device) override {
    Count(CallKind::kSetAccess);
    access_bytes += size;
    return inner_.SetAccess(at, size, device);
  }
  Result<Address> ShadowAlloc(uint64_t size, int device, int32_t space) override {
    Count(CallKind::kShadowAlloc);
    shadow_spaces.push_back(space);
    return inner_.ShadowAlloc(size, device, space);
  }
  Status ShadowFree(Address at, uint64_t size) override {
    Count(CallKind::kShadowFree);
    return inner_.ShadowFree(at, size);
  }
  Status Copy(Address to, Address from, uint64_t size) override {
    Count(CallKind::kCopy);
    return inner_.Copy(to, from, size);
  }
  Status Record(EventId event) override {
    Count(CallKind::kRecord);
    return inner_.Record(event);
  }
  Status Wait(EventId event) override {
    Count(CallKind::kWait);
    return inner_.Wait(event);
  }
  Result<CommandBufferId> Capture(std::span<const BakedSlot> slots, uint32_t commands) override {
    Count(CallKind::kCapture);
    return inner_.Capture(slots, commands);
  }
  Status Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t commands) override {
    Count(CallKind::kUpdate);
    return inner_.Update(command_buffer, changed, commands);
  }
  Status Launch(const LaunchSpec& launch) override {
    Count(CallKind::kLaunch);
    return inner_.Launch(launch);
  }

  // What came in since the last call of this.
  CallCounts Take(Phase phase = Phase::kSteps) {
    CallCounts taken;
    for (size_t kind = 0; kind < kCallKindCount; ++kind) {
      uint64_t& count = counts_[static_cast<size_t>(phase)][kind];
      if (count > 0) {
        taken[std::string(kCallKindNames[kind])] = std::exchange(count, 0);
      }
    }
    return taken;
  }

  std::vector<CallKind> order;
  std::vector<int32_t> shadow_spaces;
  uint64_t access_bytes = 0;

 private:
  void Count(CallKind kind) {
    ++counts_[static_cast<size_t>(phase_.phase)][static_cast<size_t>(kind)];
    order.push_back(kind);
  }

  const PhaseSwitch& phase_;
  std::array<std::array<uint64_t, kCallKindCount>, kPhaseCount> counts_{};
};

class EngineRig {
 public:
  using Bindings = std::vector<std::pair<uint32_t, std::optional<BackingId>>>;

  EngineRig(std::string_view strategy, ProgramSpec program, RigOptions options = {})
      : options_(std::move(options)), program_(program) {
    BackendOptions backend;
    backend.devices = std::max(options_.devices, program.devices);
    backend.granularity = kGranularity;
    backend.touch = Touch::kFull;
    backend.run_ahead = options_.run_ahead;
    backend.host_step_ns = options_.host_step_ns;
    backend.driver_profile = options_.driver;
    backend.cost_profile = options_.costs;
    sim_ = MakeBackend("sim", backend).value();
    std::vector<FaultSpec> faults;
    for (const std::string& fault : options_.faults) {
      faults.push_back(ParseFaultSpec(fault).value());
    }
    faults_ = std::make_unique<InjectFaults>(*sim_, faults, &phase_);
    calls_ = std::make_unique<CountingBackend>(*faults_, phase_);
    verify_ = std::make_unique<Verify>(*calls_, Touch::kFull);
    backend.touch = Touch::kNone;
    StrategyContext context{
        .program = program, .capabilities = sim_->capabilities(), .driver = options_.driver, .stage = [backend] {
          return MakeBackend("sim", backend);
        }};
    Result<Strategy> made = MakeStrategy(strategy, context);
    BOOST_REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().message()));
    session_ = std::make_unique<RemapSession>(*verify_, std::move(program), std::move(*made), &phase_);
  }

  // Fresh memory for the slot as the table now says, at an address of its own unless `trace_address` is given.
  BackingId NewBacking(uint32_t slot, Address trace_address = kNullAddress) {
    const SlotSpec& spec = session_->upcoming_program().slots.at(slot);
    return NewBackingOf(spec.mapped_size, spec.space, trace_address);
  }
  BackingId NewBackingOf(uint64_t bytes, int32_t space = 0, Address trace_address = kNullAddress) {
    const BackingId id = backings_.size();
    const Memory memory = verify_->Create(bytes, 0, space, 0x9e3779b97f4a7c15ull * (id + 1)).value();
    backings_.push_back(
        {id, trace_address != kNullAddress ? trace_address : 0x7f0000000000 + id * 0x100000000, memory});
    released_.push_back(false);
    return id;
  }
  // One fresh backing for every slot.
  Bindings BindAll() {
    Bindings bindings;
    for (uint32_t slot = 0; slot < session_->upcoming_program().slots.size(); ++slot) {
      bindings.emplace_back(slot, NewBacking(slot));
    }
    return bindings;
  }
  // New memory for these slots.
  Bindings Move(const std::vector<uint32_t>& slots) {
    Bindings bindings;
    for (const uint32_t slot : slots) {
      bindings.emplace_back(slot, NewBacking(slot));
    }
    return bindings;
  }

  Status TryStep(const Bindings& bindings, const std::vector<uint32_t>& unproven = {}) {
    std::vector<SlotChange> changes;
    for (const auto& [slot, backing] : bindings) {
      changes.push_back({slot, backing ? backings_.at(*backing) : Binding()});
    }
    return session_->Step({.step = ++step_, .gpu_ns = options_.gpu_ns, .changes = changes, .unproven = unproven});
  }
  // A step that must succeed; returns its calls.
  CallCounts Step(const Bindings& bindings, const std::vector<uint32_t>& unproven = {}) {
    BOOST_TEST_REQUIRE(Succeeded(TryStep(bindings, unproven)));
    return calls_->Take();
  }

  // The memory goes back to the driver, once the device can no longer be using it.
  void Free(BackingId backing) {
    session_->BackingFreed(backing);
    BOOST_TEST(Succeeded(verify_->Synchronize()));
    BOOST_TEST(Succeeded(verify_->Release(backings_.at(backing).memory)));
    released_.at(backing) = true;
  }

  CallCounts Teardown() {
    BOOST_TEST(Succeeded(session_->Teardown()));
    return calls_->Take(Phase::kTeardown);
  }

  // Teardown, and then: every launch read what it should have, and nothing is left.
  void Finish() {
    BOOST_TEST(Succeeded(verify_->Finish()));
    Teardown();
    BOOST_TEST(verify_->mismatch_count() == 0u);
    for (const Mismatch& mismatch : verify_->mismatches()) {
      BOOST_TEST_MESSAGE("step " << mismatch.step << " slot " << mismatch.slot << " " << Name(mismatch.what));
    }
    ReleaseAll();
    BOOST_TEST(sim_->outstanding().empty());
  }
  void ReleaseAll() {
    for (size_t i = 0; i < backings_.size(); ++i) {
      if (!released_[i]) {
        released_[i] = true;
        BOOST_TEST(Succeeded(verify_->Release(backings_[i].memory)));
      }
    }
  }

  RemapSession& session() { return *session_; }
  CountingBackend& calls() { return *calls_; }
  Verify& verify() { return *verify_; }
  InjectFaults& faults() { return *faults_; }
  Backend& sim() { return *sim_; }
  const Binding& binding(BackingId id) const { return backings_.at(id); }
  const SessionCounters& counters() const { return session_->counters(); }
  const SessionMemory& memory() const { return session_->memory(); }

 private:
  RigOptions options_;
  ProgramSpec program_;
  PhaseSwitch phase_;
  std::unique_ptr<Backend> sim_;
  std::unique_ptr<InjectFaults> faults_;
  std::unique_ptr<CountingBackend> calls_;
  std::unique_ptr<Verify> verify_;
  std::unique_ptr<RemapSession> session_;
  std::vector<Binding> backings_;
  std::vector<bool> released_;
  uint64_t step_ = 0;
};

}  // namespace remaplab

#include "tests/contract/contract_backends.h"

#include <array>

#include "backends/hip/hip_backend.h"

namespace remaplab::contract {
namespace {

// Each new backend is one line. The hip backend also runs on drivers made for tests (tests/real/fake_driver), so that
// its source is held to the contract where there is no GPU.
constexpr std::array kCandidates = {
    BackendCase{"sim, cuda", "sim", "cuda"},
    BackendCase{"host", "host", ""},
    BackendCase{"hip", "hip", "", /*survives_faults=*/false, /*maps_parts=*/false, /*percent_of_gpu_ns=*/20},
#if defined(REMAPLAB_FAKE_amd)
    BackendCase{"hip, amd on a fake driver", "", "", /*survives_faults=*/false, /*maps_parts=*/false,
                /*percent_of_gpu_ns=*/20,
                [](const BackendOptions& options) { return hip_amd::MakeBackend(options, REMAPLAB_FAKE_amd); }},
#endif
#if defined(REMAPLAB_FAKE_nvidia)
    BackendCase{"hip, nvidia on a fake driver", "", "", /*survives_faults=*/false, /*maps_parts=*/false,
                /*percent_of_gpu_ns=*/20,
                [](const BackendOptions& options) { return hip_nvidia::MakeBackend(options, REMAPLAB_FAKE_nvidia); }},
#endif
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const BackendCase& backend) { return out << backend.name; }

const std::vector<BackendCase>& BackendCases() {
  static const std::vector<BackendCase> cases = [] {
    std::vector<BackendCase> usable;
    for (const BackendCase& candidate : kCandidates) {
      std::optional<std::string> reason = "not built";
      if (candidate.make != nullptr) {
        reason.reset();
      }
      for (const BackendEntry& entry : Backends()) {
        if (entry.name == candidate.backend) {
          reason = entry.unavailable();
        }
      }
      if (reason) {
        BOOST_TEST_MESSAGE("skipping the contract of " << candidate.name << ": " << *reason);
      } else {
        usable.push_back(candidate);
      }
    }
    return usable;
  }();
  return cases;
}

Rig::Rig(const BackendCase& backend, Wishes wishes) : devices_(wishes.devices) {
  BackendOptions options;
  options.cost_profile = "zero";
  options.touch = wishes.touch;
  options.devices = wishes.devices;
  options.run_ahead = wishes.run_ahead;
  if (!backend.driver_profile.empty()) {
    options.driver_profile = backend.driver_profile;
  }
  backend_ = Must(backend.make != nullptr ? backend.make(options) : MakeBackend(backend.backend, options));
  chunk_ = backend_->capabilities().recommended_granularity;
}

Range::Range(Rig& rig, size_t count, size_t mapped) : chunk(rig.chunk()), size(count * rig.chunk()) {
  base = Must(rig->Reserve(size, 0));
  for (size_t i = 0; i < mapped; ++i) {
    memory.push_back(Must(rig->Create(chunk, 0, 0, kFirstTag + i)));
    Must(rig->Map(At(i), chunk, memory[i].handle));
  }
  if (mapped != 0) {
    for (uint32_t device = 0; device < rig.devices(); ++device) {
      Must(rig->SetAccess(base, mapped * chunk, device));
    }
  }
}

std::vector<BakedSlot> Range::Slots(Access access) const {
  std::vector<BakedSlot> slots;
  for (uint32_t i = 0; i < memory.size(); ++i) {
    slots.push_back(Slot(i, access));
  }
  return slots;
}

std::vector<Binding> Range::Bindings() const {
  std::vector<Binding> bindings;
  for (size_t i = 0; i < memory.size(); ++i) {
    bindings.push_back({.backing = i, .memory = memory[i]});
  }
  return bindings;
}

void Range::GiveBack(Rig& rig) {
  for (size_t i = 0; i < memory.size(); ++i) {
    Must(rig->Unmap(At(i), chunk));
    Must(rig->Release(memory[i]));
  }
  Must(rig->AddressFree(base, size));
}

void GrantAccess(Rig& rig, Address base, uint64_t mapped_size, Address at, uint64_t size) {
  const bool any = rig->capabilities().partial_access == Capabilities::PartialAccess::kAny;
  for (uint32_t device = 0; device < rig.devices(); ++device) {
    Must(rig->SetAccess(any ? at : base, any ? size : mapped_size, device));
  }
}

std::vector<LaunchTag> Tags(Rig& rig, uint32_t back) {
  std::vector<LaunchTag> tags;
  Must(rig->ReadTags(back, tags));
  return tags;
}

uint64_t LaunchAndRead(Rig& rig, CommandBufferId command_buffer) {
  Must(rig->Launch({.command_buffer = command_buffer}));
  const std::vector<LaunchTag> tags = Tags(rig);
  BOOST_REQUIRE(!tags.empty());
  BOOST_TEST(tags[0].reachable);
  return tags[0].value;
}

}  // namespace remaplab::contract

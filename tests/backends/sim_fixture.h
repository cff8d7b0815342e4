// A sim backend with costs that are easy to add up, and shorthands for the calls that tests make.
#pragma once

#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/registry.h"
#include "backends/sim/sim_backend.h"

namespace remaplab {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kChunk = 2 * kMiB;

// For results that the test takes for granted.
template <typename T>
T Must(Result<T> result) {
  BOOST_REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().message()));
  return std::move(*result);
}
inline void Must(const Status& status) {
  BOOST_REQUIRE_MESSAGE(status.has_value(), (status ? "" : status.error().message()));
}

inline ErrorCode CodeOf(const Status& status) { return status ? ErrorCode::kInternal : status.error().code(); }

struct SimOptions : BackendOptions {
  SimOptions() { cost_profile = "zero"; }
  SimOptions& Cost(std::string term) {
    what_if.push_back(std::move(term));
    return *this;
  }
};

inline std::unique_ptr<Backend> MakeSim(const BackendOptions& options) { return Must(MakeSimBackend(options)); }

// A range of `count` chunks, each mapped with memory of its own and accessible to all devices.
struct MappedRange {
  MappedRange(Backend& backend, size_t count, uint64_t chunk = kChunk) {
    base = Must(backend.Reserve(count * chunk, 0));
    size = count * chunk;
    for (size_t i = 0; i < count; ++i) {
      memory.push_back(Must(backend.Create(chunk, 0, 0, 1000 + i)));
      Must(backend.Map(base + i * chunk, chunk, memory[i].handle));
    }
    for (uint32_t device = 0; device < backend.capabilities().max_devices; ++device) {
      Must(backend.SetAccess(base, size, device));
    }
  }
  std::vector<BakedSlot> Baked(Access access = Access::kBoth) const {
    std::vector<BakedSlot> slots;
    for (uint32_t i = 0; i < memory.size(); ++i) {
      slots.push_back({.slot = i, .address = base + i * kChunk, .size = kChunk, .access = access});
    }
    return slots;
  }
  std::vector<Binding> Bindings() const {
    std::vector<Binding> bindings;
    for (size_t i = 0; i < memory.size(); ++i) {
      bindings.push_back({.backing = i, .memory = memory[i]});
    }
    return bindings;
  }

  Address base = kNullAddress;
  uint64_t size = 0;
  std::vector<Memory> memory;
};

inline int64_t LastStepEnd(Backend& backend) {
  std::vector<StepEnd> ends;
  Must(backend.TakeStepEnds(ends));
  BOOST_REQUIRE(!ends.empty());
  return ends.back().end_ns;
}

}  // namespace remaplab

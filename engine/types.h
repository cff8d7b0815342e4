// Value types of the remap problem: addresses, handles, slots, bindings. Words as in remap-semantics.md section 1.
// Backends know this header and no other part of the engine.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/vocabulary.h"

namespace remaplab {

using Address = uint64_t;  // a device virtual address
inline constexpr Address kNullAddress = 0;

// Names a piece of physical memory in one backend; 0 is none. Never compare with a pointer, never print as one.
using Handle = uint64_t;
inline constexpr Handle kNoHandle = 0;

using EventId = uint32_t;
using CommandBufferId = uint32_t;
inline constexpr CommandBufferId kNoCommandBuffer = 0;  // launch the step's thunks without a command buffer

// Identity of a backing in the trace (definitions.md section 4): never re-used, unlike its address.
using BackingId = uint64_t;
inline constexpr BackingId kNoBacking = std::numeric_limits<BackingId>::max();

// Physical memory that a backend made for one backing. It is reachable at `address` (the allocator's own mapping, where
// the framework would use it) besides wherever the engine maps `handle`.
struct Memory {
  Handle handle = kNoHandle;
  Address address = kNullAddress;
  uint64_t size = 0;  // as created: a multiple of the granularity
};

// What a slot means on one step. `trace_address` is what the recording says, the only thing that
// skip_remap(identity=address) looks at; 0 when the recording does not know it.
struct Binding {
  BackingId backing = kNoBacking;
  Address trace_address = kNullAddress;
  Memory memory;

  bool empty() const { return backing == kNoBacking; }
};

// One buffer allocation of a program, in ascending `index`. Its position in ProgramSpec::slots is what the engine calls
// the slot; `index` is XLA's allocation number and only for people.
struct SlotSpec {
  uint32_t index = 0;
  uint64_t recorded_size = 0;  // bytes as recorded: what a threshold compares with
  uint64_t size = 0;           // bytes after --scale-sizes: what is copied
  uint64_t mapped_size = 0;    // `size` rounded up to the granularity: what is mapped
  int32_t space = 0;           // memory space (XLA: color)
  SlotKind kind = SlotKind::kUnknown;
  Access access = Access::kUnknown;

  friend bool operator==(const SlotSpec&, const SlotSpec&) = default;
};

// One executable on one device, as the engine sees it.
struct ProgramSpec {
  std::string module;
  int device = 0;        // ordinal that owns the memory
  uint32_t devices = 1;  // how many get access to a mapping: the owner and its peers
  uint64_t granularity = 0;
  uint32_t commands = 0;  // of the command buffer; 0 when the recording does not say
  std::vector<SlotSpec> slots;
};

constexpr uint64_t RoundUp(uint64_t value, uint64_t multiple) {
  return multiple == 0 ? value : (value + multiple - 1) / multiple * multiple;
}

}  // namespace remaplab

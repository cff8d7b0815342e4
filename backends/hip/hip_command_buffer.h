// A command buffer on a real device: a graph of eight-byte copies with the slots' addresses baked in, built once. First
// one command per slot copies its tag out, then one per written slot copies a new tag in, all in a chain: every read
// comes before any write. What is left of the program's number of commands are copies that touch no slot.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/hip/hip_device.h"
#include "base/result.h"

namespace remaplab::REMAPLAB_HIP_PLATFORM {

// Device memory for tags: one cell of eight bytes per position in a command buffer. One stream runs them all, so they
// share it.
struct TagCells {
  Address out = kNullAddress;  // what was read
  Address in = kNullAddress;   // what to write
  Address pad = kNullAddress;  // two cells for the copies that touch no slot
};

class HipCommandBuffer {
 public:
  // `write`: whether the written slots get new tags. Runs on `stream`, which must outlive it,
  // as must `hip`.
  static Result<std::unique_ptr<HipCommandBuffer>> Build(const Hip& hip, hipStream_t stream,
                                                         std::span<const BakedSlot> slots, uint32_t commands,
                                                         const TagCells& cells, bool write);
  ~HipCommandBuffer();
  HipCommandBuffer(const HipCommandBuffer&) = delete;
  HipCommandBuffer& operator=(const HipCommandBuffer&) = delete;

  // Changes the addresses of `changed`, all of which must be in it, in the executable graph. CUDA may refuse that for
  // an address whose mapping is gone since the graph was built; then the graph is built again.
  Status Update(std::span<const BakedSlot> changed);
  Status Launch();

  const std::vector<BakedSlot>& slots() const { return slots_; }
  bool Has(uint32_t slot) const { return slot < position_of_slot_.size() && position_of_slot_[slot] != kNowhere; }
  uint64_t nodes() const { return nodes_; }
  uint64_t rebuilds() const { return rebuilds_; }

 private:
  static constexpr uint32_t kNowhere = ~0u;
  struct Nodes {
    hipGraphNode_t read{};
    hipGraphNode_t write{};
    bool writes = false;
  };

  HipCommandBuffer(const Hip& hip, hipStream_t stream, std::span<const BakedSlot> slots, uint32_t commands,
                   const TagCells& cells, bool write);
  Status BuildGraph();
  void DestroyGraph();
  Status AddCopy(Address to, Address from, hipGraphNode_t& node);
  bool SetAddress(uint32_t position);

  const Hip& hip_;
  hipStream_t stream_;
  std::vector<BakedSlot> slots_;
  std::vector<uint32_t> position_of_slot_;
  uint32_t commands_;
  TagCells cells_;
  bool write_;
  hipGraph_t graph_{};
  hipGraphExec_t exec_{};
  hipGraphNode_t last_{};
  uint64_t nodes_ = 0;
  std::vector<Nodes> nodes_of_position_;
  uint64_t rebuilds_ = 0;
};

}  // namespace remaplab::REMAPLAB_HIP_PLATFORM

#include "backends/hip/hip_command_buffer.h"

#include <algorithm>

#include "backends/real/tag.h"

namespace remaplab::REMAPLAB_HIP_PLATFORM {

HipCommandBuffer::HipCommandBuffer(const Hip& hip, hipStream_t stream, std::span<const BakedSlot> slots,
                                   uint32_t commands, const TagCells& cells, bool write)
    : hip_(hip),
      stream_(stream),
      slots_(slots.begin(), slots.end()),
      commands_(commands),
      cells_(cells),
      write_(write) {
  for (uint32_t position = 0; position < slots_.size(); ++position) {
    const uint32_t slot = slots_[position].slot;
    if (slot >= position_of_slot_.size()) position_of_slot_.resize(slot + 1, kNowhere);
    position_of_slot_[slot] = position;
  }
}

HipCommandBuffer::~HipCommandBuffer() { DestroyGraph(); }

void HipCommandBuffer::DestroyGraph() {
  if (exec_ != hipGraphExec_t{}) Forget(hip_.hipGraphExecDestroy(exec_));
  if (graph_ != hipGraph_t{}) Forget(hip_.hipGraphDestroy(graph_));
  exec_ = {};
  graph_ = {};
}

Result<std::unique_ptr<HipCommandBuffer>> HipCommandBuffer::Build(const Hip& hip, hipStream_t stream,
                                                                  std::span<const BakedSlot> slots, uint32_t commands,
                                                                  const TagCells& cells, bool write) {
  std::unique_ptr<HipCommandBuffer> buffer(new HipCommandBuffer(hip, stream, slots, commands, cells, write));
  REMAPLAB_TRY(buffer->BuildGraph());
  return buffer;
}

Status HipCommandBuffer::AddCopy(Address to, Address from, hipGraphNode_t& node) {
  REMAPLAB_TRY(Checked(hip_,
                       hip_.hipGraphAddMemcpyNode1D(&node, graph_, nodes_ == 0 ? nullptr : &last_, nodes_ == 0 ? 0 : 1,
                                                    Pointer(to), Pointer(from), kTagBytes, hipMemcpyDeviceToDevice),
                       "capture", from, kTagBytes, "hipGraphAddMemcpyNode1D"));
  last_ = node;
  ++nodes_;
  return {};
}

Status HipCommandBuffer::BuildGraph() {
  nodes_ = 0;
  nodes_of_position_.assign(slots_.size(), {});
  REMAPLAB_TRY(Checked(hip_, hip_.hipGraphCreate(&graph_, 0), "capture", 0, slots_.size(), "hipGraphCreate"));
  for (size_t i = 0; i < slots_.size(); ++i) {
    REMAPLAB_TRY(AddCopy(cells_.out + i * kTagBytes, slots_[i].address, nodes_of_position_[i].read));
  }
  for (size_t i = 0; i < slots_.size() && write_; ++i) {
    if (slots_[i].access == Access::kRead) continue;
    REMAPLAB_TRY(AddCopy(slots_[i].address, cells_.in + i * kTagBytes, nodes_of_position_[i].write));
    nodes_of_position_[i].writes = true;
  }
  while (nodes_ < commands_) {
    hipGraphNode_t node{};
    REMAPLAB_TRY(AddCopy(cells_.pad + kTagBytes, cells_.pad, node));
  }
  return Checked(hip_, hip_.hipGraphInstantiateWithFlags(&exec_, graph_, 0), "capture", 0, slots_.size(),
                 "hipGraphInstantiateWithFlags");
}

bool HipCommandBuffer::SetAddress(uint32_t position) {
  const Nodes& nodes = nodes_of_position_[position];
  void* const address = Pointer(slots_[position].address);
  void* const out = Pointer(cells_.out + position * kTagBytes);
  void* const in = Pointer(cells_.in + position * kTagBytes);
  if (hip_.hipGraphExecMemcpyNodeSetParams1D(exec_, nodes.read, out, address, kTagBytes, hipMemcpyDeviceToDevice) !=
      hipSuccess) {
    return false;
  }
  return !nodes.writes || hip_.hipGraphExecMemcpyNodeSetParams1D(exec_, nodes.write, address, in, kTagBytes,
                                                                 hipMemcpyDeviceToDevice) == hipSuccess;
}

Status HipCommandBuffer::Update(std::span<const BakedSlot> changed) {
  bool in_place = true;
  for (const BakedSlot& slot : changed) {
    const uint32_t position = position_of_slot_[slot.slot];
    in_place = in_place && slot.access == slots_[position].access;
    slots_[position] = slot;
    in_place = in_place && SetAddress(position);
  }
  if (in_place) return {};
  ++rebuilds_;
  REMAPLAB_TRY(Checked(hip_, hip_.hipStreamSynchronize(stream_), "update", 0, changed.size(), "hipStreamSynchronize"));
  DestroyGraph();
  return BuildGraph();
}

Status HipCommandBuffer::Launch() {
  if (exec_ == hipGraphExec_t{}) return Fail(ErrorCode::kDriver, "launch: an update lost the command buffer");
  return Checked(hip_, hip_.hipGraphLaunch(exec_, stream_), "launch", 0, slots_.size(), "hipGraphLaunch");
}

}  // namespace remaplab::REMAPLAB_HIP_PLATFORM

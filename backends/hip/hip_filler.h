// GPU time of a chosen length: copies from one large buffer to another, as many as take about that long
// on this device.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/hip/hip_device.h"
#include "base/result.h"

namespace remaplab::REMAPLAB_HIP_PLATFORM {

class HipFiller {
 public:
  // Takes the buffers and measures the device, which must be idle. `stream` and `hip` must outlive the filler.
  static Result<std::unique_ptr<HipFiller>> Make(const Hip& hip, hipStream_t stream);
  ~HipFiller();
  HipFiller(const HipFiller&) = delete;
  HipFiller& operator=(const HipFiller&) = delete;

  // Enqueues work of `ns` less what `nodes` small copies in a graph take.
  Status Enqueue(int64_t ns, uint64_t nodes);

 private:
  HipFiller(const Hip& hip, hipStream_t stream) : hip_(hip), stream_(stream) {}

  Status Calibrate();
  // Makes an executable graph of `count` copies in a chain.
  Status BuildChain(uint32_t count, uint64_t bytes, hipGraph_t& graph, hipGraphExec_t& exec);
  // The GPU time of a launch of `exec`.
  Result<int64_t> Measure(hipGraphExec_t exec);
  Status Copy(uint64_t bytes);

  const Hip& hip_;
  hipStream_t stream_;
  uint64_t bytes_ = 0;  // of each buffer
  void* from_ = nullptr;
  void* to_ = nullptr;
  hipGraph_t graph_{};  // kChain copies of a whole buffer
  hipGraphExec_t chain_{};
  int64_t copy_ns_ = 1;  // a whole buffer
  int64_t node_ns_ = 0;  // a few bytes in a graph
};

}  // namespace remaplab::REMAPLAB_HIP_PLATFORM

#include "backends/hip/hip_filler.h"

#include <algorithm>
#include <array>
#include <vector>

namespace remaplab::REMAPLAB_HIP_PLATFORM {
namespace {

constexpr uint32_t kChain = 32;
constexpr uint64_t kLargestBuffer = uint64_t{512} << 20;
constexpr uint64_t kSmallestCopy = uint64_t{1} << 20;  // what is left of a step below this is not worth a copy

}  // namespace

Result<std::unique_ptr<HipFiller>> HipFiller::Make(const Hip& hip, hipStream_t stream) {
  std::unique_ptr<HipFiller> filler(new HipFiller(hip, stream));
  REMAPLAB_TRY(filler->Calibrate());
  return filler;
}

HipFiller::~HipFiller() {
  if (chain_ != hipGraphExec_t{}) Forget(hip_.hipGraphExecDestroy(chain_));
  if (graph_ != hipGraph_t{}) Forget(hip_.hipGraphDestroy(graph_));
  if (from_ != nullptr) Forget(hip_.hipFree(from_));
  if (to_ != nullptr) Forget(hip_.hipFree(to_));
}

Status HipFiller::BuildChain(uint32_t count, uint64_t bytes, hipGraph_t& graph, hipGraphExec_t& exec) {
  REMAPLAB_TRY(Checked(hip_, hip_.hipGraphCreate(&graph, 0), "filler", 0, bytes, "hipGraphCreate"));
  hipGraphNode_t previous{};
  for (uint32_t i = 0; i < count; ++i) {
    hipGraphNode_t node{};
    REMAPLAB_TRY(Checked(hip_,
                         hip_.hipGraphAddMemcpyNode1D(&node, graph, i == 0 ? nullptr : &previous, i == 0 ? 0 : 1, to_,
                                                      from_, bytes, hipMemcpyDeviceToDevice),
                         "filler", 0, bytes, "hipGraphAddMemcpyNode1D"));
    previous = node;
  }
  return Checked(hip_, hip_.hipGraphInstantiateWithFlags(&exec, graph, 0), "launch", 0, bytes,
                 "hipGraphInstantiateWithFlags");
}

Result<int64_t> HipFiller::Measure(hipGraphExec_t exec) {
  constexpr int kRuns = 5;
  std::array<hipEvent_t, 2> events{};
  for (hipEvent_t& event : events) {
    REMAPLAB_TRY(Checked(hip_, hip_.hipEventCreateWithFlags(&event, hipEventDefault), "filler", 0, 0,
                         "hipEventCreateWithFlags"));
  }
  std::vector<float> times;
  hipError_t error = hip_.hipGraphLaunch(exec, stream_);  // the first launch also uploads the graph
  for (int i = 0; i < kRuns && error == hipSuccess; ++i) {
    float ms = 0;
    error = hip_.hipEventRecord(events[0], stream_);
    if (error == hipSuccess) error = hip_.hipGraphLaunch(exec, stream_);
    if (error == hipSuccess) error = hip_.hipEventRecord(events[1], stream_);
    if (error == hipSuccess) error = hip_.hipEventSynchronize(events[1]);
    if (error == hipSuccess) error = hip_.hipEventElapsedTime(&ms, events[0], events[1]);
    times.push_back(ms);
  }
  for (const hipEvent_t event : events) Forget(hip_.hipEventDestroy(event));
  REMAPLAB_TRY(Checked(hip_, error, "filler", 0, 0, "measuring the device's copies"));
  std::sort(times.begin(), times.end());
  return static_cast<int64_t>(static_cast<double>(times[times.size() / 2]) * 1e6);
}

Status HipFiller::Calibrate() {
  size_t free = 0;
  size_t total = 0;
  REMAPLAB_TRY(Checked(hip_, hip_.hipMemGetInfo(&free, &total), "filler", 0, 0, "hipMemGetInfo"));
  bytes_ = std::clamp<uint64_t>(free / 32 / kSmallestCopy * kSmallestCopy, kSmallestCopy, kLargestBuffer);
  REMAPLAB_TRY(Checked(hip_, hip_.hipMalloc(&from_, bytes_), "filler", 0, bytes_, "hipMalloc"));
  REMAPLAB_TRY(Checked(hip_, hip_.hipMalloc(&to_, bytes_), "filler", 0, bytes_, "hipMalloc"));

  hipGraph_t small{};
  hipGraphExec_t small_chain{};
  Status built = BuildChain(kChain, sizeof(uint64_t), small, small_chain);
  Result<int64_t> node = built ? Measure(small_chain) : Fail(built.error());
  if (small_chain != hipGraphExec_t{}) Forget(hip_.hipGraphExecDestroy(small_chain));
  if (small != hipGraph_t{}) Forget(hip_.hipGraphDestroy(small));
  if (!node) return Fail(std::move(node).error());
  node_ns_ = *node / kChain;

  REMAPLAB_TRY(BuildChain(kChain, bytes_, graph_, chain_));
  REMAPLAB_ASSIGN(const int64_t copies, Measure(chain_));
  copy_ns_ = std::max<int64_t>(copies / kChain, 1);
  return {};
}

Status HipFiller::Copy(uint64_t bytes) {
  return Checked(hip_, hip_.hipMemcpyAsync(to_, from_, bytes, hipMemcpyDeviceToDevice, stream_), "launch", 0, bytes,
                 "hipMemcpyAsync");
}

Status HipFiller::Enqueue(int64_t ns, uint64_t nodes) {
  if (ns <= 0) return {};
  int64_t left = ns - node_ns_ * static_cast<int64_t>(nodes);
  for (; left >= copy_ns_ * kChain; left -= copy_ns_ * kChain) {
    REMAPLAB_TRY(Checked(hip_, hip_.hipGraphLaunch(chain_, stream_), "filler", 0, bytes_, "hipGraphLaunch"));
  }
  for (; left >= copy_ns_; left -= copy_ns_) REMAPLAB_TRY(Copy(bytes_));
  if (left <= 0) return {};
  const uint64_t rest =
      static_cast<uint64_t>(static_cast<double>(bytes_) * static_cast<double>(left) / static_cast<double>(copy_ns_)) /
      kSmallestCopy * kSmallestCopy;
  return rest == 0 ? Status() : Copy(rest);
}

}  // namespace remaplab::REMAPLAB_HIP_PLATFORM

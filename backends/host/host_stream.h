// The host backend's device: one thread that does what is enqueued, in order. What it touches may have been unmapped
// meanwhile; it notices, as a GPU would, and does not crash.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "backends/backend.h"
#include "base/result.h"
#include "engine/types.h"

namespace remaplab {

// What a launch touches, and after it ran what it found. Written by the stream's thread until the launch is done.
struct HostLaunch {
  std::shared_ptr<const std::vector<BakedSlot>> slots;
  size_t first = 0;   // touches slots first, first + stride, ...
  size_t stride = 0;  // 0: none
  int64_t gpu_ns = 0;
  std::vector<LaunchTag> tags;
};

class HostStream {
 public:
  // Position in the stream: everything up to it is done, or not. 0 is always done.
  using Ticket = uint64_t;

  HostStream();
  ~HostStream();

  Ticket Copy(Address to, Address from, uint64_t size);
  // `launch` must live until the ticket is done.
  Ticket Launch(HostLaunch& launch);
  // Notes when everything before it was done. `count`: report it in TakeStepEnds.
  Ticket EndStep(uint64_t step, bool count);
  Ticket last() const { return enqueued_; }

  void WaitFor(Ticket ticket);
  bool IsDone(Ticket ticket);
  // Lets the work that is enqueued run to its end, from now on without idle times. Nothing can be enqueued afterwards.
  void Drain();
  void TakeStepEnds(std::vector<StepEnd>& ends);
  // The first thing that went wrong on the stream since the last call, or empty.
  std::string TakeFault();

 private:
  struct CopyWork {
    Address to;
    Address from;
    uint64_t size;
  };
  struct StepEndWork {
    uint64_t step;
    bool count;
  };
  using Work = std::variant<CopyWork, HostLaunch*, StepEndWork>;

  Ticket Enqueue(Work work);
  void Run();
  void Do(const CopyWork& copy);
  void Do(HostLaunch* launch);
  void Do(const StepEndWork& end);

  std::mutex mutex_;
  std::condition_variable work_;  // something was enqueued, or stop
  std::condition_variable done_;  // something was done
  std::deque<Work> queue_;
  Ticket enqueued_ = 0;  // only the caller's thread changes it
  Ticket finished_ = 0;
  bool stop_ = false;
  std::vector<StepEnd> ends_;
  std::string fault_;
  std::thread thread_;
};

// Whether this process may read and write its own memory the way the stream does; some sandboxes forbid it.
Status CheckSelfAccess();

}  // namespace remaplab

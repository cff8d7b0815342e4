#include "backends/host/host_stream.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include "backends/real/monotonic_clock.h"
#include "backends/real/tag.h"

namespace remaplab {
namespace {

constexpr size_t kBatch = 512;  // addresses a system call; below IOV_MAX

void* Pointer(Address at) { return reinterpret_cast<void*>(at); }

// The kernel copies, because it answers EFAULT where a load or store would end the process.
ssize_t ReadSelf(std::span<const iovec> from, void* to, size_t size) {
  const iovec local{to, size};
  return process_vm_readv(getpid(), &local, 1, from.data(), from.size(), 0);
}

ssize_t WriteSelf(std::span<const iovec> to, void* from, size_t size) {
  const iovec local{from, size};
  return process_vm_writev(getpid(), &local, 1, to.data(), to.size(), 0);
}

// Moves one tag per address between `values` and memory, as many addresses in a system call as go; calls
// `unreachable(i)` for those that cannot be touched.
template <typename Transfer, typename Unreachable>
void TransferTags(std::span<const Address> addresses, std::span<uint64_t> values, Transfer transfer,
                  Unreachable unreachable) {
  std::array<iovec, kBatch> remote;
  for (size_t done = 0; done < addresses.size();) {
    const size_t count = std::min(kBatch, addresses.size() - done);
    for (size_t i = 0; i < count; ++i) remote[i] = {Pointer(addresses[done + i]), kTagBytes};
    const ssize_t bytes = transfer(std::span<const iovec>(remote.data(), count), &values[done], count * kTagBytes);
    const size_t moved = bytes < 0 ? 0 : static_cast<size_t>(bytes) / kTagBytes;
    done += moved;
    if (moved < count) unreachable(done++);
  }
}

}  // namespace

Status CheckSelfAccess() {
  uint64_t from = 1;
  uint64_t to = 0;
  const iovec remote{&from, sizeof(from)};
  if (ReadSelf(std::span(&remote, 1), &to, sizeof(to)) == static_cast<ssize_t>(sizeof(to)) && to == from) return {};
  return Fail(ErrorCode::kUnsupported,
              fmt::format("host: process_vm_readv on this process itself: {}; the sandbox must allow it",
                          std::strerror(errno)));
}

HostStream::HostStream() : thread_([this] { Run(); }) {}

HostStream::~HostStream() { Drain(); }

void HostStream::Drain() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  thread_.join();
}

HostStream::Ticket HostStream::Enqueue(Work work) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(work);
  }
  work_.notify_one();
  return ++enqueued_;
}

HostStream::Ticket HostStream::Copy(Address to, Address from, uint64_t size) {
  return Enqueue(CopyWork{to, from, size});
}
HostStream::Ticket HostStream::Launch(HostLaunch& launch) { return Enqueue(&launch); }
HostStream::Ticket HostStream::EndStep(uint64_t step, bool count) { return Enqueue(StepEndWork{step, count}); }

void HostStream::WaitFor(Ticket ticket) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return finished_ >= ticket; });
}

bool HostStream::IsDone(Ticket ticket) {
  std::lock_guard lock(mutex_);
  return finished_ >= ticket;
}

void HostStream::TakeStepEnds(std::vector<StepEnd>& ends) {
  std::lock_guard lock(mutex_);
  ends.insert(ends.end(), ends_.begin(), ends_.end());
  ends_.clear();
}

std::string HostStream::TakeFault() {
  std::lock_guard lock(mutex_);
  return std::exchange(fault_, {});
}

void HostStream::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Work work = queue_.front();
    queue_.pop_front();
    lock.unlock();
    std::visit([this](const auto& item) { Do(item); }, work);
    lock.lock();
    ++finished_;
    done_.notify_all();
  }
}

void HostStream::Do(const CopyWork& copy) {
  // The kernel moves at most 2 GiB a call.
  for (uint64_t done = 0; done < copy.size;) {
    const iovec to{Pointer(copy.to + done), copy.size - done};
    const ssize_t moved = WriteSelf(std::span(&to, 1), Pointer(copy.from + done), copy.size - done);
    if (moved <= 0) {
      std::lock_guard lock(mutex_);
      if (fault_.empty()) {
        fault_ = fmt::format("a copy of {} bytes from {:#x} to {:#x} hit memory that is not accessible", copy.size,
                             copy.from, copy.to);
      }
      return;
    }
    done += static_cast<uint64_t>(moved);
  }
}

void HostStream::Do(HostLaunch* launch) {
  if (launch->gpu_ns > 0) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(launch->gpu_ns);
    std::unique_lock lock(mutex_);
    work_.wait_until(lock, deadline, [&] { return stop_; });
  }
  launch->tags.clear();
  if (launch->stride == 0) return;

  const std::vector<BakedSlot>& slots = *launch->slots;
  std::vector<Address> addresses;
  for (size_t i = launch->first; i < slots.size(); i += launch->stride) {
    launch->tags.push_back({slots[i].slot, 0, true});
    addresses.push_back(slots[i].address);
  }
  std::vector<uint64_t> values(addresses.size());
  TransferTags(addresses, values, ReadSelf, [&](size_t i) { launch->tags[i].reachable = false; });

  // All reads before all writes: two slots may be the same memory.
  std::vector<Address> written;
  std::vector<uint64_t> next;
  std::vector<size_t> origin;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!launch->tags[i].reachable) continue;
    launch->tags[i].value = values[i] & TagMask(slots[launch->first + i * launch->stride].size);
    if (slots[launch->first + i * launch->stride].access == Access::kRead) continue;
    written.push_back(addresses[i]);
    next.push_back(NextTag(values[i]));
    origin.push_back(i);
  }
  TransferTags(written, next, WriteSelf, [&](size_t i) { launch->tags[origin[i]].reachable = false; });
}

void HostStream::Do(const StepEndWork& end) {
  const int64_t now = MonotonicNs();
  std::lock_guard lock(mutex_);
  if (end.count) ends_.push_back({end.step, now});
}

}  // namespace remaplab

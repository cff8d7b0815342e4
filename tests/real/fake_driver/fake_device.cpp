#include "tests/real/fake_driver/fake_device.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/host/host_backend.h"
#include "backends/host/host_stream.h"
#include "backends/real/monotonic_clock.h"

namespace fake {
namespace {

using remaplab::Address;
using remaplab::HostStream;

constexpr size_t kGranularity = 65536;

struct Copy {
  Address to;
  Address from;
  size_t size;
};
struct Graph;
struct Node {
  Graph* graph;
  size_t index;
};
struct Graph {
  std::vector<Copy> copies;
  std::vector<std::unique_ptr<Node>> nodes;
};
struct Exec {
  const Graph* graph;
  std::vector<Copy> copies;
};
struct Stream {
  HostStream work;
  std::unordered_map<uint64_t, int64_t> record_times;
};
struct Event {
  Stream* stream = nullptr;
  HostStream::Ticket ticket = 0;
  uint64_t record = 0;
};

struct Driver {
  std::map<std::string, long> knobs = {{"version", 0}, {"devices", 2}, {"memory", long{1} << 30}};
  std::unique_ptr<remaplab::Backend> vmm;
  std::unordered_map<uint64_t, remaplab::Memory> memory;
  uint64_t memory_used = 0;
  std::map<Address, size_t> allocations;
  std::set<void*> host;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<Graph*> graphs;
  std::set<Exec*> execs;
  uint64_t next_record = 1;
  int lost = kSuccess;  // once a copy hit nothing, everything fails

  remaplab::Backend& Vmm() {
    if (vmm == nullptr) vmm = remaplab::MakeHostBackend({.devices = 8}).value();
    return *vmm;
  }
  long Knob(const char* name) { return knobs[name]; }
  int State() { return Knob("dead") != 0 ? kDead : lost; }
};

Driver& driver() {
  static Driver instance;
  return instance;
}

Address At(const void* pointer) { return reinterpret_cast<Address>(pointer); }

template <typename T>
int From(const remaplab::Result<T>& result) {
  if (result) return kSuccess;
  return result.error().code() == remaplab::ErrorCode::kOutOfMemory ? kOutOfMemory : kInvalidValue;
}

void FinishStreams() {
  for (Stream* stream : driver().streams) stream->work.WaitFor(stream->work.last());
}

int AfterWait(Stream& stream) {
  if (!stream.work.TakeFault().empty()) driver().lost = kIllegalAddress;
  std::vector<remaplab::StepEnd> ends;
  stream.work.TakeStepEnds(ends);
  for (const remaplab::StepEnd& end : ends) stream.record_times[end.step] = end.end_ns;
  return driver().State();
}

}  // namespace

const char* ErrorName(int error) {
  switch (error) {
    case kSuccess:
      return "FAKE_SUCCESS";
    case kInvalidValue:
      return "FAKE_INVALID_VALUE";
    case kOutOfMemory:
      return "FAKE_OUT_OF_MEMORY";
    case kIllegalAddress:
      return "FAKE_ILLEGAL_ADDRESS";
    case kDead:
      return "FAKE_DEVICE_LOST";
    default:
      return "FAKE_ERROR";
  }
}

int Version() { return static_cast<int>(driver().Knob("version")); }

int DeviceCount(int* count) {
  *count = static_cast<int>(driver().Knob("devices"));
  return *count == 0 ? kNoDevice : driver().State();
}

int MemGetInfo(size_t* free, size_t* total) {
  *total = static_cast<size_t>(driver().Knob("memory"));
  *free = size_t{32} << 20;  // what the filler takes its size from: small, because here the CPU copies
  return driver().State();
}

int Granularity(size_t* granularity, bool recommended) {
  *granularity = recommended ? 2 * kGranularity : kGranularity;
  return driver().State();
}

int Reserve(void** at, size_t size, size_t alignment) {
  if (const int state = driver().State(); state != kSuccess) return state;
  if (size % kGranularity != 0) return kInvalidValue;
  const auto result = driver().Vmm().Reserve(size, alignment == 0 ? kGranularity : alignment);
  *at = result ? reinterpret_cast<void*>(*result) : nullptr;
  return From(result);
}

int AddressFree(void* at, size_t size) {
  if (const int state = driver().State(); state != kSuccess) return state;
  return From(driver().Vmm().AddressFree(At(at), size));
}

int Create(uint64_t* handle, size_t size, int device) {
  if (const int state = driver().State(); state != kSuccess) return state;
  if (size % kGranularity != 0) return kInvalidValue;
  if (driver().memory_used + size > static_cast<uint64_t>(driver().Knob("memory"))) return kOutOfMemory;
  const auto result = driver().Vmm().Create(size, device, 0, 0);
  if (!result) return From(result);
  driver().memory_used += size;
  driver().memory.emplace(result->handle, *result);
  *handle = result->handle;
  return kSuccess;
}

int Release(uint64_t handle) {
  if (const int state = driver().State(); state != kSuccess) return state;
  const auto it = driver().memory.find(handle);
  if (it == driver().memory.end()) return kInvalidValue;
  const int result = From(driver().Vmm().Release(it->second));
  driver().memory_used -= it->second.size;
  driver().memory.erase(it);
  return result;
}

int Map(void* at, size_t size, size_t offset, uint64_t handle) {
  if (const int state = driver().State(); state != kSuccess) return state;
  if (const long hang = driver().Knob("hang_ns"); hang > 0) {
    remaplab::SleepUntilNs(remaplab::MonotonicNs() + hang);
  }
  if (offset != 0 || size % kGranularity != 0) return kInvalidValue;
  return From(driver().Vmm().Map(At(at), size, handle));
}

int Unmap(void* at, size_t size) {
  if (const int state = driver().State(); state != kSuccess) return state;
  return From(driver().Vmm().Unmap(At(at), size));
}

int SetAccess(void* at, size_t size, int device) {
  if (const int state = driver().State(); state != kSuccess) return state;
  return From(driver().Vmm().SetAccess(At(at), size, static_cast<uint32_t>(device)));
}

int Malloc(void** at, size_t size) {
  if (const int state = driver().State(); state != kSuccess) return state;
  const auto result = driver().Vmm().ShadowAlloc(size, 0, 0);
  if (!result) return From(result);
  driver().allocations.emplace(*result, size);
  *at = reinterpret_cast<void*>(*result);
  return kSuccess;
}

int Free(void* at) {
  if (const int state = driver().State(); state != kSuccess) return state;
  const auto it = driver().allocations.find(At(at));
  if (it == driver().allocations.end()) return kInvalidValue;
  FinishStreams();
  const int result = From(driver().Vmm().ShadowFree(it->first, it->second));
  driver().allocations.erase(it);
  return result;
}

int HostMalloc(void** at, size_t size) {
  if (const int state = driver().State(); state != kSuccess) return state;
  *at = std::calloc(1, size);
  driver().host.insert(*at);
  return kSuccess;
}

int HostFree(void* at) {
  if (driver().host.erase(at) == 0) return kInvalidValue;
  FinishStreams();  // also when the device is "dead": the thread that stands for it is not
  std::free(at);
  return driver().State();
}

int CopyAsync(void* to, const void* from, size_t size, void* stream) {
  if (const int state = driver().State(); state != kSuccess) return state;
  if (driver().Knob("deaf") == 0) static_cast<Stream*>(stream)->work.Copy(At(to), At(from), size);
  return kSuccess;
}

int StreamCreate(void** stream) {
  if (const int state = driver().State(); state != kSuccess) return state;
  Stream* made = new Stream;
  driver().streams.insert(made);
  *stream = made;
  return kSuccess;
}

int StreamDestroy(void* stream) {
  Stream* gone = static_cast<Stream*>(stream);
  if (driver().streams.erase(gone) == 0) return kInvalidValue;
  delete gone;
  return driver().State();
}

int StreamSynchronize(void* stream) {
  if (const int state = driver().State(); state != kSuccess) return state;
  Stream& waited = *static_cast<Stream*>(stream);
  waited.work.WaitFor(waited.work.last());
  return AfterWait(waited);
}

int EventCreate(void** event) {
  if (const int state = driver().State(); state != kSuccess) return state;
  Event* made = new Event;
  driver().events.insert(made);
  *event = made;
  return kSuccess;
}

int EventDestroy(void* event) {
  Event* gone = static_cast<Event*>(event);
  if (driver().events.erase(gone) == 0) return kInvalidValue;
  delete gone;
  return driver().State();
}

int EventRecord(void* event, void* stream) {
  if (const int state = driver().State(); state != kSuccess) return state;
  Event& recorded = *static_cast<Event*>(event);
  recorded.stream = static_cast<Stream*>(stream);
  recorded.record = driver().next_record++;
  recorded.ticket = recorded.stream->work.EndStep(recorded.record, true);
  return kSuccess;
}

int EventSynchronize(void* event) {
  if (const int state = driver().State(); state != kSuccess) return state;
  Event& waited = *static_cast<Event*>(event);
  if (waited.stream == nullptr) return kSuccess;
  waited.stream->work.WaitFor(waited.ticket);
  return AfterWait(*waited.stream);
}

int EventQuery(void* event) {
  if (const int state = driver().State(); state != kSuccess) return state;
  Event& asked = *static_cast<Event*>(event);
  if (asked.stream == nullptr) return kSuccess;
  if (!asked.stream->work.IsDone(asked.ticket)) return kNotReady;
  return AfterWait(*asked.stream);
}

int EventElapsed(float* ms, void* start, void* stop) {
  if (const int state = driver().State(); state != kSuccess) return state;
  const auto time = [](const Event& event) { return event.stream->record_times[event.record]; };
  *ms = static_cast<float>(static_cast<double>(time(*static_cast<Event*>(stop)) - time(*static_cast<Event*>(start))) /
                           1e6);
  return kSuccess;
}

int GraphCreate(void** graph) {
  if (const int state = driver().State(); state != kSuccess) return state;
  Graph* made = new Graph;
  driver().graphs.insert(made);
  *graph = made;
  return kSuccess;
}

int GraphDestroy(void* graph) {
  Graph* gone = static_cast<Graph*>(graph);
  if (driver().graphs.erase(gone) == 0) return kInvalidValue;
  delete gone;
  return driver().State();
}

int GraphAddCopy(void** node, void* graph, void* to, const void* from, size_t size) {
  if (const int state = driver().State(); state != kSuccess) return state;
  Graph& target = *static_cast<Graph*>(graph);
  target.nodes.push_back(std::make_unique<Node>(Node{&target, target.copies.size()}));
  target.copies.push_back({At(to), At(from), size});
  *node = target.nodes.back().get();
  return kSuccess;
}

int GraphInstantiate(void** exec, void* graph) {
  if (const int state = driver().State(); state != kSuccess) return state;
  Exec* made = new Exec{static_cast<Graph*>(graph), static_cast<Graph*>(graph)->copies};
  driver().execs.insert(made);
  *exec = made;
  return kSuccess;
}

int GraphExecDestroy(void* exec) {
  Exec* gone = static_cast<Exec*>(exec);
  if (driver().execs.erase(gone) == 0) return kInvalidValue;
  delete gone;
  return driver().State();
}

int GraphLaunch(void* exec, void* stream) {
  if (const int state = driver().State(); state != kSuccess) return state;
  for (const Copy& copy : static_cast<Exec*>(exec)->copies) {
    static_cast<Stream*>(stream)->work.Copy(copy.to, copy.from, copy.size);
  }
  return kSuccess;
}

int GraphExecSetCopy(void* exec, void* node, void* to, const void* from, size_t size) {
  if (const int state = driver().State(); state != kSuccess) return state;
  Exec& target = *static_cast<Exec*>(exec);
  const Node& changed = *static_cast<Node*>(node);
  if (changed.graph != target.graph || driver().Knob("refuse_update") != 0) return kInvalidValue;
  target.copies[changed.index] = {At(to), At(from), size};
  return kSuccess;
}

}  // namespace fake

void fake_driver_set(const char* knob, long value) {
  fake::driver().knobs[knob] = value;
  if (std::string(knob) == "dead" && value == 0) fake::driver().lost = fake::kSuccess;
}

long fake_driver_live() {
  fake::Driver& driver = fake::driver();
  const remaplab::Outstanding vmm = driver.Vmm().outstanding();
  return static_cast<long>(vmm.reservations + vmm.handles + vmm.mappings + vmm.shadows + driver.host.size() +
                           driver.streams.size() + driver.events.size() + driver.graphs.size() + driver.execs.size());
}

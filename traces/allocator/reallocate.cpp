#include "traces/allocator/reallocate.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>

#include "traces/inspector.h"

namespace remaplab {
namespace {

constexpr uint64_t kUsualGranularity = 2097152;

// A request is one alloc event; requests are numbered in file order.
using Request = uint32_t;
constexpr Request kNoRequest = std::numeric_limits<Request>::max();

// What the recording says about requests, whatever memory they get.
struct Requests {
  std::vector<RequestKey> key;  // the program's slot that is bound to it first; 0 when none ever is
  // Per step, the slots that hold another request than on the step before, like Trace's own bindings.
  std::vector<size_t> begin = {0};
  std::vector<uint32_t> slot;
  std::vector<Request> request;
};

RequestKey KeyOf(const TraceProgram& program, uint32_t position) {
  return (uint64_t{program.id} + 1) << 32 | program.slots[position].index;
}

// A step rebinds a slot when its backing changed, and also when the backing is the same but was handed out anew since:
// the same memory, another request.
class RequestFinder {
 public:
  explicit RequestFinder(const Trace& trace) : trace_(trace), current_(trace.backings(), kNoRequest) {
    bound_backing_.resize(trace.programs.size());
    bound_request_.resize(trace.programs.size());
  }

  Requests Find() {
    for (const Trace::Event& event : trace_.events) {
      if (event.type == TraceEventType::kAlloc) {
        current_[event.ref] = static_cast<Request>(found_.key.size());
        found_.key.push_back(0);
      } else if (event.type == TraceEventType::kStep) {
        Step(event.ref);
      }
    }
    return std::move(found_);
  }

 private:
  void Step(size_t step) {
    const uint32_t declaration = trace_.step_program[step];
    const TraceProgram& program = trace_.programs[declaration];
    std::vector<uint32_t>& backings = bound_backing_[declaration];
    std::vector<Request>& requests = bound_request_[declaration];
    const bool first = requests.size() != program.slots.size();
    backings.resize(program.slots.size(), kUnboundSlot);
    requests.resize(program.slots.size(), kNoRequest);
    const auto changed_slots = trace_.BoundSlots(step);
    const auto changed_backings = trace_.BoundBackings(step);
    for (size_t i = 0; i < changed_slots.size(); ++i) {
      backings[changed_slots[i]] = changed_backings[i];
    }
    for (uint32_t position = 0; position < backings.size(); ++position) {
      const Request request = backings[position] == kUnboundSlot ? kNoRequest : current_[backings[position]];
      if (request == requests[position] && !first) {
        continue;
      }
      requests[position] = request;
      found_.slot.push_back(position);
      found_.request.push_back(request);
      if (request != kNoRequest && found_.key[request] == 0) {
        found_.key[request] = KeyOf(program, position);
      }
    }
    found_.begin.push_back(found_.slot.size());
  }

  const Trace& trace_;
  Requests found_;
  std::vector<Request> current_;                      // by backing: its latest request
  std::vector<std::vector<uint32_t>> bound_backing_;  // by declaration and position
  std::vector<std::vector<Request>> bound_request_;
};

// Plays the requests into a policy and writes down what it decides.
class Reallocator {
 public:
  Reallocator(const Trace& trace, const Requests& requests, AllocatorModel& model)
      : trace_(trace),
        requests_(requests),
        model_(model),
        current_(trace.backings(), kNoRequest),
        bound_(trace.programs.size()) {}

  Trace Run() {
    out_.header = trace_.header;
    out_.end = trace_.end;
    out_.skipped_events = trace_.skipped_events;
    out_.programs = trace_.programs;
    out_.marks = trace_.marks;
    out_.timings = trace_.timings;
    out_.step_number = trace_.step_number;
    out_.step_program = trace_.step_program;
    out_.step_duration = trace_.step_duration;
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      Play(trace_.events[i], trace_.event_t[i]);
    }
    return std::move(out_);
  }

 private:
  void Play(const Trace::Event& event, int64_t t) {
    switch (event.type) {
      case TraceEventType::kAlloc:
        Add(TraceEventType::kAlloc, Alloc(event.ref), t);
        break;
      case TraceEventType::kFree:
      case TraceEventType::kDeferredFree:
        // A plain free behind a deferred one ends memory whose request has ended already.
        if (current_[event.ref] != kNoRequest) {
          Add(TraceEventType::kDeferredFree, memory_[current_[event.ref]], t);
          model_.Free(memory_[current_[event.ref]]);
          current_[event.ref] = kNoRequest;
        }
        break;
      case TraceEventType::kStep:
        Step(event.ref);
        Add(event.type, event.ref, t);
        break;
      case TraceEventType::kProgram:
      case TraceEventType::kProgramEnd:
      case TraceEventType::kMark:
      case TraceEventType::kTiming:
        Add(event.type, event.ref, t);
        break;
    }
  }

  void Add(TraceEventType type, uint32_t ref, int64_t t) {
    out_.events.push_back({type, ref});
    out_.event_t.push_back(t);
  }

  // Memory is numbered by first use, as backings are, so that one number serves for both.
  MemoryId Alloc(uint32_t backing) {
    const auto request = static_cast<Request>(memory_.size());
    const uint64_t size = trace_.backing_size[backing];
    const MemoryId memory = model_.Allocate(size, requests_.key[request]);
    memory_.push_back(memory);
    current_[backing] = request;
    if (memory == out_.backing_id.size()) {
      out_.backing_id.push_back(memory);
      out_.backing_address.push_back(model_.memory(memory).address);
      out_.backing_size.push_back(size);
    } else {
      out_.backing_size[memory] = std::max(out_.backing_size[memory], size);
    }
    return memory;
  }

  void Step(size_t step) {
    std::vector<uint32_t>& bound = bound_[trace_.step_program[step]];
    const size_t slots = trace_.programs[trace_.step_program[step]].slots.size();
    const bool first = bound.size() != slots;
    bound.resize(slots, kUnboundSlot);
    for (size_t i = requests_.begin[step]; i < requests_.begin[step + 1]; ++i) {
      const Request request = requests_.request[i];
      const uint32_t backing = request == kNoRequest ? kUnboundSlot : memory_[request];
      uint32_t& slot = bound[requests_.slot[i]];
      if (slot != backing || first) {
        slot = backing;
        out_.bind_slot.push_back(requests_.slot[i]);
        out_.bind_backing.push_back(backing);
      }
    }
    out_.step_bind_begin.push_back(out_.bind_slot.size());
  }

  const Trace& trace_;
  const Requests& requests_;
  AllocatorModel& model_;
  Trace out_;
  std::vector<MemoryId> memory_;              // by request
  std::vector<Request> current_;              // by backing of the recording: its request that has not ended
  std::vector<std::vector<uint32_t>> bound_;  // by declaration and position
};

// Follows the sets of bindings of slots above a size. Sets are told apart by a sum of hashes, one per slot, which a
// change updates in constant time.
class SetFollower {
 public:
  SetFollower(const Trace& trace, uint64_t above)
      : trace_(trace), above_(above), declarations_(trace.programs.size()) {}

  // By program id.
  std::map<uint32_t, BindingStatistics::Sets> Follow() {
    std::map<uint32_t, BindingStatistics::Sets> sets;
    std::map<uint32_t, std::unordered_set<uint64_t>> distinct;
    for (size_t step = 0; step < trace_.steps(); ++step) {
      const uint32_t declaration = trace_.step_program[step];
      const uint32_t id = trace_.programs[declaration].id;
      const uint64_t hash = SetOf(step, declaration);
      distinct[id].insert(hash + declaration);
      Use(declarations_[declaration].recent, hash, sets[id]);
    }
    for (const auto& [id, hashes] : distinct) {
      sets[id].distinct = hashes.size();
    }
    return sets;
  }

 private:
  struct Declaration {
    std::vector<uint32_t> bound;
    uint64_t hash = 0;
    std::vector<uint64_t> recent;  // hashes, last used first
  };

  static uint64_t HashOf(uint32_t slot, uint32_t backing) {
    const uint64_t pair = uint64_t{slot} << 32 | backing;
    return XXH3_64bits(&pair, sizeof(pair));
  }

  uint64_t SetOf(size_t step, uint32_t number) {
    Declaration& declaration = declarations_[number];
    const std::vector<TraceSlot>& table = trace_.programs[number].slots;
    declaration.bound.resize(table.size(), kUnboundSlot);
    const auto slots = trace_.BoundSlots(step);
    const auto backings = trace_.BoundBackings(step);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (table[slots[i]].size > above_) {
        uint32_t& bound = declaration.bound[slots[i]];
        declaration.hash += HashOf(slots[i], backings[i]) - HashOf(slots[i], bound);
        bound = backings[i];
      }
    }
    return declaration.hash;
  }

  static void Use(std::vector<uint64_t>& recent, uint64_t hash, BindingStatistics::Sets& sets) {
    const auto found = std::find(recent.begin(), recent.end(), hash);
    if (found != recent.end()) {
      for (auto k = static_cast<size_t>(found - recent.begin()); k < sets.steps_in_cached.size(); ++k) {
        ++sets.steps_in_cached[k];
      }
      recent.erase(found);
    } else if (recent.size() == sets.steps_in_cached.size()) {
      recent.pop_back();
    }
    recent.insert(recent.begin(), hash);
  }

  const Trace& trace_;
  uint64_t above_;
  std::vector<Declaration> declarations_;
};

std::map<uint32_t, BindingStatistics> StatisticsOf(const Trace& trace) {
  const auto all = SetFollower(trace, 0).Follow();
  const auto large = SetFollower(trace, kShadowBorder).Follow();
  std::map<uint32_t, BindingStatistics> statistics;
  for (const ProgramSummary& program : InspectTrace(trace).programs) {
    BindingStatistics& of_program = statistics[program.id];
    of_program.changed_slot_steps = program.changed_slot_steps;
    of_program.changed_steps = program.changed_steps;
    of_program.runs = program.runs;
    if (program.steps > 0) {
      of_program.all = all.at(program.id);
      of_program.large = large.at(program.id);
    }
  }
  return statistics;
}

// Peak bytes of the recording's own allocator: an arena's extent, or all memory that exists, kept memory included.
uint64_t RecordedPeak(const Trace& trace, uint64_t granularity) {
  const auto known = ParseAllocatorPolicy(trace.header.allocator);
  const bool arena = known && IsArena(*known);
  uint64_t lowest = std::numeric_limits<uint64_t>::max();
  uint64_t highest = 0;
  uint64_t held = 0;
  uint64_t peak = 0;
  std::vector<bool> exists(trace.backings());
  for (const Trace::Event& event : trace.events) {
    if (event.type == TraceEventType::kAlloc && !exists[event.ref]) {
      const uint64_t address = trace.backing_address[event.ref];
      const uint64_t size = trace.backing_size[event.ref];
      exists[event.ref] = true;
      held += (size + granularity - 1) / granularity * granularity;
      peak = std::max(peak, held);
      if (address != kUnknownAddress) {
        lowest = std::min(lowest, address);
        highest = std::max(highest, address + size);
      }
    } else if (event.type == TraceEventType::kFree) {
      held -= (trace.backing_size[event.ref] + granularity - 1) / granularity * granularity;
    }
  }
  return arena && highest > 0 ? highest - lowest : peak;
}

std::string DerivedHash(const Trace& trace, AllocatorPolicy policy) {
  const std::string text = fmt::format("{}:{}", trace.xxh3, Name(policy));
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

ReallocatedTrace ReallocateTrace(const Trace& trace, AllocatorPolicy policy, uint64_t granularity) {
  ReallocatedTrace result;
  ReallocationReport& report = result.report;
  report.policy = policy;
  const uint64_t trace_granularity = trace.header.granularity == 0 ? kUsualGranularity : trace.header.granularity;
  const uint64_t rounding = granularity == 0 ? trace_granularity : granularity;
  report.peak_bytes_before = RecordedPeak(trace, rounding);
  report.backings_before = trace.backings();
  if (policy == AllocatorPolicy::kRecorded) {
    result.trace = trace;
    report.peak_bytes_after = report.peak_bytes_before;
  } else {
    const Requests requests = RequestFinder(trace).Find();
    const std::unique_ptr<AllocatorModel> model = MakeAllocatorModel(policy, rounding);
    result.trace = Reallocator(trace, requests, *model).Run();
    result.trace.header.allocator = Name(policy);
    result.trace.end.identity = IsArena(policy) ? TraceIdentity::kAddress : TraceIdentity::kBacking;
    result.trace.xxh3 = DerivedHash(trace, policy);
    report.peak_bytes_after = model->peak_held_bytes();
  }
  report.backings_after = result.trace.backings();
  report.requests =
      static_cast<uint64_t>(std::count_if(trace.events.begin(), trace.events.end(), [](const Trace::Event& event) {
        return event.type == TraceEventType::kAlloc;
      }));
  const auto before = StatisticsOf(trace);
  const auto after = policy == AllocatorPolicy::kRecorded ? before : StatisticsOf(result.trace);
  std::map<uint32_t, ReallocationReport::Program> programs;
  for (const TraceProgram& program : trace.programs) {
    programs[program.id] = {program.id, program.module, 0, before.at(program.id), after.at(program.id)};
  }
  for (const uint32_t declaration : trace.step_program) {
    ++programs[trace.programs[declaration].id].steps;
  }
  for (auto& [id, program] : programs) {
    report.programs.push_back(std::move(program));
  }
  return result;
}

}  // namespace remaplab

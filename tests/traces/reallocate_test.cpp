#include "traces/allocator/reallocate.h"

#include <boost/test/unit_test.hpp>
#include <map>

#include "base/random.h"
#include "tests/traces/trace_testing.h"
#include "traces/allocator/arena_model.h"
#include "traces/generator/generator.h"
#include "traces/generator/random_trace.h"
#include "traces/reader.h"
#include "traces/writer.h"

namespace remaplab {
namespace {

constexpr AllocatorPolicy kDeciding[] = {AllocatorPolicy::kFifo,    AllocatorPolicy::kSmallest,
                                         AllocatorPolicy::kBestFit, AllocatorPolicy::kIdStable,
                                         AllocatorPolicy::kArena,   AllocatorPolicy::kBfc};

Trace Generated(std::string_view churn, uint64_t steps) {
  GeneratorOptions options;
  options.table.model = FindModelShape("custom").value();
  options.steps = steps;
  Must(ApplyChurn(churn, options.churn));
  return Must(GenerateTrace(options));
}

// Which slots hold the same memory as each other, on every step.
std::vector<std::vector<uint32_t>> Partners(const Trace& trace) {
  std::vector<std::vector<uint32_t>> partners;
  std::vector<std::vector<uint32_t>> bound(trace.programs.size());
  for (size_t step = 0; step < trace.steps(); ++step) {
    auto& slots = bound[trace.step_program[step]];
    slots.resize(trace.programs[trace.step_program[step]].slots.size(), kUnboundSlot);
    for (size_t i = 0; i < trace.BoundSlots(step).size(); ++i) {
      slots[trace.BoundSlots(step)[i]] = trace.BoundBackings(step)[i];
    }
    std::map<uint32_t, uint32_t> first;
    std::vector<uint32_t>& row = partners.emplace_back();
    for (uint32_t i = 0; i < slots.size(); ++i) {
      row.push_back(slots[i] == kUnboundSlot ? kUnboundSlot : first.emplace(slots[i], i).first->second);
    }
  }
  return partners;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(AllocatorModelTest)

BOOST_AUTO_TEST_CASE(what_is_handed_out_never_overlaps) {
  for (const AllocatorPolicy policy : kDeciding) {
    BOOST_TEST_CONTEXT(Name(policy)) {
      const auto model = MakeAllocatorModel(policy, 4096);
      Random random(7);
      std::map<uint64_t, MemoryId> live;
      for (int i = 0; i < 20000; ++i) {
        if (live.size() < 100 && random.Chance(1, 2)) {
          const uint64_t size = random.Between(1, 20000);
          const MemoryId memory = model->Allocate(size, random.Below(5));
          const auto [address, room] = model->memory(memory);
          BOOST_REQUIRE_GE(room, size);
          const auto [place, fresh] = live.emplace(address, memory);
          BOOST_REQUIRE(fresh);
          if (const auto next = std::next(place); next != live.end()) {
            BOOST_REQUIRE_LE(address + room, next->first);
          }
          if (place != live.begin()) {
            BOOST_REQUIRE_LE(std::prev(place)->first + model->memory(std::prev(place)->second).size, address);
          }
        } else if (!live.empty()) {
          const auto victim = std::next(live.begin(), static_cast<ptrdiff_t>(random.Below(live.size())));
          model->Free(victim->second);
          live.erase(victim);
        }
        if (random.Chance(1, 500)) {
          model->ReleaseKept();
        }
      }
      BOOST_TEST(model->peak_held_bytes() >= model->held_bytes());
    }
  }
}

BOOST_AUTO_TEST_CASE(fifo_hands_out_what_was_freed_first_and_smallest_the_lowest_address) {
  for (const AllocatorPolicy policy : {AllocatorPolicy::kFifo, AllocatorPolicy::kSmallest}) {
    const auto model = MakeAllocatorModel(policy, 4096);
    const MemoryId a = model->Allocate(1, 0);
    const MemoryId b = model->Allocate(2, 0);
    const MemoryId other = model->Allocate(5000, 0);
    model->Free(other);
    model->Free(b);
    model->Free(a);
    BOOST_TEST(model->Allocate(3, 0) == (policy == AllocatorPolicy::kFifo ? b : a));
    BOOST_TEST(model->Allocate(8000, 0) == other);
  }
}

BOOST_AUTO_TEST_CASE(best_fit_takes_the_smallest_memory_that_is_large_enough) {
  const auto model = MakeAllocatorModel(AllocatorPolicy::kBestFit, 4096);
  const MemoryId small = model->Allocate(4096, 0);
  const MemoryId middle = model->Allocate(3 * 4096, 0);
  const MemoryId large = model->Allocate(100 * 4096, 0);
  model->Free(large);
  model->Free(middle);
  BOOST_TEST(model->Allocate(2 * 4096, 0) == middle);
  BOOST_TEST(model->Allocate(4096, 0) > large);  // the large one is left for something large
  model->Free(small);
  BOOST_TEST(model->Allocate(1, 0) == small);
}

BOOST_AUTO_TEST_CASE(id_stable_gives_each_requester_its_own_memory) {
  const auto model = MakeAllocatorModel(AllocatorPolicy::kIdStable, 4096);
  std::vector<MemoryId> first;
  for (RequestKey key = 1; key <= 4; ++key) {
    first.push_back(model->Allocate(1, key));
  }
  // Freed and asked for in another order, each comes back to its owner.
  for (const size_t i : {2, 0, 3, 1}) {
    model->Free(first[i]);
  }
  for (const size_t i : {1, 3, 2, 0}) {
    BOOST_TEST(model->Allocate(1, i + 1) == first[i]);
  }
}

BOOST_AUTO_TEST_CASE(id_stable_adopts_free_memory_until_a_slot_has_a_pair) {
  const auto model = MakeAllocatorModel(AllocatorPolicy::kIdStable, 4096);
  const MemoryId loaded = model->Allocate(1, 1);  // asked for once, as a loaded weight is
  const MemoryId output = model->Allocate(1, 2);
  model->Free(loaded);
  BOOST_TEST(model->Allocate(1, 2) == loaded);
  model->Free(output);
  BOOST_TEST(model->Allocate(1, 2) == output);
  model->Free(loaded);
  BOOST_TEST(model->Allocate(1, 2) == loaded);
  // Slot 2 has its pair: a third memory is new, and nobody took slot 3's.
  const MemoryId other = model->Allocate(1, 3);
  model->Free(other);
  BOOST_TEST(model->Allocate(1, 2) > other);
  BOOST_TEST(model->Allocate(1, 3) == other);
}

BOOST_AUTO_TEST_CASE(an_arena_splits_merges_and_finds_ranges_again) {
  for (const auto fit : {ArenaModel::Fit::kFirst, ArenaModel::Fit::kBest}) {
    ArenaModel arena(fit);
    const MemoryId a = arena.Allocate(1000, 0);
    const MemoryId b = arena.Allocate(200, 0);
    const MemoryId c = arena.Allocate(300, 0);
    const MemoryId d = arena.Allocate(1, 0);
    BOOST_TEST(arena.memory(a).size == 1024u);
    BOOST_TEST(arena.memory(b).address == arena.memory(a).address + 1024);
    arena.Free(a);
    arena.Free(c);
    // Holes of 1024 and 512 bytes: first fit takes the first, best fit the smaller.
    const MemoryId e = arena.Allocate(256, 0);
    BOOST_TEST(arena.memory(e).address == arena.memory(fit == ArenaModel::Fit::kFirst ? a : c).address);
    arena.Free(e);
    arena.Free(b);
    // Now one hole of 1792 bytes.
    const MemoryId f = arena.Allocate(1792, 0);
    BOOST_TEST(arena.memory(f).address == arena.memory(a).address);
    arena.Free(f);
    BOOST_TEST(arena.Allocate(1000, 0) == a);
    BOOST_TEST(arena.peak_held_bytes() == 2048u);
    arena.Free(d);
    BOOST_TEST(arena.memory(arena.Allocate(10000, 0)).address == arena.memory(b).address);
  }
}

BOOST_AUTO_TEST_CASE(released_memory_is_gone_and_its_address_comes_first) {
  const auto model = MakeAllocatorModel(AllocatorPolicy::kFifo, 4096);
  const MemoryId a = model->Allocate(1, 0);
  const MemoryId b = model->Allocate(1, 0);
  model->Free(a);
  const std::vector<MemoryId> released = model->ReleaseKept();
  BOOST_REQUIRE_EQUAL(released.size(), 1u);
  BOOST_TEST(released[0] == a);
  BOOST_TEST(model->held_bytes() == 4096u);
  const MemoryId c = model->Allocate(1, 0);
  BOOST_TEST(c > b);
  BOOST_TEST(model->memory(c).address == model->memory(a).address);
}

BOOST_AUTO_TEST_CASE(every_policy_has_a_name_that_parses_back) {
  for (const AllocatorPolicyInfo& info : AllocatorPolicies()) {
    BOOST_TEST((ParseAllocatorPolicy(info.name).value() == info.policy));
    BOOST_TEST(Name(info.policy) == info.name);
  }
  BOOST_TEST(!ParseAllocatorPolicy("lifo").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ReallocateTest)

BOOST_AUTO_TEST_CASE(the_result_is_a_valid_trace_of_the_same_requests) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Trace trace = GenerateRandomTrace(seed);
    for (const AllocatorPolicy policy : kDeciding) {
      BOOST_TEST_CONTEXT("seed " << seed << " " << Name(policy)) {
        const ReallocatedTrace result = ReallocateTrace(trace, policy);
        const Trace read = Must(ParseTrace(TraceToText(result.trace), "t"));
        BOOST_REQUIRE(read.bind_backing == result.trace.bind_backing);
        BOOST_REQUIRE(read.bind_slot == result.trace.bind_slot);
        BOOST_REQUIRE_EQUAL(read.steps(), trace.steps());
        BOOST_REQUIRE(result.trace.xxh3 != trace.xxh3);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(slots_share_memory_exactly_where_they_did) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Trace trace = GenerateRandomTrace(seed);
    // A slot that keeps memory which was freed (deferred) may by chance meet its next owner; such traces prove nothing.
    bool bound_after_free = false;
    std::map<uint32_t, bool> freed;
    std::vector<std::vector<uint32_t>> bound(trace.programs.size());
    for (const Trace::Event& event : trace.events) {
      if (event.type == TraceEventType::kAlloc) {
        freed[event.ref] = false;
      } else if (event.type == TraceEventType::kDeferredFree) {
        freed[event.ref] = true;
      } else if (event.type == TraceEventType::kStep) {
        auto& slots = bound[trace.step_program[event.ref]];
        slots.resize(trace.programs[trace.step_program[event.ref]].slots.size(), kUnboundSlot);
        for (size_t i = 0; i < trace.BoundSlots(event.ref).size(); ++i) {
          slots[trace.BoundSlots(event.ref)[i]] = trace.BoundBackings(event.ref)[i];
        }
        for (const uint32_t backing : slots) {
          bound_after_free = bound_after_free || (backing != kUnboundSlot && freed[backing]);
        }
      }
    }
    if (bound_after_free) {
      continue;
    }
    for (const AllocatorPolicy policy : kDeciding) {
      BOOST_TEST_CONTEXT("seed " << seed << " " << Name(policy)) {
        BOOST_REQUIRE(Partners(ReallocateTrace(trace, policy).trace) == Partners(trace));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(recorded_leaves_everything_as_it_is) {
  const Trace trace = GenerateRandomTrace(5);
  const ReallocatedTrace result = ReallocateTrace(trace, AllocatorPolicy::kRecorded);
  BOOST_TEST(TraceToText(result.trace) == TraceToText(trace));
  BOOST_TEST(result.trace.xxh3 == trace.xxh3);
  BOOST_TEST(result.report.peak_bytes_after == result.report.peak_bytes_before);
}

BOOST_AUTO_TEST_CASE(the_policy_that_made_a_trace_decides_the_same_again) {
  const Trace trace = Generated("donated", 30);
  const ReallocatedTrace result = ReallocateTrace(trace, AllocatorPolicy::kFifo);
  BOOST_TEST(result.trace.bind_slot == trace.bind_slot);
  BOOST_TEST(result.trace.bind_backing == trace.bind_backing);
  BOOST_TEST(result.trace.backing_address == trace.backing_address);
  BOOST_TEST(result.report.peak_bytes_after == result.report.peak_bytes_before);
}

BOOST_AUTO_TEST_CASE(undonated_runs_repeat_every_second_step_when_each_slot_has_its_own_memory) {
  const Trace trace = Generated("undonated", 60);
  const auto report = [&](AllocatorPolicy policy) { return ReallocateTrace(trace, policy).report; };
  const ReallocationReport stable = report(AllocatorPolicy::kIdStable);
  const ReallocationReport fifo = report(AllocatorPolicy::kFifo);
  const BindingStatistics& stable_sets = stable.programs.at(0).after;
  // Input and output change places on every step whatever the allocator does: nothing can stop the movement ...
  BOOST_TEST(stable_sets.changed_steps == 59u);
  // ... but here there are only a few sets of bindings, so that sets that stay mapped are found again.
  BOOST_TEST(stable_sets.all.distinct <= 6u);
  BOOST_TEST(stable_sets.all.steps_in_cached[1] >= 54u);
  BOOST_TEST(stable_sets.large.distinct <= stable_sets.all.distinct);
  BOOST_TEST(stable_sets.large.steps_in_cached[1] >= 54u);
  BOOST_TEST(fifo.programs.at(0).after.all.steps_in_cached[1] == 0u);
  BOOST_TEST(stable.peak_bytes_after >= fifo.peak_bytes_after);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab

// Shadows and copies, events, steps and their order on the stream. Real clocks are only ever tested from one side: that
// something did not happen too early.
#include "tests/contract/contract_backends.h"

namespace remaplab::contract {
namespace {

constexpr int64_t kMs = 1'000'000;

}  // namespace

BOOST_AUTO_TEST_SUITE(StreamContract)

CONTRACT_CASE(shadows_have_the_size_that_was_asked_for) {
  Rig rig(backend);
  std::vector<std::pair<Address, uint64_t>> shadows;
  for (const uint64_t size : {1, 4, 8, 100, 65536}) {
    const Address at = Must(rig->ShadowAlloc(size, 0, 3));
    BOOST_TEST(at != kNullAddress);
    for (const auto& [other, other_size] : shadows) {
      BOOST_TEST((at + size <= other || other + other_size <= at));
    }
    shadows.emplace_back(at, size);
  }
  BOOST_TEST(rig->outstanding().shadows == 5u);
  MustRefuse(rig->ShadowAlloc(0, 0, 0), "shadow_alloc");
  MustRefuse(rig->ShadowFree(shadows[3].first, 99), "shadow_free");
  MustRefuse(rig->ShadowFree(shadows[3].first + 1, 99), "shadow_free");
  for (const auto& [at, size] : shadows) {
    Must(rig->ShadowFree(at, size));
  }
  MustRefuse(rig->ShadowFree(shadows[0].first, shadows[0].second), "shadow_free");
  BOOST_TEST(rig->outstanding().empty());
}

CONTRACT_CASE(copies_and_launches_happen_in_the_order_of_the_stream) {
  Rig rig(backend);
  const Memory memory = Must(rig->Create(rig.chunk(), 0, 0, 200));
  const Address shadow = Must(rig->ShadowAlloc(64, 0, 0));
  const BakedSlot slot{.slot = 0, .address = shadow, .size = 64, .access = Access::kBoth};
  const CommandBufferId command_buffer = Must(rig->Capture({&slot, 1}, 1));
  uint64_t tag = 200;
  for (int step = 0; step < 3; ++step) {
    Must(rig->Copy(shadow, memory.address, 64));
    Must(rig->Launch({.command_buffer = command_buffer, .gpu_ns = kMs}));
    Must(rig->Copy(memory.address, shadow, 64));
    BOOST_TEST(Tags(rig).at(0).value == tag);
    tag = NextTag(tag);
  }
  BOOST_TEST(Must(rig->ReadTag(memory)) == tag);
}

CONTRACT_CASE(a_copy_goes_through_mappings_too) {
  Rig rig(backend);
  Range range(rig, 2);
  Must(rig->Copy(range.At(0), range.At(1), 8));
  BOOST_TEST(Must(rig->ReadTag(range.memory[0])) == kFirstTag + 1);
}

CONTRACT_CASE(a_copy_between_places_that_cannot_be_reached_is_refused) {
  Rig rig(backend);
  Range range(rig, 2, 1);
  const Address shadow = Must(rig->ShadowAlloc(64, 0, 0));
  MustRefuse(rig->Copy(shadow, range.At(1), 64), "copy");
  MustRefuse(rig->Copy(range.At(1), shadow, 64), "copy");
  MustRefuse(rig->Copy(range.At(0), shadow, 4096), "copy");  // more than the shadow has
  BOOST_TEST(Must(rig->ReadTag(range.memory[0])) == kFirstTag);
}

CONTRACT_CASE(an_event_that_was_never_recorded_counts_as_complete) {
  Rig rig(backend);
  const EventId event = Must(rig->CreateEvent());
  Must(rig->Launch({.gpu_ns = 20 * kMs}));
  Must(rig->Wait(event));
  Must(rig->DestroyEvent(event));
}

CONTRACT_CASE(events_that_do_not_exist_are_refused) {
  Rig rig(backend);
  const EventId event = Must(rig->CreateEvent());
  const EventId other = Must(rig->CreateEvent());
  BOOST_TEST(event != other);
  MustRefuse(rig->Record(other + 1), "record");
  MustRefuse(rig->Wait(other + 1), "wait");
  Must(rig->DestroyEvent(event));
  MustRefuse(rig->Wait(event), "wait");
  BOOST_TEST(!rig->DestroyEvent(event));
  BOOST_TEST(rig->outstanding().events == 1u);
}

CONTRACT_CASE(a_wait_does_not_return_before_the_work_is_done) {
  Rig rig(backend);
  const EventId event = Must(rig->CreateEvent());
  const int64_t begin = rig->now();
  Must(rig->Launch({.gpu_ns = 20 * kMs}));
  Must(rig->Record(event));
  Must(rig->Wait(event));
  BOOST_TEST(rig->now() - begin >= backend.AtLeast(20 * kMs));
}

CONTRACT_CASE(synchronize_waits_for_everything) {
  Rig rig(backend);
  const int64_t begin = rig->now();
  Must(rig->Launch({.gpu_ns = 10 * kMs}));
  Must(rig->Launch({.gpu_ns = 10 * kMs}));
  Must(rig->Synchronize());
  BOOST_TEST(rig->now() - begin >= backend.AtLeast(20 * kMs));
}

CONTRACT_CASE(the_clock_never_goes_back) {
  Rig rig(backend);
  int64_t last = rig->now();
  const auto check = [&] {
    const int64_t next = rig->now();
    BOOST_TEST(next >= last);
    last = next;
  };
  Range range(rig, 2);
  check();
  Must(rig->BeginStep(1));
  check();
  Must(rig->Launch({.gpu_ns = kMs}));
  check();
  Must(rig->EndStep(1, true));
  range.GiveBack(rig);
  check();
}

CONTRACT_CASE(the_ends_of_launched_steps_come_in_order_and_once) {
  Rig rig(backend);
  for (uint64_t step = 1; step <= 4; ++step) {
    Must(rig->BeginStep(step));
    if (step != 3) {
      Must(rig->Launch({.gpu_ns = kMs}));
    }
    Must(rig->EndStep(step, step != 3));
  }
  Must(rig->Synchronize());
  std::vector<StepEnd> ends;
  Must(rig->TakeStepEnds(ends));
  BOOST_REQUIRE(ends.size() == 3u);
  BOOST_TEST(ends[0].step == 1u);
  BOOST_TEST(ends[1].step == 2u);
  BOOST_TEST(ends[2].step == 4u);
  BOOST_TEST(ends[1].end_ns - ends[0].end_ns >= backend.AtLeast(kMs));
  BOOST_TEST(ends[2].end_ns - ends[1].end_ns >= backend.AtLeast(kMs));
  Must(rig->TakeStepEnds(ends));
  BOOST_TEST(ends.size() == 3u);
}

CONTRACT_CASE(the_cpu_runs_as_far_ahead_as_it_may_and_no_further) {
  for (const uint32_t run_ahead : {1u, 2u}) {
    Rig rig(backend, {.run_ahead = run_ahead});
    std::vector<int64_t> begins;
    for (uint64_t step = 1; step <= 5; ++step) {
      Must(rig->BeginStep(step));
      begins.push_back(rig->now());
      Must(rig->Launch({.gpu_ns = 10 * kMs}));
      Must(rig->EndStep(step, true));
    }
    Must(rig->Synchronize());
    std::vector<StepEnd> ends;
    Must(rig->TakeStepEnds(ends));
    BOOST_REQUIRE(ends.size() == 5u);
    for (size_t k = 1 + run_ahead; k < 5; ++k) {
      BOOST_TEST(begins[k] >= ends[k - 1 - run_ahead].end_ns);
      BOOST_TEST(begins[k] < ends[k].end_ns);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::contract

// The rules of definitions.md section 3, one by one.
#include "tests/backends/sim_fixture.h"

namespace remaplab {

BOOST_AUTO_TEST_SUITE(SimTimeTest)

// One step with `gpu_ns` of GPU work and nothing else.
void PlainStep(Backend& backend, uint64_t step, int64_t gpu_ns) {
  Must(backend.BeginStep(step));
  Must(backend.Launch({.gpu_ns = gpu_ns}));
  Must(backend.EndStep(step, true));
}

BOOST_AUTO_TEST_CASE(the_clock_starts_at_zero_and_calls_advance_it_by_their_cost) {
  SimOptions options;
  options.Cost("reserve.fixed=7").Cost("map.fixed=3");
  const auto sim = MakeSim(options);
  BOOST_TEST(sim->now() == 0);
  const Address base = Must(sim->Reserve(kChunk, 0));
  BOOST_TEST(sim->now() == 7);
  const Memory memory = Must(sim->Create(kChunk, 0, 0, 1));
  Must(sim->Map(base, kChunk, memory.handle));
  BOOST_TEST(sim->now() == 10);
}

BOOST_AUTO_TEST_CASE(create_and_release_move_now_but_not_the_steps_clock) {
  SimOptions options;
  options.Cost("create.fixed=100").Cost("release.fixed=50");
  const auto sim = MakeSim(options);
  const Memory memory = Must(sim->Create(kChunk, 0, 0, 1));
  Must(sim->Release(memory));
  BOOST_TEST(sim->now() == 150);
  PlainStep(*sim, 1, 10);
  BOOST_TEST(LastStepEnd(*sim) == 10);
}

BOOST_AUTO_TEST_CASE(a_refused_call_takes_no_time) {
  SimOptions options;
  options.Cost("unmap.fixed=5");
  const auto sim = MakeSim(options);
  BOOST_TEST(!sim->Unmap(kChunk, kChunk));
  BOOST_TEST(sim->now() == 0);
}

BOOST_AUTO_TEST_CASE(a_launch_starts_when_the_cpu_issued_it_and_the_gpu_is_free) {
  SimOptions options;
  options.run_ahead = 10;
  options.Cost("launch.fixed=5");
  const auto sim = MakeSim(options);
  PlainStep(*sim, 1, 100);
  BOOST_TEST(LastStepEnd(*sim) == 105);  // issued at 5
  PlainStep(*sim, 2, 100);
  BOOST_TEST(LastStepEnd(*sim) == 205);  // issued at 10, GPU free at 105
  BOOST_TEST(sim->now() == 10);
}

BOOST_AUTO_TEST_CASE(the_cpu_runs_at_most_the_configured_number_of_steps_ahead) {
  for (const uint32_t run_ahead : {0u, 1u, 2u}) {
    SimOptions options;
    options.run_ahead = run_ahead;
    const auto sim = MakeSim(options);
    for (uint64_t step = 1; step <= 6; ++step) {
      Must(sim->BeginStep(step));
      // Steps last 100: step k begins when step k - 1 - A has ended.
      const int64_t expected = 100 * std::max<int64_t>(0, static_cast<int64_t>(step) - 1 - run_ahead);
      BOOST_TEST(sim->now() == expected, "step " << step << " at run-ahead " << run_ahead);
      Must(sim->Launch({.gpu_ns = 100}));
      Must(sim->EndStep(step, true));
    }
  }
}

BOOST_AUTO_TEST_CASE(host_work_comes_after_being_held_back) {
  SimOptions options;
  options.run_ahead = 0;
  options.host_step_ns = 30;
  const auto sim = MakeSim(options);
  PlainStep(*sim, 1, 100);
  Must(sim->BeginStep(2));
  BOOST_TEST(sim->now() == 30 + 100 + 30);
}

BOOST_AUTO_TEST_CASE(a_wait_ends_when_the_event_is_done_and_not_one_tick_early) {
  // The CPU reaches the wait at 99, 100 and 101; the event is done at 100.
  for (const int64_t reached : {99, 100, 101}) {
    SimOptions options;
    options.Cost("wait.fixed=2").Cost("reserve.fixed=" + std::to_string(reached));
    const auto sim = MakeSim(options);
    const EventId event = Must(sim->CreateEvent());
    Must(sim->Launch({.gpu_ns = 100}));
    Must(sim->Record(event));
    Must(sim->Reserve(kChunk, 0));
    Must(sim->Wait(event));
    BOOST_TEST(sim->now() == std::max<int64_t>(reached, 100) + 2);
  }
}

BOOST_AUTO_TEST_CASE(an_event_covers_what_came_before_its_last_record_only) {
  const auto sim = MakeSim(SimOptions());
  const EventId event = Must(sim->CreateEvent());
  Must(sim->Wait(event));
  BOOST_TEST(sim->now() == 0);
  Must(sim->Launch({.gpu_ns = 100}));
  Must(sim->Record(event));
  Must(sim->Launch({.gpu_ns = 100}));
  Must(sim->Wait(event));
  BOOST_TEST(sim->now() == 100);
}

BOOST_AUTO_TEST_CASE(a_call_is_contended_while_the_gpu_is_busy_and_not_one_tick_longer) {
  // The GPU is busy until 100; the map begins at 99 (busy) and at 100 (idle).
  for (const int64_t begins : {99, 100}) {
    SimOptions options;
    options.Cost("map.fixed=10").Cost("map.contended_factor=3").Cost("reserve.fixed=" + std::to_string(begins));
    const auto sim = MakeSim(options);
    const Memory memory = Must(sim->Create(kChunk, 0, 0, 1));
    Must(sim->Launch({.gpu_ns = 100}));
    const Address base = Must(sim->Reserve(kChunk, 0));
    Must(sim->Map(base, kChunk, memory.handle));
    BOOST_TEST(sim->now() == begins + (begins < 100 ? 30 : 10));
  }
}

BOOST_AUTO_TEST_CASE(a_copy_costs_the_cpu_its_enqueueing_and_the_gpu_its_bytes) {
  SimOptions options;
  options.Cost("copy.enqueue=4").Cost("copy.gpu_fixed=20").Cost("copy.per_mib=1000").Cost("launch.fixed=1");
  const auto sim = MakeSim(options);
  const Memory memory = Must(sim->Create(kChunk, 0, 0, 1));
  const Address shadow = Must(sim->ShadowAlloc(kMiB, 0, 0));
  Must(sim->BeginStep(1));
  Must(sim->Copy(shadow, memory.address, kMiB));  // CPU 4, GPU 4..1024
  Must(sim->Launch({.gpu_ns = 100}));             // CPU 5, GPU 1024..1124
  Must(sim->Copy(memory.address, shadow, kMiB));  // CPU 9, GPU 1124..2144
  Must(sim->EndStep(1, true));
  BOOST_TEST(sim->now() == 9);
  BOOST_TEST(LastStepEnd(*sim) == 2144);
}

BOOST_AUTO_TEST_CASE(set_access_charges_what_changes_and_what_does_not) {
  SimOptions options;
  options.Cost("set_access.fixed=1").Cost("set_access.per_chunk=100").Cost("set_access.unchanged_per_chunk=10");
  options.Cost("set_access.per_chunk_squared=1000");
  const auto sim = MakeSim(options);
  MappedRange range(*sim, 3);
  BOOST_TEST(sim->now() == 1 + 300 + 9000);
  Must(sim->SetAccess(range.base, range.size, 0));
  BOOST_TEST(sim->now() == 9301 + 1 + 30);
}

BOOST_AUTO_TEST_CASE(unmap_charges_chunks_devices_and_bytes) {
  SimOptions options;
  options.devices = 4;
  options.Cost("unmap.fixed=1").Cost("unmap.per_device=10").Cost("unmap.per_chunk=100");
  options.Cost("unmap.per_chunk_and_device=1000").Cost("unmap.per_mib=10000");
  const auto sim = MakeSim(options);
  MappedRange range(*sim, 3);
  Must(sim->Unmap(range.base, range.size));
  BOOST_TEST(sim->now() == 1 + 4 * 10 + 3 * 100 + 12 * 1000 + 6 * 10000);
}

BOOST_AUTO_TEST_CASE(a_failed_step_reports_no_end_but_still_holds_the_cpu_back) {
  SimOptions options;
  options.run_ahead = 0;
  options.Cost("copy.gpu_fixed=50");
  const auto sim = MakeSim(options);
  const Memory memory = Must(sim->Create(kChunk, 0, 0, 1));
  const Address shadow = Must(sim->ShadowAlloc(8, 0, 0));
  Must(sim->BeginStep(1));
  Must(sim->Copy(shadow, memory.address, 8));
  Must(sim->EndStep(1, false));
  std::vector<StepEnd> ends;
  Must(sim->TakeStepEnds(ends));
  BOOST_TEST(ends.empty());
  Must(sim->BeginStep(2));
  BOOST_TEST(sim->now() == 50);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab

// Several simulated devices in one process: their own clocks, one driver lock, peers that are busy, and steps that
// collectives keep together.
#include "backends/sim/sim_process.h"

#include "tests/backends/sim_fixture.h"

namespace remaplab {
namespace {

SimOptions InProcess(const std::shared_ptr<SimProcess>& process, int device, uint32_t devices = 1) {
  SimOptions options;
  options.sim_process = process;
  options.device = device;
  options.devices = devices;
  options.run_ahead = 10;
  return options;
}

void Step(Backend& sim, uint64_t step, int64_t gpu_ns) {
  Must(sim.BeginStep(step));
  Must(sim.Launch({.gpu_ns = gpu_ns}));
  Must(sim.EndStep(step, true));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(SimProcessTest)

BOOST_AUTO_TEST_CASE(devices_have_clocks_of_their_own) {
  const auto process = std::make_shared<SimProcess>();
  const auto a = MakeSim(InProcess(process, 0).Cost("launch.fixed=10"));
  const auto b = MakeSim(InProcess(process, 1).Cost("launch.fixed=10"));
  Step(*a, 1, 100);
  Step(*b, 1, 50);
  BOOST_TEST(a->now() == 10);
  BOOST_TEST(b->now() == 10);
  BOOST_TEST(LastStepEnd(*a) == 110);
  BOOST_TEST(LastStepEnd(*b) == 60);
}

BOOST_AUTO_TEST_CASE(programs_on_one_device_share_its_clocks) {
  const auto process = std::make_shared<SimProcess>();
  const auto a = MakeSim(InProcess(process, 3).Cost("launch.fixed=10"));
  const auto b = MakeSim(InProcess(process, 3).Cost("launch.fixed=10"));
  Step(*a, 1, 100);
  Step(*b, 1, 100);
  BOOST_TEST(LastStepEnd(*b) == 210);
  BOOST_TEST(a->now() == b->now());
}

BOOST_AUTO_TEST_CASE(calls_into_the_driver_take_turns) {
  const auto process = std::make_shared<SimProcess>();
  std::vector<std::unique_ptr<Backend>> devices;
  for (int device = 0; device < 8; ++device) {
    devices.push_back(MakeSim(InProcess(process, device).Cost("reserve.fixed=100").Cost("launch.fixed=7")));
  }
  for (int device = 0; device < 8; ++device) {
    Must(devices[static_cast<size_t>(device)]->Reserve(kChunk, 0));
    BOOST_TEST(devices[static_cast<size_t>(device)]->now() == 100 * (device + 1));
    Must(devices[static_cast<size_t>(device)]->Launch({}));  // needs no lock
    BOOST_TEST(devices[static_cast<size_t>(device)]->now() == 100 * (device + 1) + 7);
  }
}

BOOST_AUTO_TEST_CASE(a_call_fits_into_a_gap_that_is_long_enough_and_not_one_tick_shorter) {
  for (const int64_t gap : {99, 100}) {
    const auto process = std::make_shared<SimProcess>();
    const auto a = MakeSim(InProcess(process, 0).Cost("reserve.fixed=100"));
    auto options = InProcess(process, 1).Cost("reserve.fixed=100");
    options.host_step_ns = 0;
    const auto b = MakeSim(options);
    Must(a->Reserve(kChunk, 0));  // 0..100
    auto pause = InProcess(process, 0);
    pause.host_step_ns = gap;
    const auto idle = MakeSim(pause);
    Must(idle->BeginStep(1));     // the same thread works for `gap` outside the driver
    Must(a->Reserve(kChunk, 0));  // 100 + gap..
    Must(b->Reserve(kChunk, 0));
    BOOST_TEST(b->now() == (gap == 100 ? 200 : 300 + gap));
  }
}

BOOST_AUTO_TEST_CASE(a_busy_peer_contends_with_calls_on_memory_that_it_can_reach) {
  for (const uint32_t reach : {1u, 2u}) {
    const auto process = std::make_shared<SimProcess>();
    const auto a = MakeSim(InProcess(process, 0, reach).Cost("reserve.fixed=10").Cost("reserve.contended_factor=5"));
    const auto b = MakeSim(InProcess(process, 1, reach));
    Step(*b, 1, 1000);
    Must(a->Reserve(kChunk, 0));
    BOOST_TEST(a->now() == (reach == 2 ? 50 : 10));
  }
}

BOOST_AUTO_TEST_CASE(a_driver_that_waits_for_all_devices_with_access_waits_for_the_slowest) {
  for (const uint32_t reach : {1u, 2u}) {
    const auto process = std::make_shared<SimProcess>();
    auto options = InProcess(process, 0, reach).Cost("unmap.fixed=1");
    options.driver_profile = "rocm-dev";
    const auto a = MakeSim(options);
    const auto b = MakeSim(InProcess(process, 1, reach));
    MappedRange range(*a, 1);
    Step(*b, 1, 1000);
    Must(a->Unmap(range.base, range.size));
    BOOST_TEST(a->now() == (reach == 2 ? 1001 : 1));
  }
}

BOOST_AUTO_TEST_CASE(the_slowest_device_sets_the_step) {
  const auto process = std::make_shared<SimProcess>();
  const auto a = MakeSim(InProcess(process, 0));
  const auto b = MakeSim(InProcess(process, 1));
  for (uint64_t step = 1; step <= 3; ++step) {
    Step(*a, step, 100);
    Step(*b, step, step == 2 ? 300 : 50);
    process->JoinStep();
    const int64_t expected = step == 1 ? 100 : step == 2 ? 400 : 500;
    BOOST_TEST(LastStepEnd(*a) == expected);
    BOOST_TEST(LastStepEnd(*b) == expected);
  }
}

BOOST_AUTO_TEST_CASE(run_ahead_counts_from_the_joined_end) {
  const auto process = std::make_shared<SimProcess>();
  auto options = InProcess(process, 0);
  options.run_ahead = 0;
  const auto a = MakeSim(options);
  const auto b = MakeSim(InProcess(process, 1));
  Step(*a, 1, 100);
  Step(*b, 1, 700);
  process->JoinStep();
  Must(a->BeginStep(2));
  BOOST_TEST(a->now() == 700);
}

BOOST_AUTO_TEST_CASE(a_backend_may_leave_the_process) {
  const auto process = std::make_shared<SimProcess>();
  const auto a = MakeSim(InProcess(process, 0).Cost("reserve.fixed=100"));
  {
    const auto b = MakeSim(InProcess(process, 1).Cost("reserve.fixed=100"));
    Must(b->Reserve(kChunk, 0));
    Step(*b, 1, 10);
  }
  process->JoinStep();
  Must(a->Reserve(kChunk, 0));
  BOOST_TEST(a->now() == 100);  // alone, it takes no lock
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab

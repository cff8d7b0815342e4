// Simulated time, pinned: a three-step example worked by hand, what each profile charges, and a run that must come out
// the same on every compiler and build type.
#include <fmt/format.h>

#include "backends/profiles/cost_profile.h"
#include "backends/sim/timeline.h"
#include "base/random.h"
#include "tests/backends/sim_fixture.h"
#include "tests/golden_file.h"

namespace remaplab {

BOOST_AUTO_TEST_SUITE(GoldenTimeTest)

BOOST_AUTO_TEST_CASE(three_steps_come_out_as_worked_by_hand) {
  Timeline timeline;
  SimOptions options;
  options.timeline = &timeline;
  options.host_step_ns = 10;
  for (const char* term : {"reserve.fixed=10", "map.fixed=2", "set_access.fixed=5", "unmap.fixed=20",
                           "unmap.contended_factor=100", "shadow_alloc.fixed=4", "capture.fixed=7", "wait.fixed=1",
                           "record.fixed=1", "launch.fixed=3", "copy.enqueue=2", "copy.gpu_fixed=4"}) {
    options.Cost(term);
  }
  const auto sim = MakeSim(options);
  const Memory first = Must(sim->Create(kChunk, 0, 0, 1));
  const Memory second = Must(sim->Create(kChunk, 0, 0, 2));
  const Memory small = Must(sim->Create(kChunk, 0, 0, 3));
  const EventId event = Must(sim->CreateEvent());
  Address base = kNullAddress;
  Address shadow = kNullAddress;
  CommandBufferId command_buffer = kNoCommandBuffer;
  std::string text;
  size_t told = 0;
  for (uint64_t step = 1; step <= 3; ++step) {
    Must(sim->BeginStep(step));
    if (step == 1) {
      base = Must(sim->Reserve(kChunk, 0));
      Must(sim->Map(base, kChunk, first.handle));
      Must(sim->SetAccess(base, kChunk, 0));
      shadow = Must(sim->ShadowAlloc(64, 0, 0));
      const std::vector<BakedSlot> slots = {{.slot = 0, .address = base, .size = kChunk, .access = Access::kBoth},
                                            {.slot = 1, .address = shadow, .size = 64, .access = Access::kBoth}};
      command_buffer = Must(sim->Capture(slots, 5));
    } else if (step == 2) {
      Must(sim->Wait(event));
      Must(sim->Unmap(base, kChunk));
      Must(sim->Map(base, kChunk, second.handle));
      Must(sim->SetAccess(base, kChunk, 0));
    }
    Must(sim->Copy(shadow, small.address, 64));
    Must(sim->Launch({.command_buffer = command_buffer, .gpu_ns = 100}));
    Must(sim->Copy(small.address, shadow, 64));
    Must(sim->Record(event));
    Must(sim->EndStep(step, true));
    for (; told < timeline.spans().size(); ++told) {
      const TimelineSpan& span = timeline.spans()[told];
      text += fmt::format("{} {} {} {} {}\n", span.step, span.track == TimelineTrack::kCpu ? "cpu" : "gpu", span.name,
                          span.start, span.end);
    }
    text += fmt::format("{} end {}\n", step, LastStepEnd(*sim));
  }
  CheckGolden("three_steps.golden", text);
}

BOOST_AUTO_TEST_CASE(every_profile_charges_what_its_table_says) {
  for (const CostProfile& profile : BuiltinCostProfiles()) {
    const CostTable table(profile);
    std::string text;
    for (size_t k = 0; k < kCallKindCount; ++k) {
      const CallKind kind = static_cast<CallKind>(k);
      const bool builds = kind == CallKind::kCapture || kind == CallKind::kUpdate;
      const bool on_chunks = kind == CallKind::kUnmap || kind == CallKind::kSetAccess;
      for (const uint64_t n : {1, 8, 64, 512}) {
        if (!builds && !on_chunks && n != 1) {
          continue;
        }
        for (const uint64_t chunk_mib : {2, 128}) {
          for (const uint32_t devices : {1u, 8u}) {
            CallQuantities quantities;
            if (builds) {
              quantities = {.commands = static_cast<uint32_t>(4 * n), .changed_slots = static_cast<uint32_t>(n)};
            } else {
              quantities = {.bytes = n * chunk_mib * kMiB,
                            .chunks = n,
                            .unchanged_chunks = kind == CallKind::kSetAccess ? 1000u : 0u,
                            .chunk_devices = n * devices,
                            .devices = devices};
            }
            const int64_t idle = table.CallNs(kind, quantities);
            quantities.contended = true;
            text += fmt::format("{:12} {:4} x {:3} MiB, {} devices: {:>12} idle {:>12} busy\n", Name(kind), n,
                                chunk_mib, devices, idle, table.CallNs(kind, quantities));
          }
        }
      }
    }
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{65536}, kMiB, 64 * kMiB}) {
      text += fmt::format("copy of {} bytes on the GPU: {}\n", bytes, table.CopyGpuNs(bytes));
    }
    CheckGolden("cost_tables/" + profile.name + ".golden", text);
  }
}

// A run that uses every term, jitter included.
std::string RunText(const std::string& driver_profile, const std::string& cost_profile, double jitter) {
  SimOptions options;
  options.driver_profile = driver_profile;
  options.cost_profile = cost_profile;
  options.devices = 8;
  options.jitter = jitter;
  options.seed = 7;
  options.host_step_ns = 12345;
  const auto sim = MakeSim(options);
  constexpr size_t kSlots = 40;
  MappedRange range(*sim, kSlots);
  const Address shadow = Must(sim->ShadowAlloc(100, 0, 0));
  const auto baked = range.Baked();
  const CommandBufferId command_buffer = Must(sim->Capture(baked, 123));
  const EventId event = Must(sim->CreateEvent());
  Random random(99);
  std::string text;
  for (uint64_t step = 1; step <= 12; ++step) {
    Must(sim->BeginStep(step));
    if (step % 3 != 0) {
      Must(sim->Wait(event));
    }
    for (int change = 0; change < 3; ++change) {
      const size_t slot = random.Below(kSlots);
      const Memory memory = Must(sim->Create(kChunk, 0, 0, step));
      Must(sim->Unmap(range.base + slot * kChunk, kChunk));
      Must(sim->Map(range.base + slot * kChunk, kChunk, memory.handle));
    }
    for (uint32_t device = 0; device < options.devices; ++device) {
      Must(sim->SetAccess(range.base, range.size, device));
    }
    Must(sim->Copy(shadow, range.memory[0].address, 100));
    Must(sim->Update(command_buffer, {baked.data(), 5}, 123));
    Must(sim->Launch({.command_buffer = command_buffer, .gpu_ns = static_cast<int64_t>(random.Below(5'000'000))}));
    Must(sim->Record(event));
    Must(sim->EndStep(step, true));
    text += fmt::format("{} {} {}\n", step, sim->now(), LastStepEnd(*sim));
  }
  return text;
}

BOOST_AUTO_TEST_CASE(a_run_gives_the_same_nanoseconds_everywhere) {
  std::string text;
  for (const char* driver : {"cuda", "rocm-7.1", "rocm-dev"}) {
    for (const char* cost : {"h200", "mi300x-fsdp8", "zero"}) {
      for (const double jitter : {0.0, 0.05}) {
        text += fmt::format("{}, {}, jitter {}\n{}", driver, cost, jitter, RunText(driver, cost, jitter));
      }
    }
  }
  CheckGolden("sim_determinism.golden", text);
}

BOOST_AUTO_TEST_CASE(jitter_comes_from_the_seed_and_stays_within_its_spread) {
  const auto spread = [](uint64_t seed) {
    SimOptions options;
    options.jitter = 0.1;
    options.seed = seed;
    options.Cost("launch.fixed=1000");
    const auto sim = MakeSim(options);
    std::vector<int64_t> costs;
    for (int i = 0; i < 200; ++i) {
      const int64_t before = sim->now();
      Must(sim->Launch({}));
      costs.push_back(sim->now() - before);
    }
    return costs;
  };
  const auto costs = spread(1);
  BOOST_TEST(costs == spread(1), boost::test_tools::per_element());
  BOOST_TEST((costs != spread(2)));
  const auto [low, high] = std::minmax_element(costs.begin(), costs.end());
  BOOST_TEST(*low >= 900);
  BOOST_TEST(*low < 920);
  BOOST_TEST(*high <= 1100);
  BOOST_TEST(*high > 1080);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab

// Every strategy x every call kind x every position: after the failure everything goes on, every later launch reads and
// writes what it should, and at the end nothing is left.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "replay/replayer.h"
#include "traces/generator/random_trace.h"

namespace remaplab {
namespace {

const std::vector<std::string> kStrategies = {"full_remap",
                                              "skip_remap",
                                              "skip_remap(access=slot)",
                                              "copy_shadow(threshold=4096)",
                                              "copy_shadow(threshold=1GiB)",
                                              "skip_remap+copy_shadow(threshold=8192,direction=by_access)",
                                              "no_remap",
                                              "no_remap+copy_shadow(threshold=4096)",
                                              "skip_temp",
                                              "skip_profiled(steps=2)",
                                              "skip_profiled(steps=2)+copy_shadow(threshold=4096)",
                                              "two_ranges",
                                              "two_ranges+copy_shadow(threshold=4096)",
                                              "cached_sets(k=2)",
                                              "cached_sets(k=3)+copy_shadow(threshold=4096)",
                                              "skip_remap+copy_shadow(threshold=auto)",
                                              "adaptive"};

struct Scene {
  Trace trace;
  std::vector<ProgramSteps> programs;
  ReplayOptions options;
};

// A short trace, chosen by its seed, in which slots lose their memory and get it back, or the slot table changes. Not
// both: then a failure can keep a shadow alive until its slot grows, and that is an error for good (rule 3).
Scene MakeScene(uint64_t seed, bool redeclare) {
  RandomTraceLimits limits;
  limits.programs = 1;
  limits.slots = 6;
  limits.steps = 14;
  limits.redeclare = redeclare;
  limits.unbound_slots = !redeclare;
  Scene scene{GenerateRandomTrace(seed, limits), {}, {}};
  scene.programs = SplitPrograms(scene.trace);
  scene.options.verify = VerifyMode::kFull;
  scene.options.gpu_step_ns = 300'000;  // long enough for work to be in flight when something is torn down
  scene.options.granularity = 2 << 20;
  return scene;
}

Result<ProgramRun> Play(const Scene& scene, const std::string& strategy) {
  return ReplayProgram(scene.trace, scene.programs.at(0), strategy, scene.options, nullptr);
}

uint64_t CallsOf(const ProgramRun& run, CallKind kind) {
  const size_t k = static_cast<size_t>(kind);
  return run.summary.calls[k].n + run.summary.teardown[k].n + run.summary.allocator[k].n;
}

void CheckClean(const ProgramRun& run) {
  BOOST_TEST(!run.poisoned);
  BOOST_TEST(run.summary.verification_failures == 0u);
  for (const DiagnosticRow& diagnostic : run.diagnostics) {
    BOOST_TEST((diagnostic.severity != Severity::kError), diagnostic.text);
  }
}

// Plays the scene once for each call of the kind, with that call failing. Returns how many there were.
uint64_t FailEachCall(Scene& scene, const std::string& strategy, CallKind kind, const ProgramRun& undisturbed) {
  const uint64_t calls = CallsOf(undisturbed, kind);
  for (uint64_t call = 1; call <= calls; ++call) {
    BOOST_TEST_CONTEXT(strategy << " with " << Name(kind) << ":call=" << call) {
      scene.options.faults = {{.kind = kind, .call = call}};
      const Result<ProgramRun> run = Play(scene, strategy);
      BOOST_TEST_REQUIRE(run.has_value(), (run ? "" : run.error().message()));
      CheckClean(*run);
      BOOST_TEST(run->summary.failed_steps <= 1u);
      BOOST_TEST(run->faults.size() <= 1u);
      for (const FaultRow& fault : run->faults) {
        BOOST_TEST((fault.kind == kind));
        BOOST_TEST(fault.message.find("injected") != std::string::npos, fault.message);
      }
    }
  }
  return calls;
}

BOOST_AUTO_TEST_SUITE(faults)

BOOST_AUTO_TEST_CASE(any_failing_call_of_any_strategy_leaves_nothing_and_spoils_nothing) {
  uint64_t runs = 0;
  for (const auto& [seed, redeclare] : {std::pair<uint64_t, bool>{36, false}, {207, true}}) {
    Scene scene = MakeScene(seed, redeclare);
    for (const std::string& strategy : kStrategies) {
      scene.options.faults.clear();
      const Result<ProgramRun> undisturbed = Play(scene, strategy);
      BOOST_TEST_REQUIRE(undisturbed.has_value(), (undisturbed ? "" : undisturbed.error().message()));
      BOOST_TEST_REQUIRE(undisturbed->summary.failed_steps == 0u, strategy << ", seed " << seed);
      CheckClean(*undisturbed);
      for (size_t kind = 0; kind < kCallKindCount; ++kind) {
        runs += FailEachCall(scene, strategy, static_cast<CallKind>(kind), *undisturbed);
      }
    }
  }
  BOOST_TEST_MESSAGE(runs << " runs with a failing call");
  BOOST_TEST(runs > 3000u);
}

BOOST_AUTO_TEST_CASE(calls_that_fail_at_random_leave_nothing_and_spoil_nothing) {
  uint64_t failed = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Scene scene = MakeScene(seed + 1000, seed % 2 == 0);
    const std::string& strategy = kStrategies[seed % kStrategies.size()];
    for (size_t kind = 0; kind < kCallKindCount; ++kind) {
      scene.options.faults.push_back({.kind = static_cast<CallKind>(kind), .rate = 0.05, .seed = seed});
    }
    BOOST_TEST_CONTEXT(strategy << ", seed " << seed) {
      const Result<ProgramRun> run = Play(scene, strategy);
      BOOST_TEST_REQUIRE(run.has_value(), (run ? "" : run.error().message()));
      CheckClean(*run);
      failed += run->summary.failed_steps;
    }
  }
  BOOST_TEST_MESSAGE(failed << " steps failed");
  BOOST_TEST(failed > 200u);
}

// Whatever fails in cleanup: the session says so, takes no further step, and gives back all that it still can.
BOOST_AUTO_TEST_CASE(a_failing_cleanup_poisons_the_run_and_gives_back_what_it_can) {
  uint64_t poisoned = 0;
  for (const std::string& strategy : kStrategies) {
    for (const CallKind kind : {CallKind::kUnmap, CallKind::kWait, CallKind::kCopy, CallKind::kRecord}) {
      for (const CallKind trigger : {CallKind::kMap, CallKind::kUpdate, CallKind::kCopy, CallKind::kRecord}) {
        Scene scene = MakeScene(36, false);
        scene.options.faults = {{.kind = trigger, .call = 9}, {.kind = kind, .in_cleanup = true, .call = 1}};
        BOOST_TEST_CONTEXT(strategy << ": " << Name(trigger) << ", then " << Name(kind) << " in cleanup") {
          const Result<ProgramRun> run = Play(scene, strategy);
          BOOST_TEST_REQUIRE(run.has_value(), (run ? "" : run.error().message()));
          poisoned += run->poisoned ? 1 : 0;
          BOOST_TEST(run->summary.failed_steps <= 1u);
          for (const DiagnosticRow& diagnostic : run->diagnostics) {
            BOOST_TEST(diagnostic.text.find("still held") == std::string::npos, diagnostic.text);
          }
        }
      }
    }
  }
  BOOST_TEST_MESSAGE(poisoned << " runs poisoned");
  BOOST_TEST(poisoned > 20u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab

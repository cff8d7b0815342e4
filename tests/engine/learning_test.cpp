// copy_shadow(threshold=auto) and adaptive: what they decide and what it costs, on made-up programs and on the recorded
// runs.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include "base/random.h"
#include "tests/engine/engine_rig.h"
#include "tests/engine/learning_contest.h"
#include "tests/importers/importer_testing.h"
#include "traces/generator/random_trace.h"

namespace remaplab {
namespace {

namespace data = boost::unit_test::data;

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Slot 1, 4 bytes, and slot 2, 4 KiB, move on every step; the rest stays.
ProgramSpec TwoMovers() {
  return MakeProgram({SlotShape{}, SlotShape{.size = 4}, SlotShape{.size = 4096}, SlotShape{.size = 64 * kMiB}});
}

uint64_t CountClass(const RemapSession& session, SlotClass wanted) {
  return static_cast<uint64_t>(std::count(session.classes().begin(), session.classes().end(), wanted));
}

BOOST_AUTO_TEST_SUITE(learning)

BOOST_AUTO_TEST_CASE(auto_starts_without_shadows_and_decides_on_the_eighth_step) {
  EngineRig rig("skip_remap+copy_shadow(threshold=auto)", TwoMovers());
  rig.Step(rig.BindAll());
  for (int step = 2; step < 8; ++step) {
    BOOST_TEST(rig.Step(rig.Move({1, 2})).at("unmap") == 1u);
    BOOST_TEST(Contains(rig.session().strategy().slots->Resolved(), "still watching"));
    BOOST_TEST(rig.session().strategy().slots->LearnedAt() == 0u);
  }
  // The change of mind: one wait and one capture, and what it maps and frees.
  BOOST_TEST(ToText(rig.Step(rig.Move({1, 2}))) ==
             "address_free 1, capture 1, copy 4, launch 1, map 2, record 1, reserve 1, set_access 1, shadow_alloc 2, "
             "unmap 1, wait 1");
  BOOST_TEST(Contains(rig.session().strategy().slots->Resolved(), "threshold=4096: "));
  BOOST_TEST(rig.session().strategy().slots->LearnedAt() == 8u);
  BOOST_TEST(rig.counters().relayouts == 1u);
  BOOST_TEST(ToText(rig.Step(rig.Move({1, 2}))) == "copy 4, launch 1, record 1");
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(auto_leaves_well_alone_where_nothing_moves) {
  EngineRig rig("skip_remap+copy_shadow(threshold=auto)", TwoMovers());
  rig.Step(rig.BindAll());
  for (int step = 2; step < 12; ++step) {
    BOOST_TEST(ToText(rig.Step({})) == "launch 1, record 1");
  }
  BOOST_TEST(Contains(rig.session().strategy().slots->Resolved(), "threshold=0: "));
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(auto_decides_by_cost) {
  // Where driver calls cost nothing, copies do not pay.
  EngineRig rig("skip_remap+copy_shadow(threshold=auto)", TwoMovers(), {.costs = "zero"});
  rig.Step(rig.BindAll());
  for (int step = 2; step < 12; ++step) {
    rig.Step(rig.Move({1, 2}));
  }
  BOOST_TEST(rig.sim().outstanding().shadows == 0u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(auto_waits_for_the_command_buffer_of_a_strategy_that_watches) {
  EngineRig rig("skip_profiled(steps=20)+copy_shadow(threshold=auto)", TwoMovers());
  rig.Step(rig.BindAll());
  for (int step = 2; step <= 20; ++step) {
    BOOST_TEST(ToText(rig.Step(rig.Move({1, 2}))) == "launch 1, record 1");
  }
  rig.Step(rig.Move({1, 2}));
  BOOST_TEST(rig.session().strategy().slots->LearnedAt() == 21u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(adaptive_starts_as_skip_remap_and_then_leaves_movers_to_updates_that_hide_behind_the_gpu) {
  EngineRig rig("adaptive", TwoMovers());
  rig.Step(rig.BindAll());
  for (int step = 2; step < 8; ++step) {
    BOOST_TEST(ToText(rig.Step(rig.Move({1, 2}))) == "launch 1, map 2, record 1, set_access 1, unmap 1, wait 1");
  }
  const CallCounts change = rig.Step(rig.Move({1, 2}));
  BOOST_TEST(change.at("wait") == 1u);
  BOOST_TEST(change.at("capture") == 1u);
  BOOST_TEST(ToText(rig.Step(rig.Move({1, 2}))) == "launch 1, record 1, update 1");
  BOOST_TEST(Contains(rig.session().strategy().slots->Resolved(), "dynamic since step 8"));
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(adaptive_shadows_small_movers_where_updates_do_not_hide) {
  ProgramSpec program = TwoMovers();
  program.commands = 1000;
  EngineRig rig("adaptive", program, {.gpu_ns = 0});
  rig.Step(rig.BindAll());
  for (int step = 2; step < 12; ++step) {
    rig.Step(rig.Move({1, 2}));
  }
  BOOST_TEST((rig.session().classes()[1] == SlotClass::kShadowed));
  BOOST_TEST((rig.session().classes()[2] == SlotClass::kShadowed));
  BOOST_TEST(CountClass(rig.session(), SlotClass::kShadowed) == 2u);
  BOOST_TEST(ToText(rig.Step(rig.Move({1, 2}))) == "copy 4, launch 1, record 1");
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(adaptive_stays_where_nothing_moves) {
  EngineRig rig("adaptive", TwoMovers());
  rig.Step(rig.BindAll());
  for (int step = 2; step < 40; ++step) {
    BOOST_TEST(ToText(rig.Step({})) == "launch 1, record 1");
  }
  BOOST_TEST(rig.counters().relayouts == 0u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(adaptive_notices_a_run_that_changes_its_ways) {
  ProgramSpec program = TwoMovers();
  program.commands = 1000;
  EngineRig rig("adaptive", program, {.gpu_ns = 0});
  rig.Step(rig.BindAll());
  for (int step = 2; step <= 70; ++step) {
    rig.Step(step < 20 ? EngineRig::Bindings() : rig.Move({1, 2}));
  }
  BOOST_TEST(rig.counters().relayouts == 1u);
  BOOST_TEST(CountClass(rig.session(), SlotClass::kShadowed) == 2u);
  BOOST_TEST(rig.session().strategy().slots->LearnedAt() == 32u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_new_slot_table_is_learned_anew) {
  for (const char* strategy : {"adaptive", "skip_remap+copy_shadow(threshold=auto)"}) {
    EngineRig rig(strategy, TwoMovers(), {.gpu_ns = 0});
    rig.Step(rig.BindAll());
    for (int step = 2; step < 12; ++step) {
      rig.Step(rig.Move({1, 2}));
    }
    rig.session().Redeclare(MakeProgram({SlotShape{}, SlotShape{.size = 4}}));
    rig.Step(rig.BindAll());
    BOOST_TEST(CountClass(rig.session(), SlotClass::kMapped) == 2u);
    for (int step = 2; step < 12; ++step) {
      rig.Step(rig.Move({1}));
    }
    BOOST_TEST((rig.session().classes()[1] == SlotClass::kShadowed));
    rig.Finish();
  }
}

BOOST_AUTO_TEST_CASE(learning_survives_random_traces_without_a_wrong_tag) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomTraceLimits limits;
    limits.steps = 60;
    const Trace trace = GenerateRandomTrace(seed, limits);
    ReplayOptions options;
    options.granularity = kGranularity;
    options.verify = VerifyMode::kFull;
    options.gpu_step_ns = seed % 2 == 0 ? 0 : 500'000;
    for (const ProgramSteps& program : SplitPrograms(trace)) {
      for (const char* strategy : {"adaptive", "cached_sets(k=2)+copy_shadow(threshold=auto)"}) {
        const Result<ProgramRun> run = ReplayProgram(trace, program, strategy, options, nullptr);
        BOOST_TEST_REQUIRE(run.has_value(), (run ? "" : run.error().message()));
        BOOST_TEST(run->summary.verification_failures == 0u, strategy << ", seed " << seed);
        BOOST_TEST(!run->poisoned, strategy << ", seed " << seed);
      }
    }
  }
}

const std::vector<std::string> kRecordings = {
    "tiny_vmm",         "llama2_7b_l8_vmm",    "llama2_7b_l8_scan_vmm",    "llama2_7b_l8_profiled",
    "llama3_8b_l8_vmm", "mt_llama2_7b_l8_vmm", "mt_llama3_8b_l4_profiled", "tiny_l12_nodonate_vmm"};

BOOST_TEST_DECORATOR(*boost::unit_test::precondition(HaveCaptures))
BOOST_DATA_TEST_CASE(learners_are_within_five_percent_of_the_best_on_every_recorded_run, data::make(kRecordings),
                     recording) {
  const auto imported = ImportCapture(recording, {}, recording);
  BOOST_REQUIRE_MESSAGE(imported, (imported ? "" : imported.error().message()));
  for (const ProgramSteps& program : SplitPrograms(imported->trace)) {
    if (program.steps <= kLearningSteps) {
      continue;
    }
    const Result<Contest> contest = HoldContest(imported->trace, program, {});
    BOOST_REQUIRE_MESSAGE(contest, (contest ? "" : contest.error().message()));
    BOOST_TEST_MESSAGE(recording << " " << program.module << ": auto " << contest->AutoRatio() << " of "
                                 << contest->best_threshold_name << ", adaptive " << contest->AdaptiveRatio() << " of "
                                 << contest->best_fixed_name);
    BOOST_TEST(contest->AutoRatio() <= 1.05, program.module);
    BOOST_TEST(contest->AdaptiveRatio() <= 1.05, program.module);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
